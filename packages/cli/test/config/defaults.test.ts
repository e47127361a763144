import { Command } from 'commander';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { applyDefaults } from '../../src/config/defaults.js';
import type { Defaults } from '../../src/config/defineConfig.js';
import { UsageError } from '../../src/errors/errors.js';
import { addOptions, type CommandName, commands as lines, type CommandOptions } from '../../src/options/commands.js';
import type { Option } from '../../src/options/option.js';
import type { OptionGroup } from '../../src/options/options.js';

const names = ['nfts export', 'streams watch', 'streams list', 'watch'] as const satisfies CommandName[];

/** The commands as the program has them, without their work. */
function commands(): Map<CommandName, Command> {
  return new Map(
    names.map((name) => [name, addOptions(new Command(name).exitOverride().allowExcessArguments(), name)]),
  );
}

const file = { path: '/conf/sluice.config.json', name: 'sluice.config.json' };

/** The options that a command line gets, from itself and from the defaults. */
function optionsOf(
  name: (typeof names)[number],
  args: readonly string[],
  defaults: Readonly<Record<string, unknown>>,
  variables: Readonly<Record<string, string>> = {},
): Record<string, unknown> {
  const all = commands();
  const command = all.get(name);
  if (!command) throw new Error(name);
  command.parse(args, { from: 'user' });
  const isSink = (target: string): boolean => target.startsWith('db:');
  applyDefaults(command, [...all.values()], { file, defaults }, { variables, isSink });
  const { guardFormulas, ...options } = command.opts<Record<string, unknown>>();
  return guardFormulas === false ? { ...options, guardFormulas } : options;
}

describe('defaults', () => {
  test('are read as on the command line, and used by every command that has the option', () => {
    const defaults = {
      rate: '25/s',
      timeout: '90s',
      concurrency: 4,
      every: '1m',
      quiet: true,
      owner: ['0x1', '0x2'],
      gzip: false,
    };
    const both = { rate: { requests: 25, per: 1000 }, timeout: 90_000, quiet: true };
    expect(optionsOf('nfts export', [], defaults)).toEqual({ ...both, concurrency: 4, owner: ['0x1', '0x2'] });
    expect(optionsOf('streams watch', [], defaults)).toEqual({ ...both, every: 60_000 });
  });

  test('lose to the command line and to the environment', () => {
    const defaults = { rate: '25/s', streamsUrl: 'https://a.example', apiKeyFile: 'key.txt' };
    const own = { rate: false, streamsUrl: 'https://a.example', apiKeyFile: '/conf/key.txt' };
    expect(optionsOf('streams list', ['--rate', 'unlimited'], defaults)).toEqual(own);
    const variables = { SLUICE_STREAMS_URL: 'https://b.example', SLUICE_API_KEY: 'key-of-ours' };
    expect(optionsOf('streams list', ['--rate', 'unlimited'], defaults, variables)).toEqual({ rate: false });
    const given = ['--streams-url', 'https://c.example'];
    expect(optionsOf('streams list', given, defaults, variables)).toMatchObject({ streamsUrl: 'https://c.example' });
  });

  test('that are paths begin where the configuration is, and - is stdin', () => {
    expect(optionsOf('nfts export', [], { ownersFile: '../wallets.txt', apiKeyFile: '-' })).toEqual({
      ownersFile: '/wallets.txt',
      apiKeyFile: '-',
    });
  });

  test('with a value that only some commands take are left out of the others', () => {
    expect(optionsOf('nfts export', [], { progress: 'bar' })).toEqual({ progress: 'bar' });
    expect(optionsOf('streams watch', [], { progress: 'bar' })).toEqual({});
  });

  const toFile = ['--to', 'out.csv'];
  const forward = ['--forward', 'https://hooks.example.com'];
  const every = {
    format: 'jsonl',
    columns: ['name'],
    gzip: true,
    ifExists: 'overwrite',
    extra: true,
    bom: true,
    guardFormulas: false,
    batch: 10,
    deliveries: 2,
    deliveryRate: '10/s',
    onDead: 'park',
    secretFile: 's.txt',
    allowAddress: ['a', 'b'],
    concurrency: 2,
    commitEvery: 9,
    onExpired: 'restart-partition',
    trustFilesystem: true,
  };
  const csv = { columns: ['name'], gzip: true, extra: true, bom: true, guardFormulas: false };
  const deliveryRate = { requests: 10, per: 1_000 };
  const service = { batch: 10, deliveries: 2, deliveryRate, onDead: 'park', secretFile: '/conf/s.txt' };
  // Monitors need it, too.
  const addresses = { allowAddress: ['a', 'b'] };
  const state = { commitEvery: 9, trustFilesystem: true };
  test.each<[string, string[], Record<string, unknown>]>([
    [
      'a file',
      toFile,
      { ...csv, ...state, ifExists: 'overwrite', concurrency: 2, onExpired: 'restart-partition', to: 'out.csv' },
    ],
    [
      'a file without an ending',
      ['--to', 'out'],
      {
        format: 'jsonl',
        columns: ['name'],
        gzip: true,
        guardFormulas: false,
        extra: true,
        bom: true,
        ...state,
        ifExists: 'overwrite',
        concurrency: 2,
        onExpired: 'restart-partition',
        to: 'out',
      },
    ],
    [
      'a table',
      ['--to', 'a.sqlite#rows'],
      { columns: ['name'], ...state, concurrency: 2, onExpired: 'restart-partition', to: 'a.sqlite#rows' },
    ],
    [
      'a file of JSON Lines',
      ['--to', 'a.jsonl'],
      {
        columns: ['name'],
        gzip: true,
        guardFormulas: false,
        ...state,
        ifExists: 'overwrite',
        concurrency: 2,
        onExpired: 'restart-partition',
        to: 'a.jsonl',
      },
    ],
    ['stdout', ['--to', '-'], { ...csv, format: 'jsonl', concurrency: 2, to: '-' }],
    ['a bound', ['--to', '-', '--max-rows', '9'], { ...csv, format: 'jsonl', maxRows: 9, to: '-' }],
    ['a service', forward, { ...service, ...state, concurrency: 2, forward: forward[1] }],
    ["a plugin's sink", ['--to', 'db:x'], { ...state, concurrency: 2, to: 'db:x' }],
  ])('that do not go with %s are left out', (_, args, expected) => {
    expect(optionsOf('nfts export', args, every)).toEqual({ ...addresses, ...expected });
  });

  test('of a monitor are left out if the command line names another one', () => {
    const [ping, pingFile] = ['https://h.example/a', 'ping.txt'];
    expect(optionsOf('nfts export', [], { ping })).toEqual({ ping });
    expect(optionsOf('nfts export', ['--ping-file', 'other.txt'], { ping })).toEqual({ pingFile: 'other.txt' });
    expect(optionsOf('nfts export', ['--ping', ping], { pingFile })).toEqual({ ping });
    expect(optionsOf('nfts export', [], { pingFile })).toEqual({ pingFile: '/conf/ping.txt' });
    expect(optionsOf('nfts export', [], { pingFile }, { SLUICE_PING: ping })).toEqual({});
  });

  test('of a format for people are left out of a file of changes', () => {
    expect(optionsOf('streams watch', ['--to', 'changes'], { format: 'text' })).toEqual({ to: 'changes' });
    expect(optionsOf('streams watch', [], { format: 'text' })).toEqual({ format: 'text' });
  });
});

describe('a default is refused with its place', () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      'an unknown name',
      { concurency: 4 },
      'defaults of sluice.config.json has an unknown option "concurency". Did you mean concurrency?',
    ],
    [
      'a name with a hyphen',
      { 'page-size': 4 },
      'defaults of sluice.config.json has an unknown option "page-size". Did you mean pageSize?',
    ],
    [
      'a wrong value',
      { timeout: 30 },
      'defaults.timeout of sluice.config.json is 30. Give a number with its unit: 300ms, 30s, 5m, 1h or 1d.',
    ],
    [
      'none of the choices',
      { progress: 'loud' },
      'defaults.progress of sluice.config.json is "loud". Allowed choices are bar, plain, json, none.',
    ],
    ['text for a truth value', { gzip: 'yes' }, 'defaults.gzip of sluice.config.json is "yes". Give true or false.'],
    [
      'a truth value for text',
      { rate: true },
      'defaults.rate of sluice.config.json is true. Give it as a text, as on the command line.',
    ],
    ['null', { rate: null }, 'defaults.rate of sluice.config.json is null. Give it as a text, as on the command line.'],
    [
      'a list for one value',
      { rate: ['5/s'] },
      "defaults.rate of sluice.config.json is [ '5/s' ]. Give one value, not a list.",
    ],
    [
      'a list of lists',
      { owner: [['0x1']] },
      "defaults.owner of sluice.config.json is [ [ '0x1' ] ]. Give a list of texts.",
    ],
    [
      'what is for one run',
      { restart: true },
      'defaults.restart of sluice.config.json: --restart is for a single run. Give it on the command line instead.',
    ],
    [
      'a target',
      { to: 'out.csv' },
      'defaults.to of sluice.config.json: --to is for a single run. Give it on the command line instead.',
    ],
  ])('%s', (_, defaults, sentence) => {
    // Whichever command is run.
    for (const name of ['nfts export', 'streams list'] as const)
      expect(() => optionsOf(name, [], defaults)).toThrow(new UsageError(sentence));
  });

  test('without showing more of a value than its beginning', () => {
    expect(() => optionsOf('streams list', [], { rate: `x${'y'.repeat(99)}` })).toThrow(/is "xy{38}…\. /);
  });
});

/** What the type of the defaults has, which the compiler compares. */
const known: Readonly<Record<keyof Defaults, true>> = {
  streamsUrl: true,
  aptosUrl: true,
  apiKeyFile: true,
  rate: true,
  timeout: true,
  retryFor: true,
  maxRetryAfter: true,
  maxTime: true,
  pageSize: true,
  concurrency: true,
  ownersPerRequest: true,
  owner: true,
  ownersFile: true,
  includeCollections: true,
  excludeCollections: true,
  only: true,
  key: true,
  format: true,
  columns: true,
  gzip: true,
  ifExists: true,
  guardFormulas: true,
  extra: true,
  bom: true,
  strictTypes: true,
  secretFile: true,
  headerFile: true,
  allowAddress: true,
  deliveries: true,
  deliveryRate: true,
  batch: true,
  maxDeadLetters: true,
  maxSpool: true,
  onDead: true,
  onExpired: true,
  resumeWithin: true,
  maxRemoved: true,
  requireTotal: true,
  repeats: true,
  commitEvery: true,
  trustFilesystem: true,
  every: true,
  jitter: true,
  maxFailures: true,
  rule: true,
  limit: true,
  ping: true,
  pingFile: true,
  progress: true,
  quiet: true,
};

test('the type of the defaults has every option that may stand there, with its choices, and no other', () => {
  const options = Object.values(lines)
    .map((line) => line.options.flatMap((group) => Object.entries<Option<unknown>>(group.options)))
    .filter((each) => each.some(([name]) => name === 'config'))
    .flat();
  const wanted = options.filter(([, { isForOneRun = false }]) => !isForOneRun).map(([name]) => name);
  expect(Object.keys(known).toSorted()).toEqual([...new Set(wanted)].toSorted());
  type All = CommandOptions<'nfts export'> &
    CommandOptions<'watch'> &
    CommandOptions<'streams watch'> &
    CommandOptions<'cluster work'>;
  type Choices = 'ifExists' | 'onDead' | 'onExpired' | 'only' | 'gzip' | 'guardFormulas' | 'limit' | 'quiet';
  expectTypeOf<Pick<Defaults, Choices>>().toEqualTypeOf<Pick<All, Choices>>();
  type Varied = CommandOptions<(typeof names)[number] | 'sources'>;
  expectTypeOf<Defaults['format']>().toEqualTypeOf<Varied['format']>();
  expectTypeOf<Defaults['progress']>().toEqualTypeOf<Varied['progress']>();
});

test('options of one name have the same traits in all commands', () => {
  const traits = new Map<string, object>();
  for (const { options } of Object.values(lines).flatMap((line): readonly OptionGroup[] => line.options))
    for (const [name, { about, isForOneRun, isPath, variable }] of Object.entries(options)) {
      const own = { about, isForOneRun, isPath, variable };
      expect({ name, ...own }).toEqual({ name, ...(traits.get(name) ?? own) });
      traits.set(name, own);
    }
});
