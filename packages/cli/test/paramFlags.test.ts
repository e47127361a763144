import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { startSandbox } from '@sluice/sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { configFolder, run as runIn, type Ran } from './config/configFolder.js';
import { settingsFor, sluice } from './runSluice.js';

/** An API whose rows are what it was asked. */
let server: Server;
let asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://localhost').search);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify([{ id: 1 }]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
});

/** A folder whose configuration has a source with a parameter of each kind. */
function shopFolder(): string {
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return configFolder({
    'sluice.config.ts': `
      import { defineApi, listing, onePage } from '@sluice/core/define';
      const properties = {
        currency: { type: 'string', description: 'e.g. usd' },
        max_price: { type: 'number' },
        isNew: { type: 'boolean', flag: 'new' },
        tags: { type: 'array', flag: 'tag', fileFlag: 'tags-file' },
        where: { type: 'object' },
        format: { type: 'string' },
        maxPrice: { type: 'number' },
        no_cache: { type: 'string' },
        version: { type: 'string' },
        secret: { type: 'string' },
        'status[]': { type: 'string', flag: 'status' },
        page: { type: 'array', fileFlag: 'a b' },
      };
      const params = {
        '~standard': {
          version: 1 as const, vendor: 'test',
          validate: (value: any) => value.currency === undefined || value.currency === 'usd' ? { value }
            : { issues: [{ message: 'there is only usd', path: ['currency'] }] },
          jsonSchema: { input: () => ({ properties, required: ['currency'], additionalProperties: false }) },
        },
      };
      const rows = { path: '/orders', paging: onePage(), rows: '', columns: ['id'], key: 'id' };
      const shop = defineApi({ name: 'shop', sources: {
        orders: listing({ ...rows, params, query: ({ where, ...others }: any) => ({ ...others, where: where && JSON.stringify(where) }) }),
        plain: listing(rows),
      } });
      export default { plugins: [shop({ baseUrl: '${baseUrl}' })], defaults: { rate: 'unlimited', owner: '0x1' } };`,
  });
}

const run = (args: readonly string[], folder = shopFolder()): Promise<Ran> => runIn(args, folder);
const toStdout = ['--to', '-', '--quiet'];

describe('a parameter of a source has a flag', () => {
  test('of its kind, before or after the source', async () => {
    const folder = shopFolder();
    const flags = ['--max-price', '1.5', '--new', '--where', '{"a":[1]}', '--tag', 'a', 'b', '--tag=c,d'];
    expect(await run(['export', '--currency', 'usd', 'shop.orders', ...flags, ...toStdout], folder)).toEqual({
      code: 0,
      stdout: 'id\r\n1\r\n',
      stderr: '',
    });
    const query = new URLSearchParams(asked[0]);
    expect([...query]).toEqual([
      ['currency', 'usd'],
      ['max_price', '1.5'],
      ['isNew', 'true'],
      ['tags[]', 'a'],
      ['tags[]', 'b'],
      ['tags[]', 'c,d'],
      ['where', '{"a":[1]}'],
    ]);
    expect(await run(['export', 'shop.orders', '--currency=usd', '--no-new', ...toStdout], folder)).toMatchObject({
      code: 0,
    });
    expect(asked[1]).toBe('?currency=usd&isNew=false');
  });

  test('of a file with a value per line', async () => {
    const folder = shopFolder();
    writeFileSync(join(folder, 'tags.txt'), 'a # the first\n\nb\n');
    const args = ['export', 'shop.orders', '--currency', 'usd', '--tags-file', 'tags.txt', ...toStdout];
    expect(await run([...args, '--tag', 'c'], folder)).toMatchObject({ code: 0, stderr: '' });
    expect(asked[0]).toBe('?currency=usd&tags%5B%5D=a&tags%5B%5D=b&tags%5B%5D=c');
    expect(await run([...args, '--tags-file', 'gone.txt'], folder)).toMatchObject({
      code: 2,
      stderr: "sluice: The file gone.txt can't be read: it is not there.\n",
    });
    writeFileSync(join(folder, 'none.txt'), '# none\n');
    asked = [];
    expect(await run([...args, '--tags-file', 'none.txt'], folder)).toMatchObject({
      code: 2,
      stderr: 'sluice: none.txt has no value for --tags-file. Write one a line.\n',
    });
    expect(asked).toEqual([]);
  });

  test('in a watch', async () => {
    const args = ['watch', 'shop.orders', '--currency', 'usd', '--polls', '1', '--quiet'];
    expect(await run(args)).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(asked)).toEqual(new Set(['?currency=usd']));
  });

  test('unless the command has that flag itself, or another parameter has it: --param sets these', async () => {
    const params = ['--param', 'format=long', '--param', 'maxPrice=3'];
    const args = ['export', 'shop.orders', '--format', 'jsonl', '--currency', 'usd', '--max-price', '2', ...params];
    expect(await run([...args, ...toStdout])).toEqual({ code: 0, stdout: '{"id":1}\n', stderr: '' });
    expect(asked[0]).toBe('?currency=usd&max_price=2&format=long&maxPrice=3');
  });

  test('which the help of a command lists if the source is named', async () => {
    const folder = shopFolder();
    for (const command of ['export', 'watch', 'cluster submit export']) {
      const { code, stdout } = await run([...command.split(' '), 'shop.orders', '--help'], folder);
      const [, own] = /Parameters of shop\.orders:\n(.*?)\n\n/s.exec(stdout) ?? [];
      expect({ code, own: own?.split('\n').map((line) => line.trim().replace(/ {2,}/, '  ')) }).toEqual({
        code: 0,
        own: [
          '--currency <value>  e.g. usd (required)',
          '--max-price <n>',
          '--new',
          '--no-new',
          '--tag <value...>',
          '--tags-file <file>  file with one --tag per line; # starts a comment; - for stdin',
          '--where <json>',
          ...(command.startsWith('cluster') ? ['--format <value>'] : []),
        ],
      });
      const others = `${command.startsWith('cluster') ? '' : 'format, '}maxPrice, no_cache, version, secret, status[], page`;
      expect(stdout.replace(/\s+/g, ' ')).toContain(`repeatable (the only way to set ${others})`);
    }
    const plain = await run(['export', '--help'], folder);
    expect(plain).toEqual(await run(['export', 'shop.nothing', '--help'], folder));
    expect(plain.stdout).not.toContain('Parameters of');
  });

  test('which errors name', async () => {
    const folder = shopFolder();
    const refused = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await run(['export', ...args, ...toStdout], folder);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused('shop.orders', '--currency', 'eur')).toBe(
      'sluice: shop.orders refuses --currency: there is only usd. Give --currency ….\n',
    );
    expect(await refused('shop.orders', '--where', '{')).toBe('sluice: --where must be followed by JSON.\n');
    expect(await refused('shop.orders', '--curency', 'usd')).toBe(
      "sluice: Unknown option '--curency' (Did you mean --currency?)\n",
    );
    expect(await refused('shop.plain', '--where', '{}')).toBe("sluice: Unknown option '--where'. See --help.\n");
    expect(await refused('shop.order', '--currency', 'usd')).toBe(
      'sluice: shop has no source "order". Did you mean shop.orders?\n',
    );
    // A flag in place of the source is a mistyped flag.
    expect(await refused('--quiett', 'shop.none')).toBe("sluice: Unknown option '--quiett' (Did you mean --quiet?)\n");
    expect(asked).toEqual([]);
  });

  test('of the configuration that is named last', async () => {
    const folder = shopFolder();
    const args = ['export', 'shop.orders', '--currency', 'usd', ...toStdout];
    const named = ['--no-config', '--config', 'sluice.config.ts'];
    expect(await run([...args, ...named], folder)).toMatchObject({ code: 0, stderr: '' });
    expect(await run([...args, ...named.slice(1), '--no-config'], folder)).toMatchObject({ code: 2 });
  });

  test('without a look at the configuration where no source is named', async () => {
    const folder = configFolder({ 'sluice.config.ts': 'throw new Error("loaded");' });
    expect(await run(['export', '--version'], folder)).toMatchObject({ code: 0, stderr: '' });
    expect((await run(['export', '--quiett'], folder)).stderr).toContain("Unknown option '--quiett'");
  });

  test('which completion knows', async () => {
    const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    try {
      await run(['complete', '--', 'export', 'shop.orders', '--curr']);
      expect(printed.mock.calls.flat()).toEqual(['--currency\te.g. usd (required)', ':4']);
      await run(['complete', '--', 'export', 'shop.orders', '--']);
      expect(printed.mock.calls.flat()).toContain('--max-price\t');
    } finally {
      printed.mockRestore();
    }
  });
});

test('sluice export aptos.nfts takes wallets as sluice nfts export does', async () => {
  await using sandbox = await startSandbox({ holdings: 30 });
  const folder = configFolder({});
  const [one = '', two = '', ...others] = sandbox.owners;
  writeFileSync(join(folder, 'wallets.txt'), `${two} # mine\n`);
  const wallets = ['--owner', one, '--owners-file', 'wallets.txt', '--owners-per-request', '1', '--to', '-'];
  const at = { env: settingsFor(sandbox), cwd: folder };
  const generic = await sluice(['export', 'aptos.nfts', ...wallets], at);
  expect(generic.stdout.split('\r\n')).toHaveLength(2 + [...sandbox.holdingsOf([one, two])].length);
  expect(generic.stdout).toBe((await sluice(['nfts', 'export', ...wallets], at)).stdout);
  const all = ['--owners-file', '-', '--to', '-'];
  const input = [one, two, ...others].join('\n');
  expect((await sluice(['export', 'aptos.nfts', ...all], { ...at, input })).stdout.split('\r\n')).toHaveLength(32);
  const refused = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await sluice(['export', 'aptos.nfts', ...args, '--to', '-'], at);
    expect(code).toBe(2);
    return stderr;
  };
  writeFileSync(join(folder, 'wrong.txt'), `${one}\n# mine\n0xzz\n`);
  const reason = '"0xzz" is not an account address: it must be 0x and 1 to 64 hex digits.';
  expect(await refused('--owner', two, '--owners-file', 'wrong.txt')).toBe(`sluice: wrong.txt:3: ${reason}\n`);
  expect(await refused('--owner', two, '0xzz')).toBe(`sluice: --owner: ${reason}\n`);
  expect(await refused('--owner', two, '--include-collections', 'ab,zz')).toContain('"zz" in --include-collections');
});
