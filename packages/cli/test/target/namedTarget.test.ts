import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors/errors.js';
import { resolveTarget } from '../../src/target/resolveTarget.js';
import { testEnvironment } from '../testEnvironment.js';
import {
  hidePassword,
  findNamed,
  matchNamed,
  listNames,
  stateFolder,
  parseTarget,
} from '../../src/target/namedTarget.js';

const sink = () => Promise.reject(new Error('not to be made'));
const configured = {
  defaults: {},
  plugins: [{ name: 'a', sinks: { db: () => expect.unreachable(), 'x-y': () => expect.unreachable() } }],
};
const config = { plugins: [{ name: 'a', sinks: { db: sink, 'x-y': sink }, stores: { kv: sink } }] };

describe('a target', () => {
  test.each([
    ['db:rows', 'rows'],
    ['x-y:a:b', 'a:b'],
    ['db:C:\\rows.db', 'C:\\rows.db'],
    ['db:a\nb', 'a\nb'],
  ])('%j is that of a sink', (text, target) => {
    expect(matchNamed(text, 'sinks', config)).toMatchObject({ target, shown: text });
  });

  test.each([
    'C:\\rows.csv',
    './db:rows',
    'DB:rows',
    'kv:rows',
    'db',
    '-',
    'rows.csv',
    '/db:rows',
    'a b:rows',
    ':rows',
  ])('%j is none', (text) => {
    expect(matchNamed(text, 'sinks', config)).toBeUndefined();
  });

  test('shows no password, and keeps it out of all that is written', () => {
    const secrets = new Set<string>();
    const address = matchNamed('db:postgres://user:p%40ss:w@db.example/x', 'sinks', config)!;
    expect(address.shown).toBe('db:postgres://user:…@db.example/x');
    hidePassword(address, secrets);
    expect([...secrets]).toEqual(['p%40ss:w']);
    expect(stateFolder(address)).toMatch(/^db\.db\.example-x\.[0-9a-f]{8}\.sluice$/);
  });
});

describe('a name that nobody brought along', () => {
  const refusal = (text: string, kind: 'sinks' | 'stores', plugins: (typeof config)['plugins'] = config.plugins) => {
    try {
      findNamed(text, kind, { plugins, file: { name: 'sluice.config.js', path: '/sluice.config.js' } });
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      return (error as UsageError).message;
    }
  };
  test.each<[string, 'sinks' | 'stores', string]>([
    [
      'dbx:rows',
      'sinks',
      'There is no sink "dbx" for --to dbx:rows. Did you mean db? If it is a file, write ./ in front of it.',
    ],
    [
      'db:rows',
      'stores',
      'There is no store "db" for --state db:rows. Available: kv. If it is a folder, write ./ in front of it.',
    ],
  ])('%s as one of the %s is refused', (text, kind, sentence) => {
    expect(refusal(text, kind)).toBe(sentence);
  });

  test('is told when there are none at all', () => {
    expect(refusal('db:rows', 'sinks', [])).toContain('The plugins of sluice.config.js provide none.');
  });

  test.each([
    ['sqlite:coins.db', 'A table of SQLite is --to FILE.sqlite#TABLE.'],
    ['sqlite:coins.csv', 'A table of SQLite is --to FILE.sqlite#TABLE.'],
    ['postgres:coins', 'A table of PostgreSQL is --to postgres://user@host/database?table=NAME.'],
    ['postgress://me@host/db?table=x', 'A table of PostgreSQL is --to postgres://user@host/database?table=NAME.'],
    ['parquet:x.parquet', 'A file is its path alone, which ends in .csv, .jsonl or .parquet.'],
    ['csv:x.csv', 'A file is its path alone, which ends in .csv, .jsonl or .parquet.'],
    ['redis://127.0.0.1/0', 'Available: db, x-y.'],
    ['s3:bucket/x.csv', 'Available: db, x-y.'],
    ['ftp://host/x.db', 'Available: db, x-y.'],
  ])('%s does not become a file of that name', async (to, way) => {
    const elsewhere = () => expect.unreachable();
    await expect(resolveTarget({ to }, testEnvironment(), configured, elsewhere, elsewhere)).rejects.toThrow(
      `There is no sink ${JSON.stringify(to.slice(0, to.indexOf(':')))} for --to ${to}. ${way} If it is a file, write ./ in`,
    );
  });

  test.each(['./a:b.csv', 'C:\\rows.csv', 'out/a:b.csv', '/tmp/a:b.csv', 'streams-2026-11-26T01:00:00.csv'])(
    '%s is a file',
    async (to) => {
      const file = { kind: 'file' as const, name: to, format: 'csv', open: () => expect.unreachable() };
      const asTable = () => expect.unreachable();
      const target = await resolveTarget({ to }, testEnvironment(), configured, () => file, asTable);
      expect(target.kind).toBe('file');
    },
  );

  test.each(['C:\\rows', './db:x', 'rows.txt'])('%s is none', (text) => {
    expect(refusal(text, 'sinks')).toBeUndefined();
  });
});

test.each([
  ['http://example.com/rows.csv', 'To post to one, give --forward URL.'],
  ['HTTPS://example.com', 'To post to one, give --forward URL.'],
  ['file:rows.csv', 'Give the path of the file alone.'],
])('%s is an address, whatever a plugin calls its sinks', (text, way) => {
  const plugins = [{ name: 'a', sinks: { http: sink, HTTPS: sink, file: sink, files: sink } }];
  expect(listNames('sinks', plugins)).toEqual(['files']);
  expect(matchNamed(text, 'sinks', { plugins })).toBeUndefined();
  expect(() => findNamed(text, 'sinks', { plugins })).toThrow(new UsageError(`--to does not take an address. ${way}`));
});

test('a name with nothing behind it is refused', () => {
  expect(() => matchNamed('kv:', 'stores', config)).toThrow(
    new UsageError('--state kv: has no target. Write it after the colon.'),
  );
});

describe('the folder of a state', () => {
  test.each([
    ['db:rows.db', 'db.rows.db.sluice'],
    // As the guide to the command line has it.
    ['sqlite:data/coins.db', 'sqlite.data-coins.db.2f1a3e53.sluice'],
    ['db:', /^db\.[0-9a-f]{8}\.sluice$/],
    ['db:out/rows.db', /^db\.out-rows\.db\.[0-9a-f]{8}\.sluice$/],
    ['db:../../$(rm) "x"', /^db\.rm-x\.[0-9a-f]{8}\.sluice$/],
    ['db:-x', /^db\.x\.[0-9a-f]{8}\.sluice$/],
    ['db:Zoë', /^db\.Zo\.[0-9a-f]{8}\.sluice$/],
    [`db:${'x'.repeat(300)}`, /^db\.x{80}\.[0-9a-f]{8}\.sluice$/],
  ])('of %j is safe in any shell', (text, folder) => {
    const named = stateFolder(parseTarget(text)!);
    if (typeof folder === 'string') expect(named).toBe(folder);
    else expect(named).toMatch(folder);
  });

  test('is another one for every target', () => {
    const targets = ['a/b', 'a-b', 'a.b', 'a b', 'b', '/a/b', 'postgres://u@h/a', 'postgres://h/a', 'postgres://h/a?b'];
    expect(new Set(targets.map((target) => stateFolder(parseTarget(`db:${target}`)!))).size).toBe(targets.length);
  });
});
