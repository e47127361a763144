import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSandbox } from '@sluice/sandbox';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { configFolder, run } from './config/configFolder.js';
import { settingsFor } from './runSluice.js';

/** An API with two shelves and a catalogue, which answers each with a status. */
let server: Server;
let asked: string[] = [];
let statuses: Readonly<Record<string, number>> = {};

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const status = statuses[pathname] ?? 200;
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(status === 429 && { 'retry-after': '3600' }),
    });
    response.end(JSON.stringify({ items: [{ id: 1 }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  statuses = {};
});

function libraryFolder({ requires = '' } = {}): string {
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return configFolder({
    'sluice.config.ts': `
      import { byOffset, defineApi, listing } from '@sluice/core/define';
      const schema = (isDescribed: boolean) => ({ '~standard': {
        version: 1 as const, vendor: 'test',
        validate: (value: any) => typeof value.shelf === 'string' ? { value } : { issues: [{ message: 'expected text', path: ['shelf'] }] },
        ...(isDescribed && { jsonSchema: { input: () => ({ properties: { shelf: { type: 'string' } }, required: ['shelf'] }) } }),
      } });
      const rows = { paging: byOffset({ param: 'offset' }), rows: 'items', columns: ['id'] };
      const library = defineApi({ name: 'library', sources: {
        catalogue: listing({ ...rows, path: '/catalogue', pageSize: { param: 'limit', default: 50 } }),
        books: listing({ ...rows, path: '/books', params: schema(true), query: ({ shelf }: any) => ({ shelf }) }),
        described: listing({ ...rows, path: '/described', params: schema(false), query: ({ shelf }: any) => ({ shelf }) }),
        free: listing({ ...rows, path: '/free', query: ({ shelf }: { shelf?: string }) => ({ shelf }) }),
        failing: listing({ ...rows, path: '/failing', query: ({ shelf }: { shelf: string }) => ({ shelf: shelf.toLowerCase() }) }),
      } });
      const { name, setup } = library({ baseUrl: '${baseUrl}' });
      export default { plugins: [{ name, setup, ${requires} }], defaults: { rate: 'unlimited' } };`,
  });
}

/** Level, subject and text of each line about the key or an API. */
function linesOf(stdout: string): string[][] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
    .filter(([, subject = '']) => /^(API key|streams|aptos|plugins|library\.)/.test(subject));
}

const answered = expect.stringMatching(
  /^answered in [\d.]+ m?s\. Its definition does not say: key, which a watch and --mode merge need(; pageSize\.max, the most rows of a page)?$/,
) as string;

test(
  'sources of plugins are asked for one row, without a key and an address of ours; what needs parameters is not',
  { tags: ['slow'] },
  async () => {
    const { code, stdout, stderr } = await run(['doctor'], libraryFolder());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(linesOf(stdout)).toEqual([
      ['ok', 'API key', 'none: APIs of plugins are requested without one'],
      ['warn', 'streams', expect.stringMatching(/^no address/)],
      ['warn', 'aptos', expect.stringMatching(/^no address/)],
      ['ok', 'library.catalogue', answered],
      [
        'ok',
        'library.books',
        'was not checked, since it needs --param shelf=…. To check it: sluice export library.books --param shelf=… --max-rows 1 --to -',
      ],
      [
        'ok',
        'library.described',
        'was not checked. library.described needs the parameter shelf: expected text. Give --param shelf=…, or shelf:=JSON if it is not text.',
      ],
      ['ok', 'library.free', answered],
      [
        'ok',
        'library.failing',
        'was not checked. library.failing needs the parameter "shelf": its query is made of it.',
      ],
    ]);
    expect(asked).toEqual(['/catalogue?limit=1', '/free']);
  },
);

test('one that refuses or fails is told, and fails; where it may only want parameters, it is a warning', async () => {
  statuses = { '/catalogue': 401, '/free': 422 };
  const { code, stdout } = await run(['doctor'], libraryFolder());
  expect(code).toBe(1);
  expect(linesOf(stdout).filter(([level]) => level !== 'ok')).toEqual([
    ['warn', 'streams', expect.any(String)],
    ['warn', 'aptos', expect.any(String)],
    ['fail', 'library.catalogue', expect.stringMatching(/^does not answer without a key: .*401.* Set SLUICE_API_KEY/)],
    [
      'warn',
      'library.free',
      expect.stringMatching(/422.* It was asked without parameters, and nothing tells whether it needs some\.$/),
    ],
  ]);
  const refused = await run(['doctor'], libraryFolder(), { SLUICE_API_KEY: 'canary-41fa' });
  expect(refused.stdout).toMatch(/^fail {2}library\.catalogue {2}the key was refused: .*401/m);
  statuses = { '/catalogue': 404 };
  expect((await run(['doctor', '--quiet'], libraryFolder())).stdout).toMatch(/^fail {2}library\.catalogue {2}.*404/);
});

test('no source waits for the end of a long pause that another one of its API was told', async () => {
  statuses = { '/catalogue': 429 };
  const { stdout } = await run(['doctor'], libraryFolder());
  expect(linesOf(stdout)).toEqual(
    expect.arrayContaining([
      ['warn', 'library.catalogue', expect.stringContaining('the server asked to wait 3600 s')],
      [
        'warn',
        'library.free',
        expect.stringMatching(/^was not asked, since its API wants no request for (59 min|1 h)/),
      ],
    ]),
  );
  expect(asked).toHaveLength(1);
});

test('an API of ours that a plugin requires has to have an address, and a key', async () => {
  const folder = libraryFolder({ requires: "requires: ['streams']" });
  const without = await run(['doctor'], folder);
  expect(without.code).toBe(1);
  expect(linesOf(without.stdout)).toEqual([
    ['fail', 'API key', expect.stringMatching(/^There is no API key\./)],
    ['fail', 'streams', expect.stringMatching(/^no address/)],
    ['warn', 'aptos', expect.stringMatching(/^no address/)],
    ['warn', 'plugins', 'their sources were not asked, since something else fails'],
  ]);
  expect(asked).toEqual([]);
  await using sandbox = await startSandbox();
  const { SLUICE_API_KEY = '', SLUICE_STREAMS_URL = '' } = settingsFor(sandbox);
  const { code, stdout } = await run(['doctor'], folder, { SLUICE_API_KEY, SLUICE_STREAMS_URL });
  expect({ code, last: linesOf(stdout).at(-2) }).toEqual({ code: 0, last: ['ok', 'library.free', answered] });
});

test('a key that is too short to be searched for is refused, and our own words stay', async () => {
  const { code, stdout } = await run(
    ['doctor', '--no-config', '--streams-url', 'http://127.0.0.1:1/none'],
    libraryFolder(),
    { SLUICE_API_KEY: 'none' },
  );
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail {2}API key {6}The API key has fewer than 8 characters/m);
  expect(stdout).toMatch(/^ok {4}proxy {8}none is set/m);
  expect(stdout).not.toContain('/none');
});

test('an API that gets the key of another one, at another address, is a warning without the key', async () => {
  const other = createServer((_, response) => void response.end(JSON.stringify({ items: [] })));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  try {
    const [first, second] = [server, other].map((each) => (each.address() as AddressInfo).port);
    const folderOf = (auth: string): string =>
      configFolder({
        'sluice.config.ts': `
          import { byOffset, defineApi, listing, sharedKey } from '@sluice/core/define';
          const books = listing({ path: '/books', paging: byOffset({ param: 'offset' }), rows: 'items', columns: ['id'] });
          const [library, archive] = ['library', 'archive'].map((name) => defineApi({ name, ${auth} sources: { books } }));
          export default { plugins: [
            library({ baseUrl: 'http://127.0.0.1:${String(first)}' }), archive({ baseUrl: 'http://127.0.0.1:${String(second)}' }),
          ], defaults: { rate: 'unlimited' } };`,
      });
    const key = 'canary-41fa';
    const { code, stdout } = await run(['doctor'], folderOf(''), { SLUICE_API_KEY: key });
    expect(code).toBe(0);
    const shared = stdout.split('\n').filter((line) => line.includes("the client's key"));
    expect(shared).toEqual([
      expect.stringMatching(
        /^warn {2}library {6}library has no `auth`, .* which http:\/\/127\.0\.0\.1:\d+ gets, too\./,
      ),
      expect.stringMatching(/^warn {2}archive {6}archive has no `auth`, /),
    ]);
    expect(stdout).not.toContain(key);
    const meant = await run(['doctor'], folderOf('auth: sharedKey,'), { SLUICE_API_KEY: key });
    expect(meant.stdout).not.toContain("the client's key");
  } finally {
    other.close();
  }
});
