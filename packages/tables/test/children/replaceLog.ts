// Replaces a log by the snapshot of so many rows and reads it, in a process of its own; then says its peak RSS, in bytes.
import { postgresState } from '../../src/postgres.js';

const [url = '', rows = ''] = process.argv.slice(2);
const rowsOfRecord = 500;
const state = postgresState({ url, name: 'job' });
const release = await state.lock(new AbortController().signal);
const log = state.log('watch');

function* snapshot(): Generator<object> {
  for (let first = 0; first < Number(rows); first += rowsOfRecord)
    yield {
      rows: Array.from({ length: rowsOfRecord }, (_, nth) => [String(first + nth), { name: 'row '.repeat(50) }]),
    };
}

await log.replace(snapshot());
let found = 0;
for await (const record of log.read())
  if (typeof record === 'object' && record !== null && 'rows' in record && Array.isArray(record.rows))
    found += record.rows.length;
await release();
process.send?.(found === Number(rows) ? process.resourceUsage().maxRSS * 1_024 : `${found} rows`);
process.disconnect();
