import { cpSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { main } from '../src/program.js';
import { bash, settingsFor, sluice, startShell, startSluice, type RunOptions } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment } from './testEnvironment.js';

/** An address where nobody answers: whoever asks it gets another fault than the expected one. */
const settings = settingsFor({
  apiKey: 'canary-5f1d77a1e0',
  streamsUrl: 'http://127.0.0.1:1',
  aptosUrl: 'http://127.0.0.1:1',
});
const exportNfts = ['nfts', 'export', '--owner', '0x1', '--to', 'out.csv'];
const exportStreams = ['streams', 'export', '--to', 'out.csv'];

/** Runs it in a folder of its own, and expects one calm sentence, no stack trace, no key, and no file. */
async function refused(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const cwd = options.cwd ?? temporaryFolder();
  const before = readdirSync(cwd).toSorted();
  const { code, stdout, stderr } = await sluice(args, { env: settings, ...options, cwd });
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^sluice: [^\n]+\n$/),
  });
  expect(stderr).not.toMatch(/ {4}at |node:internal|canary/);
  expect((await readdir(cwd)).toSorted()).toEqual(before);
  return stderr;
}

test.each([
  ['an unknown option', ['nfts', 'export', '--ownr', '0x1'], "Unknown option '--ownr' (Did you mean --owner?)"],
  [
    'a parameter of another source',
    ['export', 'streams.list', '--owner', '0x1'],
    "Unknown option '--owner'. See --help.",
  ],
  [
    'an increment of an API that has none',
    ['nfts', 'export', '--incremental'],
    'To see what changed since the last run, use "watch --polls 1 --state DIR" in place of "export".',
  ],
  ['an unknown command', ['nfts', 'exprt'], "Unknown command 'exprt' (Did you mean export?)"],
  ['no target', ['nfts', 'export', '--owner', '0x1'], 'Where to? Give --to FILE'],
  [
    'a malformed owner',
    ['nfts', 'export', '--owner', '0xzz', '--to', 'out.csv'],
    '--owner: "0xzz" is not an account address',
  ],
  [
    'a page of 0 holdings',
    [...exportNfts, '--page-size', '0'],
    '--page-size is 0: it must be a whole number of at least 1.',
  ],
  [
    'a page of 0 streams',
    [...exportStreams, '--page-size', '0'],
    '--page-size is 0: it must be a whole number from 1 to 100.',
  ],
  [
    'a page of 101 streams',
    [...exportStreams, '--page-size', '101'],
    '--page-size is 101: it must be a whole number from 1 to 100.',
  ],
  [
    'a page of 1.5 streams',
    ['streams', 'list', '--page-size', '1.5'],
    '--page-size is 1.5: it must be a whole number from 1 to 100.',
  ],
  ['an unknown column', [...exportNfts, '--columns', 'name,nmae'], 'There is no column "nmae". Did you mean name?'],
  ['an address in the open', [...exportNfts, '--aptos-url', 'http://example.com'], 'is not encrypted'],
  ['a sandbox with too many nasty rows', ['sandbox', '--nasty', '2'], '--nasty is 2: give a number from 0 to 1.'],
])('%s is refused with exit code 2 and a sentence that helps', async (_, args, sentence) => {
  expect(await refused(args)).toContain(sentence);
});

test.each([
  ['an argument too many', ['streams', 'list', 'all'], 'Too many arguments'],
  [
    'a value that is none of the choices',
    [...exportNfts, '--progress', 'loud'],
    'Allowed choices are bar, plain, json, none.',
  ],
  ['a target without a format', ['streams', 'export', '--to', 'out.txt'], 'End the name in .csv, .jsonl or .parquet'],
  ['no owner', ['nfts', 'export', '--to', 'out.csv'], 'Give --owner ADDRESS, or --owners-file FILE.'],
  ['an empty owner', ['nfts', 'export', '--owner', '', '--to', 'out.csv'], '--owner: "" is not an account address'],
  ['a page of 1.5 holdings', [...exportNfts, '--page-size', '1.5'], '--page-size is 1.5'],
  ['a page size that is no number', [...exportNfts, '--page-size', 'ten'], 'Give a number.'],
  ...['abc', 'half%', '1e3', ''].map((share): [string, string[], string] => [
    `"${share}" as the rows that may be removed`,
    [...exportNfts, '--max-removed', share],
    'Give a whole number of rows, or a share from 0% to 100%, as 50% or 0.5.',
  ]),
  ['no rows at all', [...exportNfts, '--max-rows', '0'], '--max-rows is 0'],
  ['an offset below zero', [...exportNfts, '--offset', '-1'], '--offset is -1'],
  ['no concurrency', [...exportNfts, '--concurrency', '0'], '--concurrency is 0'],
  [
    'chance over the first rows',
    [...exportNfts, '--concurrency', '2', '--max-rows', '9'],
    '--max-rows goes with --concurrency 1 only',
  ],
  [
    'an unknown column in a table',
    ['streams', 'list', '--format', 'table', '--columns', 'sttus'],
    'There is no column "sttus". Did you mean status?',
  ],
  ['a column that is named twice', [...exportNfts, '--columns', 'name,name'], 'named twice'],
  ['an empty list of columns', [...exportNfts, '--columns', ''], 'Give names with commas between them'],
  ['no pages between two commits', [...exportNfts, '--commit-every', '0'], '--commit-every is 0'],
  ['a choice for expired cursors that is none', [...exportNfts, '--on-expired', 'wait'], 'fail, restart-partition.'],
  [
    'to take back rows of stdout',
    ['streams', 'export', '--to', '-', '--on-expired', 'restart-partition'],
    '--on-expired needs a file: an export to stdout cannot be resumed.',
  ],
  ['to break a lock of stdout', ['streams', 'export', '--to', '-', '--break-lock'], '--break-lock needs a file'],
  ['a checkpoint of nothing', ['checkpoint', 'show'], "Missing required argument 'file'"],
  ['a mark for CSV in JSON Lines', ['streams', 'export', '--to', 'out.jsonl', '--bom'], '--bom is for CSV only'],
  ['a rate without a unit', [...exportNfts, '--rate', '25'], 'like 25/s, 100/m or 40000/d, or unlimited.'],
  ['a deadline without a unit', [...exportNfts, '--timeout', '30'], 'Give a number with its unit'],
  ['a deadline of zero', [...exportNfts, '--timeout', '0s'], 'longer than zero'],
  [
    'an address that is none',
    [...exportNfts, '--aptos-url', 'example'],
    'The base URL of the Aptos NFT API (--aptos-url) is not a URL. Give one like',
  ],
  [
    'an address with a password',
    [...exportNfts, '--aptos-url', 'https://me:canary@example.com'],
    'must not contain a user name or password',
  ],
  ['a sandbox without a rate', ['sandbox', '--rate-limit', '0/s'], 'Give requests per second'],
  [
    'a sandbox with an unknown fault',
    ['sandbox', '--fail', 'boredom=0.1'],
    "--fail boredom can't have a rate: give one of serverError",
  ],
  [
    'a sandbox that fails more than always',
    ['sandbox', '--fail', 'reset=0.6,never=0.6'],
    'The sum of all shares of --fail is 1.2',
  ],
  ['a sandbox on a port that can not be', ['sandbox', '--port', '65536'], '--port is 65536'],
])('%s is refused as well', async (_, args, sentence) => {
  const folder = temporaryFolder();
  const environment = testEnvironment({ variables: settings, folder });
  expect(await main(args, environment)).toBe(2);
  expect(await readdir(folder)).toEqual([]);
  expect(environment.written.stdout()).toBe('');
  expect(environment.written.stderr()).toMatch(/^sluice: [^\n]+\n$/);
  expect(environment.written.stderr()).toContain(sentence);
});

test.each([
  [
    exportStreams,
    { SLUICE_STREAMS_URL: 'example.com' },
    'The base URL of the streams API (SLUICE_STREAMS_URL) is not a URL. Give one like https://api.example.com.',
  ],
  [
    [...exportStreams, '--streams-url', 'example.com'],
    {},
    'The base URL of the streams API (--streams-url) is not a URL. Give one like https://api.example.com.',
  ],
  [
    exportNfts,
    { SLUICE_APTOS_URL: 'http://example.com' },
    'The base URL of the Aptos NFT API (SLUICE_APTOS_URL) is not encrypted (http://example.com), so anyone on the way could read the API key. Use https.',
  ],
  [
    ['export', 'aptos.nfts', '--param', 'ownerAddresses=0x1', '--to', 'out.csv'],
    { SLUICE_APTOS_URL: 'ftp://example.com' },
    'The base URL of the Aptos NFT API (SLUICE_APTOS_URL) must begin with https://. Give one like https://api.example.com.',
  ],
])('%j is refused because of an address, with the place that it came from: %j', async (args, env, sentence) => {
  const environment = testEnvironment({ variables: { ...settings, ...env }, folder: temporaryFolder() });
  expect(await main(args, environment)).toBe(2);
  expect(environment.written.stderr()).toBe(`sluice: ${sentence}\n`);
});

test('a missing key, address or owners file is refused, and the sentence says where to put it', async () => {
  const { SLUICE_API_KEY = '', ...keyless } = settings;
  expect(await refused(exportNfts, { env: keyless })).toContain('There is no API key. Set SLUICE_API_KEY');
  expect(await refused(exportNfts, { env: { ...keyless, SLUICE_API_KEY: ' \n' } })).toContain('There is no API key.');
  expect(await refused(exportNfts, { env: { SLUICE_API_KEY } })).toContain('SLUICE_APTOS_URL, or give --aptos-url');
  expect(await refused(exportStreams, { env: { SLUICE_API_KEY } })).toContain(
    'SLUICE_STREAMS_URL, or give --streams-url',
  );
  expect(await refused(['nfts', 'export', '--to', 'out.csv', '--owners-file', 'gone.txt'])).toContain(
    "The file gone.txt can't be read: it is not there.",
  );
});

test.each([['--api-key'], ['--api-key=canary-5f1d77a1e0'], ['--apikey'], ['-api-key'], ['--API-KEY']])(
  'a key as an argument (%s) is refused, with the reason and the right place',
  async (option) => {
    const said = await refused([...exportNfts, option, 'canary-5f1d77a1e0']);
    expect(said).toContain("The API key can't be an argument, since other users of this machine could read it");
    expect(said).toContain('Set SLUICE_API_KEY, or store it in a file and give --api-key-file FILE.');
  },
);

test('what an unknown option was given is not repeated: it might be a key', async () => {
  expect(await refused([...exportNfts, '--key=canary-5f1d77a1e0'])).toBe(
    "sluice: Unknown option '--key'. See --help.\n",
  );
});

test('a key file that is missing, empty, a folder, or more than a key is refused; neither path nor content is repeated', async () => {
  const cwd = temporaryFolder();
  await mkdir(join(cwd, 'canary-folder'));
  await writeFile(join(cwd, 'canary-empty'), '\n');
  await writeFile(join(cwd, 'canary-many'), 'canary-one canary-two\n');
  const withFile = (file: string) => refused([...exportNfts, '--api-key-file', file], { cwd });
  expect(await withFile('canary-5f1d77a1e0')).toContain(
    "The file that --api-key-file names can't be read: it is not there.",
  );
  expect(await withFile('canary-folder')).toContain('it is a folder');
  expect(await withFile('canary-empty')).toContain('is empty');
  expect(await withFile('canary-many')).toContain('holds more than one word');
});

test("a malformed address in the owners' file is named with its line", async () => {
  const cwd = temporaryFolder();
  await writeFile(join(cwd, 'owners.txt'), '# the treasury\n0x1\n\n0x2 # the second one\nOx3\n');
  expect(await refused(['nfts', 'export', '--owners-file', 'owners.txt', '--to', 'out.csv'], { cwd })).toContain(
    'owners.txt:5: "Ox3" is not an account address: it must be 0x and 1 to 64 hex digits.',
  );
  expect(
    await refused(['nfts', 'export', '--owners-file', '-', '--to', 'out.csv'], { input: '0x1\nbroken\n' }),
  ).toContain('stdin:2: "broken" is not an account address:');
});

test('no request is made before the arguments are known to be right', async () => {
  await using sandbox = await startSandbox();
  const env = settingsFor(sandbox);
  await refused([...exportNfts, '--page-size', '0'], { env });
  await refused([...exportNfts, '--columns', 'nmae'], { env });
  await refused([...exportStreams, '--page-size', '101'], { env });
  expect(sandbox.counts.requests).toBe(0);
});

test('--help and --version need nothing, and say it on stdout', async () => {
  const installed = { isInstalled: true };
  const manifest: unknown = JSON.parse(await readFile(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
  expect(await startSluice(['--version'], installed).ended).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  });
  expect(manifest).toMatchObject({ version: (await sluice(['--version'])).stdout.trim() });
  const { code, stdout, stderr } = await startSluice(['nfts', 'export', '--help'], installed).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const option of ['--owner', '--to', '--rate', '--progress', '--no-guard-formulas', '--on-expired <what>'])
    expect(stdout).toContain(option);
});

test('a command without its subcommand shows what there is, with exit code 2', async () => {
  for (const args of [[], ['nfts'], ['streams'], ['checkpoint'], ['dlq']]) {
    const { code, stdout, stderr } = await sluice(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: sluice');
  }
});

test.runIf(process.platform === 'linux')(
  'a folder that was removed is named, without a stack trace',
  { tags: ['slow'] },
  async () => {
    expect(await bash('rmdir "$PWD" && "$@"', ['sources'], { cwd: temporaryFolder() })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sluice: The current folder was removed. Change to another one, then run it again.\n',
    });
  },
);

describe.runIf(process.platform === 'linux')('after an upgrade removed files of a running command', () => {
  const said = 'sluice: A file of its own is gone, or too many are open. Run the same command again.\n';

  /** A folder with the package as it is installed. */
  function installedCopy(): string {
    const folder = temporaryFolder();
    const from = join(import.meta.dirname, '..');
    for (const name of ['dist', 'package.json']) cpSync(join(from, name), join(folder, name), { recursive: true });
    symlinkSync(join(from, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  }

  test('an error is one sentence, without a stack trace', { tags: ['slow'] }, async () => {
    const cwd = installedCopy();
    const line = 'rm dist/reportError-*.js; "$1" dist/bin.js report none.csv';
    expect(await bash(line, [], { cwd })).toEqual({ code: 1, stdout: '', stderr: said });
  });

  test.each([
    ['SIGTERM', 0, 'watch'],
    ['SIGINT', 130, 'export --to a.csv'],
  ] as const)('%s has its exit code, %d', { tags: ['slow'] }, async (signal, code, command) => {
    await using sandbox = await startSandbox({ latency: 300 });
    const cwd = installedCopy();
    const line = `exec '${process.execPath}' dist/bin.js streams ${command} --page-size 1 --rate unlimited`;
    const running = startShell(line, { cwd, env: settingsFor(sandbox) });
    await vi.waitFor(() => expect(sandbox.counts.requests).toBeGreaterThan(1), 10_000);
    rmSync(join(cwd, 'dist'), { recursive: true });
    running.process.kill(signal);
    expect(await running.ended).toMatchObject({ code, stderr: expect.stringContaining(said) as string });
  });
});
