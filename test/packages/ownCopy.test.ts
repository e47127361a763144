import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { onTestEnd } from '../../scripts/testScope.js';
import { run } from '../run.js';
import { temporaryFolder } from '../kit/temporaryFolder.js';

const consumer = inject('consumer');
const pages = 5;

const plugin = `
  import { ConfigError, SluiceError } from '@sluice/core';
  import { byCursor, defineApi, listing } from '@sluice/core/define';
  const leaves = { path: '/leaves', paging: byCursor({ param: 'after', at: 'next?' }), rows: 'rows', columns: ['id'] };
  const throwing = (error) => listing({ ...leaves, query: () => { throw error(); } });
  export const tea = defineApi({
    name: 'tea',
    sources: {
      leaves: listing(leaves),
      unsettled: throwing(() => new ConfigError('There are two kinds of tea. Give --param kind=green or kind=black.')),
      lost: throwing(() => new SluiceError('checkpoint', 'The leaves are others now.', { advice: [{ kind: 'restart' }] })),
      spilt: listing({ ...leaves, paging: { ...leaves.paging, request: () => { throw 'no more tea'; } } }),
    },
  });`;

/** The plugin's folder, with its own copy of the packages, as npm installs them if versions differ. */
let tea: string;

beforeAll(() => {
  tea = mkdtempSync(join(tmpdir(), 'sluice-tea-'));
  cpSync(join(consumer, 'node_modules'), join(tea, 'node_modules'), { recursive: true });
  writeFileSync(join(tea, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(tea, 'tea.js'), plugin);
});
afterAll(() => {
  rmSync(tea, { recursive: true });
});

/** The response of the server to a request for a page: the number of that page, or an error status. */
let answer: (page: number) => number;
let folder: string;

/** A project with this plugin. The command knows none of the classes that the plugin throws. */
function projectWithPlugin(baseUrl: string): string {
  const project = temporaryFolder();
  const files: Readonly<Record<string, string>> = {
    'package.json': '{ "type": "module" }',
    'sluice.config.js': `
      import { tea } from './tea/tea.js';
      export default { plugins: [tea({ baseUrl: '${baseUrl}' })], defaults: { rate: 'unlimited' } };`,
  };
  symlinkSync(tea, join(project, 'tea'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  return project;
}

function sluice(...args: readonly string[]): ReturnType<typeof run> {
  return run([join(consumer, 'node_modules', '.bin', 'sluice'), ...args], folder, {
    SLUICE_API_KEY: 'a-key-that-nobody-needs',
    NO_COLOR: '1',
  });
}

const exported = (source: string, ...more: readonly string[]): ReturnType<typeof run> =>
  sluice('export', source, '--to', 'tea.jsonl', '--quiet', ...more);

describe("errors of a plugin's own copy of the core", () => {
  beforeEach(async () => {
    answer = () => 200;
    const server = createServer(({ url = '' }, response) => {
      const page = Number(new URL(url, 'http://localhost').searchParams.get('after') ?? 0);
      const status = answer(page);
      response.writeHead(status, { 'content-type': 'application/json' });
      const rows = [2 * page, 2 * page + 1].map((id) => ({ id }));
      const next = page + 1 < pages ? String(page + 1) : null;
      response.end(JSON.stringify(status === 200 ? { rows, next } : { message: 'no' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestEnd(() => server.close());
    folder = projectWithPlugin(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  test('an invalid option is reported as such: exit code 2, and its own sentence', async () => {
    expect(await exported('tea.unsettled')).toEqual({
      code: 2,
      output: expect.stringContaining('There are two kinds of tea. Give --param kind=green or kind=black.'),
    });
  });

  test("advice is given in the command's words", async () => {
    expect(await exported('tea.lost')).toEqual({
      code: 1,
      output: expect.stringContaining('The leaves are others now. Start over with --restart: nothing was changed.'),
    });
  });

  test('a thrown string is attributed to its source', async () => {
    const { code, output } = await exported('tea.spilt');
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringMatching(/tea\.spilt failed: .*: no more tea\./),
    });
  });

  test('E7 an expired cursor is reported with the way out, and only its partition is walked again', async () => {
    const resumable = (...more: readonly string[]): ReturnType<typeof run> =>
      exported('tea.leaves', '--commit-every', '1', ...more);
    answer = (page) => (page < 3 ? 200 : 403);
    expect((await resumable()).code).toBe(1);
    answer = (page) => (page < 3 ? 200 : 410);
    expect(await resumable()).toEqual({
      code: 1,
      output: expect.stringContaining(
        'tea.leaves can\'t continue: the API refused the cursor of page 4 with 410 ("{"message":"no"}"): it may have expired. Fetch this partition again with --on-expired restart-partition, or start over with --restart.',
      ),
    });
    let refusals = 0;
    answer = (page) => (page === 3 && (refusals += 1) === 1 ? 410 : 200);
    expect(await resumable('--on-expired', 'restart-partition')).toMatchObject({ code: 0 });
    expect(refusals).toBe(2);
    const ids = readFileSync(join(folder, 'tea.jsonl'), 'utf8').trimEnd().split('\n');
    expect(ids).toEqual(Array.from({ length: 2 * pages }, (_, id) => `{"id":${id}}`));
  });
});

test('G5 the suites judge implementations of another copy of the core like those of their own', async () => {
  const project = temporaryFolder();
  const files: Readonly<Record<string, string>> = {
    'package.json': '{ "type": "module" }',
    'suites/suites.js': `export * from '@sluice/testing'; export { createClient as own } from '@sluice/core';`,
    'parts/parts.js': `
      import { mkdtempSync, readFileSync } from 'node:fs';
      import { join } from 'node:path';
      import { createClient, createSource, definePlugin, HttpError, memoryState } from '@sluice/core';
      import { jsonl } from '@sluice/exporters/jsonl';
      export { createClient as own };
      export const state = () => ({ store: memoryState() });
      export const plugin = () => ({ plugin: () => definePlugin({ name: 'tea', setup: () => ({ brew: () => 'tea' }) }) });
      export const sink = () => {
        const path = join(mkdtempSync(join(import.meta.dirname, 'rows-')), 'rows.jsonl');
        const rows = () => readFileSync(path, 'utf8').split('\\n').filter(Boolean).map((line) => JSON.parse(line));
        return { sink: () => jsonl({ path }), rows };
      };
      export const source = () => {
        const seen = { made: 0, open: 0 };
        let how = 'well';
        const fetch = async ({ at, signal }) => {
          seen.made += 1;
          seen.open += 1;
          try {
            if (how === 'never') await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
            await new Promise(setImmediate);
            signal.throwIfAborted();
            if (how === 'fail') throw new HttpError('It is away.', { status: 500, excerpt: '' });
            const page = Number(at?.cursor ?? 0);
            return { rows: [{ id: page }], next: page < 2 ? { cursor: String(page + 1) } : 'end' };
          } finally {
            seen.open -= 1;
          }
        };
        const made = () => createSource({ name: 'tea.leaves', identity: null, schema: { columns: ['id'] }, fetch });
        return { source: made, requests: () => ({ ...seen }), answer: (next) => (how = next) };
      };`,
    'suites.test.js': `
      import { ok } from 'node:assert';
      import { test } from 'node:test';
      import * as suites from './suites/suites.js';
      import * as parts from './parts/parts.js';
      test('there are two copies', () => ok(suites.own !== parts.own));
      suites.testSource({ test, factory: parts.source });
      suites.testSink({ test, factory: parts.sink });
      suites.testStateStore({ test, factory: parts.state });
      suites.testPlugin({ test, factory: parts.plugin });`,
  };
  for (const folder of ['suites', 'parts']) mkdirSync(join(project, folder));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  symlinkSync(join(consumer, 'node_modules'), join(project, 'suites', 'node_modules'));
  symlinkSync(join(tea, 'node_modules'), join(project, 'parts', 'node_modules'));
  const { code, output } = await run(['--test', '--test-reporter=tap', 'suites.test.js'], project, {});
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/^# fail 0$/m) });
  expect(Number(/^# pass (\d+)$/m.exec(output)?.[1])).toBeGreaterThan(50);
});
