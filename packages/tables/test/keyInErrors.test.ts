import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createClient, exportTo, type Sink } from '@sluice/core';
import { bearer, byCursor, defineApi, listing } from '@sluice/core/define';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { parquet } from '../../exporters/src/parquet.js';
import { sqlite } from '../src/sqlite.js';

const keys = { short: 'WkHsTbXcQzRvLmNpYdGaEjSu', long: 'k8Zq2Lw9Xr4Tn7Vb'.repeat(8) } as const;
type Value = (key: string) => string;

const table = (folder: string, options = {}) =>
  sqlite<object>({ path: join(folder, 'a.sqlite'), table: 'rows', ...options });
const file = (folder: string) => parquet<object>({ path: join(folder, 'a.parquet') });

test.each<[string, (folder: string) => Sink<object>, Value]>([
  ['a number of a table', table, (key) => `{"id":"a","amount":"${key}"}`],
  ['a number of a table, in a sentence', table, (key) => `{"id":"a","amount":"no key ${key} here"}`],
  ['a timestamp of a table', table, (key) => `{"id":"a","at":"${key}"}`],
  ['a key with NUL', (folder) => table(folder, { mode: 'merge', key: ['id'] }), (key) => `{"id":"${key}\\u0000"}`],
  ['the name of a new field', (folder) => table(folder, { schema: 'freeze' }), (key) => `{"id":"a","${key}":1}`],
  ['a timestamp of a Parquet file', file, (key) => `{"id":"a","at":"${key}"}`],
  ['a row of a Parquet file, by its key', file, (key) => `{"id":"${key}","at":"no"}`],
])('T2 a key that a server sends as %s stands in no error and no event', async (_what, sinkIn, rowOf) => {
  for (const key of Object.values(keys)) {
    const server = createServer((_request, response) => response.end(`[${rowOf(key)}]`));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port }: Partial<AddressInfo> = Object(server.address());
    const items = listing<Record<string, string>>({
      path: '/items',
      rows: '',
      columns: ['id', 'amount', 'at'],
      types: { amount: 'number', at: 'timestamp' },
      paging: byCursor({ param: 'c', at: () => undefined }),
      key: ({ id = '' }) => id,
    });
    const api = defineApi({ name: 'echo', sources: { items }, auth: bearer({ env: 'ECHO_TOKEN' }) });
    const client = createClient({ apiKey: false, variables: { ECHO_TOKEN: key } }).use(
      api({ baseUrl: `http://127.0.0.1:${String(port)}` }),
    );
    onTestFinished(async () => {
      await client.close();
      server.close();
    });
    const events: unknown[] = [];
    client.events.subscribe((event) => events.push(event));
    const run = exportTo(client.echo.items(), sinkIn(temporaryFolder())).run();
    const error: unknown = await run.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'sink' });
    const shown = inspect([error, events], { depth: Infinity, showHidden: true, maxStringLength: Infinity });
    expect(shown).not.toContain(key.slice(0, key.length / 2));
    expect(shown).toMatch(/\[hidden\]|a text of \d+ characters/);
  }
});
