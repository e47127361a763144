// The least that a script needs for an export, made as fast as one can: axios, and a CSV by hand. usage: plainScript.js ADDRESS OWNER KEY FILE
import { writeFileSync } from 'node:fs';
import axios from 'axios';

const [address, owner, key, file] = process.argv.slice(2);
const rows = [];
for (let cursor; cursor !== null;) {
  const params = { 'owner_addresses[]': owner, limit: 100, cursor };
  const { data } = await axios.get(`${address}/wallets/nfts`, { params, headers: { 'X-API-Key': key } });
  rows.push(...data.result);
  cursor = data.hasNextPage ? data.cursor : null;
}
const columns = Object.keys(rows[0]);
const lines = rows.map((row) => columns.map((name) => cell(row[name])).join(','));
writeFileSync(file, [columns.join(','), ...lines, ''].join('\r\n'));

function cell(value) {
  const text = typeof value === 'object' ? JSON.stringify(value ?? '') : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
