import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { configFolder, run as runIn, type Ran } from './config/configFolder.js';
import { readTable } from './readTable.js';
import { settingsFor } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

const token = 'canary-token-5f81';
const inCode = 'canary-code-77d2';
const variables = { TICKETS_TOKEN: token, SLUICE_API_KEY: 'canary-key-93b0' };

interface Ticket {
  readonly id: number;
  readonly updated_at: string;
}

let server: Server;
let seen: { readonly url: URL; readonly headers: IncomingMessage['headers']; readonly at: number }[] = [];
let tickets: Ticket[] = [];
/** The statuses of the next responses; 200 after the last one. */
let statuses: number[] = [];
/** Called before each response. */
let beforeResponse: () => void;

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    seen.push({ url, headers: request.headers, at: performance.now() });
    beforeResponse();
    response.writeHead(statuses.shift() ?? 200, {
      'content-type': 'application/json',
      date: new Date('2026-03-01T00:00:00Z').toUTCString(),
    });
    const since = Date.parse(url.searchParams.get('since') ?? '1970-01-01T00:00:00Z');
    const listed = tickets.filter(({ updated_at }) => Date.parse(updated_at) >= since);
    const documents: Readonly<Record<string, unknown>> = {
      '/tickets': { tickets: listed.slice(0, Number(url.searchParams.get('n'))) },
      '/echo': {
        sent: request.headers.authorization,
        query: url.search,
        nested: [{ hex: Buffer.from(token).toString('hex') }],
      },
    };
    const document = JSON.stringify(documents[url.pathname] ?? { limit: 5000, remaining: 4999 });
    response.end(url.pathname === '/large' ? '{"id":9007199254740993,"share":0.5}' : document);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => {
  [seen, statuses] = [[], []];
  beforeResponse = () => undefined;
  tickets = Array.from({ length: 250 }, (_, id) => ({
    id,
    updated_at: new Date(Date.UTC(2026, 0, 1, 0, id)).toISOString(),
  }));
});

const baseUrl = (): string => `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;

function helpdeskFolder(): string {
  return configFolder({
    'sluice.config.ts': `
      import { basic, bearer, byOffset, bySince, defineApi, listing, oauth2, queryKey, rateLimitHeaders } from '@sluice/core/define';
      const columns = ['id', 'updated_at'] as const;
      const helpdesk = defineApi({
        name: 'helpdesk',
        auth: bearer({ env: 'TICKETS_TOKEN' }),
        rateLimit: [{ requests: 1000, per: 60_000 }, { requests: 50, per: 1000, concurrency: 4 }],
        quota: rateLimitHeaders(),
        sources: {
          tickets: listing({
            description: 'Tickets, in the order of their last change.', path: '/tickets', rows: 'tickets', columns,
            pageSize: { param: 'n', default: 100, max: 100 },
            paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' }),
            key: ({ id }: any) => id,
          }),
          all: listing({ path: '/tickets', rows: 'tickets', columns, paging: byOffset({ param: 'offset' }) }),
        },
      });
      const rows = { all: listing({ path: '/other', rows: 'none?', columns: ['id'], paging: byOffset({ param: 'offset' }) }) };
      const shared = defineApi({ name: 'shared', sources: rows });
      const weather = defineApi({ name: 'weather', auth: queryKey('api_key', '${inCode}'), sources: rows });
      const mail = defineApi({ name: 'mail', auth: basic({ user: '${inCode}', password: { env: 'MAIL_PASSWORD' } }), sources: rows });
      const music = defineApi({ name: 'music', auth: oauth2({
        tokenUrl: 'https://accounts.example.com/token', clientId: 'sluice',
        clientSecret: { env: 'MUSIC_SECRET' }, refreshToken: { env: 'MUSIC_REFRESH_TOKEN' },
      }), sources: rows });
      const baseUrl = '${baseUrl()}';
      export default { plugins: [helpdesk, shared, weather, mail, music].map((api) => api({ baseUrl })) };`,
  });
}

const run = (args: readonly string[], folder = helpdeskFolder()): Promise<Ran> => runIn(args, folder, variables);

const anySecret = /canary/;

describe('A9 sluice sources NAME', () => {
  test('explains one source and its API, without a request', { tags: ['slow'] }, async () => {
    const { code, stdout, stderr } = await run(['sources', 'helpdesk.tickets']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'helpdesk',
      `  address  ${baseUrl()}`,
      '  auth     a bearer token from TICKETS_TOKEN',
      '  limits   1,000 per minute; 50 per second, 4 in parallel; the quota that responses report, waiting 1 h 5 min at most',
      '',
      'helpdesk.tickets',
      '  Tickets, in the order of their last change.',
      '  params   none',
      '  columns  id, updated_at',
      '  paging   since, 100 rows per page (100 at most)',
      '  export   also --incremental',
      '',
    ]);
    expect(seen).toEqual([]);
  });

  test('names the variables of credentials, and says which are not set', { tags: ['slow'] }, async () => {
    const authOf = async (api: string): Promise<string | undefined> =>
      /^ {2}auth {5}(.*)$/m.exec((await run(['sources', api])).stdout)?.[1];
    expect(await authOf('shared')).toBe('the key from SLUICE_API_KEY, in the header X-API-Key');
    expect(await authOf('weather')).toBe('a secret given in code, in the query parameter api_key');
    expect(await authOf('mail')).toBe('a user name and a password from MAIL_PASSWORD (not set: MAIL_PASSWORD)');
    expect(await authOf('music')).toBe(
      'OAuth tokens of https://accounts.example.com/token, for a secret from MUSIC_SECRET and MUSIC_REFRESH_TOKEN (not set: MUSIC_SECRET, MUSIC_REFRESH_TOKEN)',
    );
    const own = await runIn(['sources', 'streams'], configFolder({}));
    expect(own.stdout).toMatch(/ {2}address {2}not set: SLUICE_STREAMS_URL\n {2}auth .*\(not set: SLUICE_API_KEY\)\n/);
  });

  test('prints JSON for programs', async () => {
    const { stdout } = await run(['sources', 'helpdesk', '--format', 'json']);
    expect(JSON.parse(stdout)).toEqual({
      api: {
        name: 'helpdesk',
        baseUrl: baseUrl(),
        auth: [{ kind: 'bearer', name: 'Authorization', variables: ['TICKETS_TOKEN'] }],
        limits: [
          { requests: 1000, per: 60_000 },
          { requests: 50, per: 1000, concurrency: 4 },
        ],
        quota: { concurrency: 8, maxQuotaWait: 3_900_000 },
      },
      sources: [
        {
          name: 'helpdesk.tickets',
          description: 'Tickets, in the order of their last change.',
          params: [],
          columns: ['id', 'updated_at'],
          hasKey: true,
          pageSize: { default: 100, max: 100 },
          paging: 'since',
          isIncremental: true,
        },
        {
          name: 'helpdesk.all',
          params: [],
          columns: ['id', 'updated_at'],
          hasKey: false,
          paging: 'offset',
          isIncremental: false,
        },
      ],
    });
  });

  test('shows no secret, wherever it comes from', { tags: ['slow'] }, async () => {
    for (const api of ['helpdesk', 'shared', 'weather', 'mail', 'music'])
      for (const format of ['text', 'json']) {
        const { code, stdout, stderr } = await run(['sources', api, '--format', format]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).not.toMatch(anySecret);
      }
  });

  test.each([
    ['helpdesk.none', 'helpdesk has no source "none". Available: helpdesk.tickets, helpdesk.all.'],
    [
      'desk',
      'There is no API "desk" with sources. Available: aptos, helpdesk, mail, music, shared, streams, weather. The plugins of sluice.config.ts provide no other.',
    ],
  ])('refuses %s', async (name, sentence) => {
    expect(await run(['sources', name])).toEqual({ code: 2, stdout: '', stderr: `sluice: ${sentence}\n` });
  });
});

describe('A9 sluice get', () => {
  test('sends one request with the credentials of its API, and prints the JSON', async () => {
    const { code, stdout, stderr } = await run([
      'get',
      'helpdesk',
      '/rate_limit',
      '--param',
      'filter[state]=open',
      '--param',
      'ids:=[1,2]',
      '--param',
      'all:=true',
    ]);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stderr: '',
      stdout: '{\n  "limit": 5000,\n  "remaining": 4999\n}\n',
    });
    expect(
      seen.map(({ url, headers }) => [decodeURIComponent(`${url.pathname}${url.search}`), headers.authorization]),
    ).toEqual([['/rate_limit?filter[state]=open&ids[]=1&ids[]=2&all=true', `Bearer ${token}`]]);
    expect(seen[0]?.headers['x-api-key']).toBeUndefined();
  });

  test('rounds no number', async () => {
    const { stdout } = await run(['get', 'helpdesk', '/large']);
    expect(JSON.parse(stdout)).toEqual({ id: '9007199254740993', share: 0.5 });
  });

  test('retries as an export does', async () => {
    statuses = [503];
    expect(await run(['get', 'helpdesk', '/rate_limit'])).toMatchObject({ code: 0, stderr: '' });
    expect(seen).toHaveLength(2);
  });

  test('reaches the APIs of the command line itself', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const { pathname } = new URL(sandbox.streamsUrl);
    const { stdout: help } = await run(['get', '--help']);
    const [, ...args] = /sluice get streams .*/.exec(help)?.[0].split(' ') ?? [];
    const { code, stdout, stderr } = await runIn(args, configFolder({}), settingsFor(sandbox));
    expect({ code, stderr, pathname: pathname.length > 0 }).toEqual({ code: 0, stderr: '', pathname: true });
    expect(JSON.parse(stdout)).toHaveProperty('result');
  });

  test('hides the credentials that a server repeats, in other spellings, too', async () => {
    const { code, stdout } = await run(['get', 'helpdesk', '/echo', '--param', 'q=1']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ sent: 'Bearer [hidden]', query: '?q=1', nested: [{ hex: '[hidden]' }] });
    expect(stdout).not.toMatch(anySecret);
    statuses = [400];
    const failed = await run(['get', 'helpdesk', '/echo']);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/^sluice: helpdesk\.get: the server responded with 400 .*\n$/);
    expect(failed.stderr).not.toMatch(anySecret);
  });

  test.each<[string, string[], string]>([
    [
      'a source',
      ['helpdesk.tickets', '/x'],
      '"helpdesk.tickets" is not an API. Give the name before the dot; "sluice export" exports a source.',
    ],
    [
      'an unknown API',
      ['desk', '/x'],
      'There is no API "desk" with sources. Available: aptos, helpdesk, mail, music, shared, streams, weather. The plugins of sluice.config.ts provide no other.',
    ],
    ['a path without a slash', ['helpdesk', 'x'], 'The path must begin with a slash, like /rate_limit.'],
    [
      'a query in the path',
      ['helpdesk', '/x?a=1'],
      'The path must not have a query. Give each of its parameters with --param NAME=VALUE.',
    ],
    [
      'a path that leaves the base URL',
      ['helpdesk', '/../x'],
      'A request path must begin with one slash, stay below the base URL and be percent-encoded: "/../x".',
    ],
    [
      'a parameter that no query has',
      ['helpdesk', '/x', '--param', 'a:={}'],
      '--param a must be text, a number, true, false or a list of these, as a query has them.',
    ],
    [
      'credentials that are not set',
      ['mail', '/x'],
      'mail needs its credential: set the environment variable MAIL_PASSWORD.',
    ],
  ])('refuses %s', async (_, args, sentence) => {
    expect(await run(['get', ...args])).toEqual({ code: 2, stdout: '', stderr: `sluice: ${sentence}\n` });
    expect(seen).toEqual([]);
  });
});

describe('A5 sluice export --incremental', () => {
  const args = (to: string, ...more: string[]): string[] => [
    'export',
    'helpdesk.tickets',
    '--incremental',
    '--state',
    'tickets.state',
    '--to',
    to,
    ...more,
  ];
  const idsIn = (folder: string, file: string): number[] =>
    readFileSync(join(folder, file), 'utf8')
      .trimEnd()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as Ticket).id]));
  const change = (...ids: number[]): void => {
    for (const [nth, id] of ids.entries()) {
      tickets = tickets.filter((ticket) => ticket.id !== id);
      tickets.push({ id, updated_at: new Date(Date.UTC(2026, 1, 1, 0, nth)).toISOString() });
    }
  };

  test('exports all rows at first, then into another file what is new, and says how many rows that is', async () => {
    const folder = helpdeskFolder();
    const first = await run(args('1.jsonl'), folder);
    expect(first).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^250 new rows in \d+ pages -> 1\.jsonl \(/),
    });
    change(7, 300);
    const second = await run(args('2.jsonl'), folder);
    expect(second).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^2 new rows in \d+ pages? -> 2\.jsonl \(/),
    });
    expect(idsIn(folder, '2.jsonl')).toEqual([7, 300]);
    expect(await run(args('3.jsonl'), folder)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^0 new rows in 1 page -> 3\.jsonl \(/),
    });
    expect(readFileSync(join(folder, '3.jsonl'), 'utf8')).toBe('');
    expect(readdirSync(folder).filter((name) => name.includes('.sluice'))).toEqual([]);
  });

  test('into the same file appends what is new, and refuses to append all rows again', { tags: ['slow'] }, async () => {
    const folder = helpdeskFolder();
    const appended = args('all.jsonl', '--if-exists', 'append');
    expect(await run(appended, folder)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^250 new rows /) });
    change(7, 300);
    expect(await run(appended, folder)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^2 new rows /) });
    expect(idsIn(folder, 'all.jsonl').slice(248)).toEqual([248, 249, 7, 300]);
    expect(await run(appended, folder)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^0 new rows /) });
    const before = readFileSync(join(folder, 'all.jsonl'), 'utf8');
    expect(await run([...appended, '--full'], folder)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/and be there twice\. .*--if-exists overwrite\.\n$/),
    });
    expect(readFileSync(join(folder, 'all.jsonl'), 'utf8')).toBe(before);
  });

  test('--since starts elsewhere, and --full exports all rows again', { tags: ['slow'] }, async () => {
    const folder = helpdeskFolder();
    await run(args('1.jsonl', '--quiet'), folder);
    await run(args('2.jsonl', '--since', '2026-01-01T04:00:00Z', '--quiet'), folder);
    expect(idsIn(folder, '2.jsonl')).toEqual([240, 241, 242, 243, 244, 245, 246, 247, 248, 249]);
    const full = await run(args('3.jsonl', '--full'), folder);
    expect(full.stderr).toMatch(/^250 rows in /);
    expect(await run(args('4.jsonl'), folder)).toMatchObject({ stderr: expect.stringMatching(/^0 new rows /) });
  });

  test('the same command completes a run that was stopped, and the next one misses nothing', async () => {
    const folder = helpdeskFolder();
    const environment = testEnvironment({ folder, variables });
    beforeResponse = () => {
      if (seen.length === 3) environment.interrupt(new Interruption('SIGINT'));
    };
    const again = args('1.jsonl', '--commit-every', '1');
    expect(await main(again, environment)).toBe(130);
    expect(environment.written.stderr()).toMatch(/Resume with:\n {2}sluice export helpdesk\.tickets --incremental /);
    expect(existsSync(join(folder, '1.jsonl'))).toBe(false);
    change(5);
    expect(await run(again, folder)).toMatchObject({ code: 0, stderr: expect.stringMatching(/\d+ new rows in /) });
    change(6);
    expect((await run(args('2.jsonl'), folder)).code).toBe(0);
    const kept = new Set([...idsIn(folder, '1.jsonl'), ...idsIn(folder, '2.jsonl')]);
    expect(kept.size).toBe(250);
    expect(idsIn(folder, '2.jsonl')).toContain(6);
  });

  test('a run into another file than one that was stopped begins anew, and says so', { tags: ['slow'] }, async () => {
    const folder = helpdeskFolder();
    const environment = testEnvironment({ folder, variables });
    beforeResponse = () => {
      if (seen.length === 3) environment.interrupt(new Interruption('SIGINT'));
    };
    expect(await main(args('1.jsonl', '--commit-every', '1'), environment)).toBe(130);
    const other = await run(args('2.jsonl'), folder);
    expect(other).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/The last incremental export did not finish\. Its target was another one/),
    });
    expect(idsIn(folder, '2.jsonl')).toHaveLength(250);
    expect(await run(args('1.jsonl'), folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('1.jsonl.part exists already'),
    });
  });

  test('a checkpoint of an export that was not incremental is refused with what to do', async () => {
    const folder = helpdeskFolder();
    statuses = [200, 500, 500];
    const plain = ['export', 'helpdesk.tickets', '--to', '1.jsonl', '--retry-for', '0s', '--commit-every', '1'];
    expect((await run(plain, folder)).code).toBe(1);
    statuses = [];
    const mixed = [...plain, '--incremental', '--state', '1.jsonl.sluice'];
    expect(await run(mixed, folder)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /written by an export that was not incremental\. Use the previous settings, or start over with --restart/,
      ),
    });
  });

  test('into a table keeps how far it came there, and merges what is new', { tags: ['slow'] }, async () => {
    const folder = helpdeskFolder();
    const merged = ['export', 'helpdesk.tickets', '--incremental', '--to', 'tickets.sqlite', '--mode', 'merge'];
    expect(await run(merged, folder)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^250 new rows /) });
    change(7, 300);
    expect(await run(merged, folder)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^2 rows in 2 pages -> tickets\.sqlite \(1 added, 1 changed, /),
    });
    expect(readTable(join(folder, 'tickets.sqlite'), 'SELECT count(*) FROM tickets')).toEqual([[251]]);
  });

  test.each<[string, string[], string]>([
    [
      'no state',
      ['--incremental', '--to', 'a.csv'],
      '--incremental needs --state DIR: there it keeps how far the last export came.',
    ],
    [
      'a limit of rows',
      ['--incremental', '--state', 's', '--to', 'a.csv', '--max-rows', '5'],
      '--incremental goes without --max-rows: the rows beyond it would be missed for good.',
    ],
    [
      'stdout',
      ['--incremental', '--state', 's', '--to', '-'],
      "--incremental needs a target that can be resumed, i.e. a file, a webhook or a plugin's sink: what was missed on stdout would not come again.",
    ],
    ['a start without it', ['--since', '2026-01-01T00:00:00Z', '--to', 'a.csv'], '--since needs --incremental.'],
    ['all rows without it', ['--full', '--to', 'a.csv'], '--full needs --incremental.'],
    [
      'both',
      ['--incremental', '--state', 's', '--since', '2026-01-01T00:00:00Z', '--full', '--to', 'a.csv'],
      '--since and --full exclude each other: give a start, or export all rows.',
    ],
    [
      'a start of another kind',
      ['--incremental', '--state', 's', '--since', 'monday', '--to', 'a.csv'],
      '--since is "monday", and must be a date with a time and a zone, e.g. 2026-01-31T08:30:00Z.',
    ],
    [
      'a state beside it',
      ['--state', 's', '--to', 'a.csv'],
      "--state goes with --forward, --incremental, or a plugin's sink: a file has its state beside it.",
    ],
  ])('refuses %s', async (_, more, sentence) => {
    expect(await run(['export', 'helpdesk.tickets', ...more])).toEqual({
      code: 2,
      stdout: '',
      stderr: `sluice: ${sentence}\n`,
    });
    expect(seen).toEqual([]);
  });

  test('refuses a source that cannot be asked for what is new, and commands that have no increments', async () => {
    const folder = helpdeskFolder();
    const plain = ['export', 'helpdesk.all', '--incremental', '--state', 's', '--to', 'a.csv'];
    expect(await run(plain, folder)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        "sluice: helpdesk.all can't be exported with --incremental: its API is not described as one that can be asked for what is new (paging: bySince). To see what changed since the last run: sluice watch helpdesk.all --polls 1 --state DIR\n",
    });
    expect(readdirSync(folder)).not.toContain('s');
    for (const command of ['nfts', 'streams'])
      expect(await run([command, 'export', '--incremental', '--to', 'a.csv'], folder)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--incremental can't be used here: this API can't be asked for what is new."),
      });
  });
});

test('A2 --rate also holds for an API of a plugin with a limit and credentials of its own', async () => {
  const pages = ['export', 'helpdesk.tickets', '--to', '-', '--max-rows', '150', '--quiet'];
  expect(await run([...pages, '--rate', '1/s'])).toMatchObject({ code: 0, stderr: '' });
  const [first = 0, second = 0] = seen.map(({ at }) => at);
  expect(second - first).toBeGreaterThanOrEqual(990);
  expect((await run(['export', '--help'])).stdout.replace(/\s+/g, ' ')).toContain(
    'maximum request rate, besides limits of a plugin: 25/s',
  );
});

describe('sluice doctor with APIs that have their own credentials', () => {
  test('A1 names the variables that are not set, asks nothing of their APIs, and demands no key of ours', async () => {
    const { code, stdout } = await runIn(['doctor'], helpdeskFolder(), { TICKETS_TOKEN: token });
    expect(code).toBe(1);
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(lines.filter(([, subject = '']) => /^(helpdesk|mail|music|weather)$/.test(subject))).toEqual([
      ['ok', 'helpdesk', 'auth: a bearer token from TICKETS_TOKEN'],
      ['ok', 'weather', 'auth: a secret given in code, in the query parameter api_key'],
      ['fail', 'mail', 'its credentials are missing: set MAIL_PASSWORD'],
      ['fail', 'music', 'its credentials are missing: set MUSIC_SECRET and MUSIC_REFRESH_TOKEN'],
    ]);
    expect(lines.filter(([, subject]) => subject === 'API key')).toEqual([
      ['ok', 'API key', expect.stringMatching(/^none: /)],
    ]);
    expect(stdout).not.toMatch(/^\w+ +(mail|music)\./m);
    expect(stdout).toMatch(/^ok +helpdesk\.tickets +answered in /m);
    expect(stdout).not.toMatch(anySecret);
  });

  test('A1 says that they were refused', async () => {
    statuses = [401, 401];
    const { stdout } = await runIn(['doctor', '--quiet'], helpdeskFolder(), variables);
    expect(stdout).toMatch(/^fail +helpdesk\.tickets +its credentials were refused: .*401/m);
    expect(stdout).not.toMatch(anySecret);
  });
});
