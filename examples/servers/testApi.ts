// What the tests of several APIs have in common: the suite for sources, an export by command that is killed in the
// middle and started again, and increments.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createClient, exportTo, type Client, type Source } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { testSource } from '@sluice/testing';
import { z } from 'zod';
import { temporaryFolder } from '../temporaryFolder.js';
import { startListing, type Answering } from './listingServer.js';

/** What each of the plugins takes. Tests don't wait for its rate. */
export interface Opening {
  readonly baseUrl: string;
  readonly rateLimit: false;
}

/** A source, and an API that has its rows. */
export interface ApiCase {
  /** By its name, e.g. `shopify.orders`. The plugin is the file of its first part. */
  readonly source: string;
  /** The environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** A new API. */
  readonly answering: () => Answering<unknown>;
  /** Opens the source with pages so small that there are at least three. */
  readonly open: (client: Client, options: Opening) => Source<object> | Promise<Source<object>>;
  /** See `SourceFixture`. */
  readonly levels?: number;
  /** Its parameters on the command line. */
  readonly args?: readonly string[];
  /** What a file has in the end. */
  readonly rows: readonly object[];
}

const folder = temporaryFolder();

/** Tests that a source keeps what sources promise, and that an export of it is complete, although it is killed. */
export function testApi(api: ApiCase): void {
  describe(api.source, () => {
    testSource({
      test,
      factory: async () => {
        const server = await serve(api.answering());
        // Without retries, so that the suite sees each failure at once.
        const client = createClient({ apiKey: false, retry: { retries: 0 }, variables: api.variables });
        const source = await api.open(client, server.options);
        const before = server.sent.length;
        return {
          source: () => source,
          ...(api.levels !== undefined && { levels: api.levels }),
          requests() {
            const sent = server.sent.slice(before);
            return { made: sent.length, open: server.counts.open, sent };
          },
          answer: (how) => (server.answer = how),
          dispose: async () => {
            await client.close();
            await server.close();
          },
        };
      },
    });

    test('is exported completely by a command that is killed in the middle and started again', async () => {
      await using server = await serve(api.answering());
      const whole = await runExport(api, server).ended;
      assert.deepEqual(whole, { code: 0, rows: api.rows, errors: '' });
      const { length } = server.sent;
      const killed = runExport(api, server);
      const stop = 2 * length - 1;
      server.instead = () => {
        if (server.sent.length >= stop) server.answer = 'never';
        return undefined;
      };
      await killed.committed();
      killed.kill();
      assert.equal((await killed.ended).code, null);
      [server.answer, server.instead] = ['well', () => undefined];
      const before = server.sent.length;
      assert.deepEqual(await runExport(api, server, killed.place).ended, whole);
      assert.ok(server.sent.length - before < length, 'it began anew');
    });
  });
}

/** A local server of an API. */
export async function serve(answering: Answering<unknown>) {
  const server = await startListing(answering, []);
  const options: Opening = { baseUrl: new URL(server.baseUrl).origin, rateLimit: false };
  return Object.assign(server, { options, [Symbol.asyncDispose]: () => server.close() });
}

/** Exports a source as its users do, in a process of its own. */
function runExport(
  { source, variables, args = [] }: ApiCase,
  { options }: { readonly options: Opening },
  place = mkdtempSync(join(folder, 'export-')),
) {
  const plugin = resolve('plugins', `${source.split('.')[0]}.ts`);
  writeFileSync(join(place, 'sluice.config.json'), JSON.stringify({ plugins: [[plugin, options]] }));
  const command = ['export', source, ...args, '--to', 'rows.jsonl', '--commit-every', '1', '--quiet'];
  const child = spawn(process.execPath, [resolve('node_modules/@sluice/cli/dist/bin.js'), ...command], {
    cwd: place,
    env: { PATH: process.env['PATH'], ...variables },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = new Promise<{ code: number | null; rows: object[]; errors: string }>((end, fail) => {
    child.once('error', fail);
    child.once('close', (code) => end({ code, rows: readRows(join(place, 'rows.jsonl')), errors }));
  });
  return {
    place,
    ended,
    kill: () => child.kill('SIGKILL'),
    committed: () => committed(place),
  };
}

/** Resolves when the checkpoint of an export has rows. */
async function committed(place: string): Promise<void> {
  const path = join(place, 'rows.jsonl.sluice/checkpoint');
  while (!existsSync(path) || !/"rows":[1-9]/.test(readFileSync(path, 'utf8'))) await setTimeout(10);
}

function readRows(path: string): object[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => record.parse(JSON.parse(line)));
}

const record = z.record(z.string(), z.unknown());

/**
 * Exports of only what is new, one after the other, each into a file of its own. Merged by key, they must equal the
 * server's table each time.
 *
 * @returns a function for the next export, which resolves to the number of its rows
 */
export function exportRounds<Row extends object>(
  source: Source<Row>,
  keyOf: (row: Row) => unknown,
  table: () => readonly Row[],
): () => Promise<number> {
  const place = mkdtempSync(join(folder, 'rounds-'));
  const state = fileState(join(place, 'state'));
  const kept = new Map<unknown, Row>();
  let round = 0;
  return async () => {
    const path = join(place, `${(round += 1)}.jsonl`);
    const { rows } = await exportTo(source, jsonl({ path }), { state, incremental: true }).run();
    for (const row of readRows(path) as Row[]) kept.set(keyOf(row), row);
    assert.deepEqual(new Set(kept.values()), new Set(table()));
    return rows;
  };
}
