import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { configFolder, run as runIn, type Ran } from './config/configFolder.js';
import { settingsFor } from './runSluice.js';
import { changesIn } from './watching.js';

/** An API of another shape: pages by number, and a currency. */
let server: Server;
let asked: string[] = [];
let keys: unknown[] = [];
let prices = [1, 2, 3, 4, 5];

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    asked.push(url.search);
    keys.push(request.headers['x-api-key']);
    const page = Number(url.searchParams.get('page') ?? 1);
    const items = prices.map((price, at) => ({ id: at + 1, price, currency: url.searchParams.get('currency') }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ items: items.slice(2 * page - 2, 2 * page), pages: Math.ceil(items.length / 2) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  keys = [];
  prices = [1, 2, 3, 4, 5];
});

const paging = `path: '/coins', paging: byPage({ param: 'page', pages: 'pages' }), rows: 'items', columns: ['id', 'price', 'currency']`;

/** A folder whose configuration adds that API. */
function coinsFolder(): string {
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return configFolder({
    'sluice.config.ts': `
      import { byPage, defineApi, listing } from '@sluice/core/define';
      const currency = {
        '~standard': {
          version: 1 as const, vendor: 'test',
          validate: (value: any) => typeof value.currency === 'string'
            ? { value: value as { currency: string; ids?: string[] } } : { issues: [{ message: 'it is needed', path: ['currency'] }] },
          jsonSchema: { input: () => ({ properties: { currency: { type: 'string' }, ids: { type: 'array' } }, required: ['currency'], additionalProperties: false }) },
        },
      };
      const coins = defineApi({ name: 'coins', sources: {
        markets: listing({ ${paging}, key: ({ id }) => String(id), description: 'Coins and their prices.', params: currency,
          query: ({ currency, ids }) => ({ currency, ids }) }),
        plain: listing({ ${paging} }),
        free: listing({ ${paging}, query: ({ currency = 'usd', full }: { currency?: string; full?: string }) => ({ currency, full: full === 'true' }) }),
      } });
      export default { plugins: [coins({ baseUrl: '${baseUrl}' })], defaults: { rate: 'unlimited' } };`,
  });
}

const run = (args: readonly string[], folder = coinsFolder()): Promise<Ran> =>
  runIn(args, folder, { SLUICE_API_KEY: 'canary-11aa' });

describe('sluice export API.SOURCE', () => {
  test('writes the rows of any API', { tags: ['slow'] }, async () => {
    const folder = coinsFolder();
    const args = ['export', 'coins.markets', '--param', 'currency=usd', '--param', 'ids=7'];
    expect(await run([...args, '--to', 'coins.csv'], folder)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^5 rows in 3 pages -> coins\.csv/),
    });
    expect(readFileSync(join(folder, 'coins.csv'), 'utf8')).toBe(
      'id,price,currency\r\n1,1,usd\r\n2,2,usd\r\n3,3,usd\r\n4,4,usd\r\n5,5,usd\r\n',
    );
    expect(asked[0]).toBe('?currency=usd&ids%5B%5D=7');
    const bounded = await run([
      ...args,
      '--to',
      '-',
      '--max-rows',
      '3',
      '--columns',
      'price',
      '--format',
      'jsonl',
      '--quiet',
    ]);
    expect(bounded).toEqual({ code: 0, stdout: '{"price":1}\n{"price":2}\n{"price":3}\n', stderr: '' });
  });

  test('takes what a source without a description of its parameters depends on, also where it says what is so anyway', async () => {
    const args = ['export', 'coins.free', '--param', 'currency=usd', '--param', 'full=false', '--to', '-', '--quiet'];
    expect(await run(args)).toMatchObject({ code: 0, stderr: '' });
    expect(asked[0]).toBe('?currency=usd&full=false');
  });

  test('asks an API without a key where none is set, and sends one that is', async () => {
    const folder = coinsFolder();
    const args = ['export', 'coins.plain', '--to', '-', '--quiet'];
    expect(await runIn(args, folder)).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(keys)).toEqual(new Set([undefined]));
    expect(await run(args, folder)).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(keys)).toEqual(new Set([undefined, 'canary-11aa']));
  });

  test('reaches the APIs of the command line itself by the same way', async () => {
    await using sandbox = await startSandbox({ streams: 120 });
    const args = ['export', 'streams.list', '--to', '-', '--columns', 'id', '--page-size', '60', '--rate', 'unlimited'];
    const { code, stdout, stderr } = await runIn(args, configFolder({}), settingsFor(sandbox));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^120 rows in 2 pages -> stdout/) });
    expect(stdout.split('\r\n')).toHaveLength(122);
  });

  test('takes one owner as a list, as the source describes it', async () => {
    await using sandbox = await startSandbox({ holdings: 30 });
    const [owner = ''] = sandbox.owners;
    const args = ['export', 'aptos.nfts', '--to', '-', '--columns', 'name'];
    const given = [...args, '--param', `ownerAddresses=${owner}`, '--rate', 'unlimited'];
    const { code, stdout } = await runIn(given, configFolder({}), settingsFor(sandbox));
    expect({ code, rows: stdout.split('\r\n').length - 2 }).toEqual({
      code: 0,
      rows: [...sandbox.holdingsOf([owner])].length,
    });
  });

  test.each<[string, string[], string]>([
    ['no parameter', [], 'aptos.nfts needs the parameter ownerAddresses. Give --owner …, once for each.'],
    [
      'what is not a list of texts',
      ['ownerAddresses:=3'],
      'aptos.nfts: --param ownerAddresses must be a list of strings, even if it has only one entry.',
    ],
    [
      'a filter that is not a hash',
      ['ownerAddresses=0x1', 'includeCollections=zz'],
      'aptos.nfts: "zz" in --param includeCollections is not a hash of a collection\'s data id: it must be 1 to 64 hex digits.',
    ],
  ])('names the parameter of an API of the command line, for %s', async (_name, params, sentence) => {
    await using sandbox = await startSandbox({ holdings: 3 });
    const args = ['export', 'aptos.nfts', '--to', '-', ...params.flatMap((param) => ['--param', param])];
    expect(await runIn(args, configFolder({}), settingsFor(sandbox))).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `sluice: ${sentence}\n`,
    });
  });

  test.each<[string, string[], string]>([
    ['an API that is not there', ['coin.markets'], 'There is no API "coin" with sources. Did you mean coins?'],
    ['a source that is not there', ['coins.market'], 'coins has no source "market". Did you mean coins.markets?'],
    [
      'no source',
      ['coins'],
      '"coins" is not a source. Write API.SOURCE, like aptos.nfts; "sluice sources" lists them.',
    ],
    [
      'a parameter that is missing',
      ['coins.markets'],
      'coins.markets needs the parameter currency: it is needed. Give --param currency=….',
    ],
    [
      'a parameter that is wrong',
      ['coins.markets', '--param', 'currency:=7'],
      'coins.markets refuses --param currency: it is needed. Give --param currency=….',
    ],
    [
      'any parameter where there is none',
      ['coins.plain', '--param', 'currency=usd'],
      'coins.plain takes no parameters. Leave out --param currency.',
    ],
    [
      'a parameter that is not there',
      ['coins.markets', '--param', 'currency=usd', '--param', 'page=2'],
      'coins.markets has no parameter "page". Available: currency, ids.',
    ],
    [
      'chance over the first rows',
      ['coins.plain', '--concurrency', '2', '--max-rows', '2'],
      '--max-rows goes with --concurrency 1 only: with a concurrency above 1 it would be chance which rows come.',
    ],
    [
      'a missing address',
      ['streams.list'],
      'The base URL of the streams API is not set. Set the environment variable SLUICE_STREAMS_URL, or give --streams-url.',
    ],
  ])('refuses %s', async (_, args, sentence) => {
    expect(await run(['export', ...args, '--to', 'out.csv'])).toEqual({
      code: 2,
      stdout: '',
      stderr: `sluice: ${sentence}\n`,
    });
    expect(asked).toEqual([]);
  });
});

describe('sluice watch API.SOURCE', () => {
  test('tells the changes of any API, as lines and as JSON Lines', async () => {
    const folder = coinsFolder();
    const args = [
      'watch',
      'coins.markets',
      '--param',
      'currency=eur',
      '--every',
      '20ms',
      '--polls',
      '2',
      '--state',
      'known',
    ];
    const first = await run(args, folder);
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ {2}5 rows at the start {2}\(--format jsonl lists them\)\n$/),
    });
    prices = [1, 9, 3, 4, 5, 6];
    const second = await run([...args, '--quiet'], folder);
    expect(second.stdout.split('\n').map((line) => line.slice(21))).toEqual([
      expect.stringMatching(/^2 +changed {2}price 2 -> 9$/),
      expect.stringMatching(/^6 +added {2}6 {2}eur$/),
      '',
    ]);
    prices = [7, 9, 3, 4, 5, 6];
    const third = await run([...args, '--quiet', '--format', 'jsonl'], folder);
    expect(changesIn(third.stdout)).toMatchObject([{ type: 'changed', key: '1', fields: ['price'] }]);
  });

  test('needs something that tells rows apart', { tags: ['slow'] }, async () => {
    const args = ['watch', 'coins.plain', '--every', '20ms', '--polls', '2', '--format', 'jsonl', '--quiet'];
    expect(await run(args)).toMatchObject({
      code: 2,
      stderr: 'sluice: Nothing tells the rows of coins.plain apart: give --key COLUMN, or several: --key a,b.\n',
    });
    expect((await run([...args, '--key', 'idd'])).stderr).toBe(
      'sluice: --key: there is no column "idd". Did you mean id?\n',
    );
    const byOne = await run([...args, '--key', 'id']);
    expect(changesIn(byOne.stdout).map(({ key }) => key)).toEqual(['1', '2', '3', '4', '5']);
    const byTwo = await run([...args, '--key', 'id,price']);
    expect(changesIn(byTwo.stdout)[0]).toMatchObject({ key: '["1","1"]' });
  });
});

test('what a source warns of is told once, however often its parameters are tried', async () => {
  await using sandbox = await startSandbox({ holdings: 5, owners: 1 });
  const [owner = ''] = sandbox.owners;
  const owners = JSON.stringify([owner, owner]);
  const args = ['export', 'aptos.nfts', '--param', `ownerAddresses:=${owners}`, '--to', '-'];
  const { code, stdout, stderr } = await runIn(args, configFolder({}), settingsFor(sandbox));
  expect({ code, rows: stdout.trimEnd().split('\r\n').length }).toEqual({ code: 0, rows: 6 });
  expect(stderr.match(/1 of 2 owner addresses are repeated/g)).toHaveLength(1);
});

describe('sluice sources', () => {
  test('lists what there is, without a key or a request', async () => {
    const { code, stdout, stderr } = await runIn(['sources'], coinsFolder());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(
      [
        'coins.markets',
        '  Coins and their prices.',
        '  params   currency (string, required), ids (array)',
        '  columns  id, price, currency',
        '',
        'coins.plain',
        '  params   none',
        '  columns  id, price, currency',
        '  watch    needs --key',
        '',
      ].join('\n'),
    );
    expect(stdout).toMatch(/^streams\.list\n/);
    const json = JSON.parse((await runIn(['sources', '--format', 'json'], coinsFolder())).stdout) as {
      readonly sources: readonly { readonly name: string }[];
    };
    expect(json.sources.map(({ name }) => name)).toEqual([
      'streams.list',
      'aptos.nfts',
      'coins.markets',
      'coins.plain',
      'coins.free',
    ]);
    expect(asked).toEqual([]);
  });
});
