// What the tests of several APIs have in common: the suite for sources, an export by command that is killed in the
// middle and started again, and increments.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { env, execPath } from 'node:process';
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
  /** What the plugin takes besides, in a configuration. Default: nothing. */
  readonly options?: object;
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

    test('has nothing that doctor warns of', async () => {
      await using server = await serve(api.answering());
      const { ended } = startSluice(['doctor'], api, server);
      const { code, output } = await ended;
      assert.equal(code, 0, output);
      assert.match(output, new RegExp(`^ok +${api.source} `, 'm'));
    });

    test('is exported completely by a command that is killed in the middle and started again', async () => {
      await using server = await serve(api.answering());
      const whole = startExport(api, server);
      assert.deepEqual(await whole.ended, { code: 0, output: '' });
      assert.deepEqual(readRows(whole.place), api.rows);
      const { length } = server.sent;
      const killed = startExport(api, server);
      server.instead = () => {
        if (server.sent.length >= 2 * length - 1) server.answer = 'never';
        return undefined;
      };
      await committed(killed.place);
      killed.process.kill('SIGKILL');
      assert.equal((await killed.ended).code, null);
      [server.answer, server.instead] = ['well', () => undefined];
      const before = server.sent.length;
      assert.deepEqual(await startExport(api, server, killed.place).ended, { code: 0, output: '' });
      assert.deepEqual(readRows(killed.place), api.rows);
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

const rowsFile = 'rows.jsonl';

/** Exports a source as its users do. */
function startExport(api: ApiCase, server: Served, place?: string) {
  const { source, args = [] } = api;
  return startSluice(
    ['export', source, ...args, '--to', rowsFile, '--commit-every', '1', '--quiet'],
    api,
    server,
    place,
  );
}

type Served = Awaited<ReturnType<typeof serve>>;

/** Starts the command in a folder whose configuration has the plugin. */
function startSluice(
  command: readonly string[],
  { source, variables, options: own }: ApiCase,
  { options }: Served,
  place = mkdtempSync(join(folder, 'sluice-')),
) {
  const plugin = resolve('plugins', `${source.split('.')[0]}.ts`);
  writeFileSync(join(place, 'sluice.config.json'), JSON.stringify({ plugins: [[plugin, { ...options, ...own }]] }));
  const process = spawn(execPath, [resolve('node_modules/@sluice/cli/dist/bin.js'), ...command], {
    cwd: place,
    env: { PATH: env['PATH'], ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [process.stdout, process.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<{ code: number | null; output: string }>((end, fail) => {
    process.once('error', fail);
    process.once('close', (code) => end({ code, output }));
  });
  return { place, process, ended };
}

/** Resolves when the checkpoint of an export has rows. */
async function committed(place: string): Promise<void> {
  const path = join(place, `${rowsFile}.sluice/checkpoint`);
  while (!existsSync(path) || !/"rows":[1-9]/.test(readFileSync(path, 'utf8'))) await setTimeout(10);
}

function readRows(place: string, name = rowsFile): object[] {
  const lines = readFileSync(join(place, name), 'utf8').split('\n').slice(0, -1);
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
    const name = `${(round += 1)}.jsonl`;
    const { rows } = await exportTo(source, jsonl({ path: join(place, name) }), { state, incremental: true }).run();
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- they are of the source
    for (const row of readRows(place, name) as Row[]) kept.set(keyOf(row), row);
    assert.deepEqual(new Set(kept.values()), new Set(table()));
    return rows;
  };
}
