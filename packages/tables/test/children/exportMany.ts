// Exports so many rows into a table, in a process of its own; then says its peak RSS, in bytes.
import { createSource, exportTo } from '@sluice/core';
import { postgres } from '../../src/postgres.js';
import { sqlite } from '../../src/sqlite.js';

const [place = '', rows = ''] = process.argv.slice(2);
const pageSize = 1_000;
const last = Number(rows) / pageSize - 1;

const source = createSource({
  name: 'many',
  identity: null,
  schema: {
    columns: ['id', 'name', 'amount', 'at', 'properties'],
    types: { id: 'integer', amount: 'number', at: 'timestamp', properties: 'json' },
  },
  fetch({ at }) {
    const page = at && 'cursor' in at ? Number(at.cursor) : 0;
    const next = page < last ? { cursor: String(page + 1) } : ('end' as const);
    return Promise.resolve({ rows: Array.from({ length: pageSize }, (_, nth) => rowOf(page * pageSize + nth)), next });
  },
});
const table = 'many';
const sink = place.startsWith('postgres:') ? postgres({ url: place, table }) : sqlite({ path: place, table });
await exportTo(source, sink).run();
process.send?.(process.resourceUsage().maxRSS * 1_024);
process.disconnect();

function rowOf(id: number) {
  const at = new Date(1_700_000_000_000 + id).toISOString();
  return { id, name: `name ${id} `.repeat(20), amount: `${id}.50`, at, properties: { id, level: String(id) } };
}
