import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox, type Fault } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { main } from '../src/program.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment } from './testEnvironment.js';
import { changesInFile, listenTo, watchArgs } from './watching.js';

const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
/** Not worth a retry, and once a row was listed no reason for a watch to end. */
const gone: Fault = { kind: 'status', status: 404 };

describe('C9 a poll that fails', () => {
  test('C9 is told with its reason, and so is the first one that succeeds again', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({
      streams: 4,
      script: ({ n }) => (n === 2 || n === 6 || n === 7 ? gone : undefined),
    });
    const { process, ended } = startSluice(watchArgs(), { env: settingsFor(sandbox) });
    await listenTo(process.stderr).until(/again[^]*again/);
    process.kill('SIGINT');
    const { stderr } = await ended;
    const failed = 'A poll failed, and the watch continues: streams\\.list: the server responded with 404';
    expect(stderr.trimEnd().split('\n').slice(0, -1)).toEqual(
      [
        failed,
        'Polls succeed again: 4 streams\\.$',
        'Watching 4 streams, polling every 20 ms\\.$',
        failed,
        failed.replace('failed', 'failed \\(2 in a row\\)'),
        'Polls succeed again: 4 streams\\.$',
      ].map((line): unknown => expect.stringMatching(new RegExp(`^${time} {2}${line}`))),
    );
  });

  test('C9 ends the watch when more than --max-failures follow each other', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 4, script: ({ n }) => (n > 3 ? gone : undefined) });
    const cwd = temporaryFolder();
    const args = watchArgs('--max-failures', '2', '--state', 'known', '--quiet');
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^sluice: streams\.list: the server responded with 404 [^\n]* That was 3 failed polls in a row, more than --max-failures 2 allows\. The state is in known; run the same command to resume\.\n$/,
    );
    expect(sandbox.counts.requests).toBe(6);
  });

  test('C9 ends it as well when nobody answers at all', async () => {
    const sandbox = await startSandbox();
    await sandbox.close();
    const { code, stdout, stderr } = await sluice(watchArgs('--max-failures', '0', '--retry-for', '1s'), {
      env: settingsFor(sandbox),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^sluice: Waiting for up to [^\n]* more \(--retry-for\): [^\n]*\nsluice: [^\n]*ECONNREFUSED[^\n]* That was 1 failed poll in a row, more than --max-failures 0 allows\.\n$/,
    );
  });

  test('C9 with 401 as the first one ends it at once, and leaves nothing behind', async () => {
    await using sandbox = await startSandbox();
    const cwd = temporaryFolder();
    const env = { ...settingsFor(sandbox), SLUICE_API_KEY: 'canary-5f1d77a1e0' };
    const { code, stdout, stderr } = await sluice(watchArgs('--to', 'changes.jsonl'), { env, cwd });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^sluice: streams\.list: the server responded with 401 [^\n]*"sluice doctor" checks the settings\.\n$/,
    );
    expect(stderr).not.toContain('canary');
    expect(await readdir(cwd)).toEqual([]);
  });

  test.each([400, 403, 404, 422])('C9 with %i as the first one ends it at once', async (status) => {
    await using sandbox = await startSandbox({ script: () => ({ kind: 'status', status }) });
    const { code, stderr } = await sluice(watchArgs(), { env: settingsFor(sandbox) });
    expect([code, sandbox.counts.requests]).toEqual([1, 1]);
    expect(stderr).toMatch(new RegExp(`^sluice: streams\\.list: the server responded with ${status} [^\n]*\n$`));
  });

  test.each([
    ['', ['--polls', '1'], 1, ''],
    [', quiet or not', ['--polls', '1', '--quiet'], 1, ''],
    [', with state', ['--polls', '1', '--state', 'known'], 1, ''],
    [
      ' of three',
      ['--polls', '3'],
      3,
      `${time} {2}A poll failed, and the watch continues: [^\n]+\n${time} {2}A poll failed \\(2 in a row\\), and the watch continues: [^\n]+\n`,
    ],
  ])('C9 ends a bounded run with exit code 1 where it was the last one%s', async (_, more, polls, before) => {
    await using sandbox = await startSandbox({ streams: 4, script: ({ n }) => (n > 1 ? gone : undefined) });
    const outcome = await sluice(watchArgs(...more), { env: settingsFor(sandbox), cwd: temporaryFolder() });
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    const end = `That was the last poll that --polls ${String(polls)} allows\\.`;
    expect(outcome.stderr).toMatch(
      new RegExp(`^${before}sluice: streams\\.list: the server responded with 404 [^\n]* ${end}\n$`),
    );
    expect(sandbox.counts.requests).toBe(polls + 1);
  });

  test('C9 but not where one before it failed; what is known is kept either way', { tags: ['slow'] }, async () => {
    let isDown = true;
    await using sandbox = await startSandbox({ streams: 4, script: ({ n }) => (n === 2 || isDown ? gone : undefined) });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = watchArgs('--to', 'changes.jsonl', '--polls', '2');
    isDown = false;
    expect(await sluice(args, options)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/\n4 rows at the start, 0 changes in 2 polls -> changes\.jsonl\n$/),
    });
    isDown = true;
    expect(await sluice(args, options)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /allows\. The state is in changes\.jsonl\.sluice; run the same command to resume\.\n$/,
      ),
    });
    isDown = false;
    expect((await sluice(args, options)).code).toBe(0);
    expect(changesInFile(join(options.cwd, 'changes.jsonl'))).toHaveLength(4);
  });

  test('--progress json tells the failed end of a bounded run as its last event', async () => {
    await using sandbox = await startSandbox({ script: ({ n }) => (n > 1 ? gone : undefined) });
    const args = watchArgs('--polls', '1', '--progress', 'json');
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox) });
    expect(code).toBe(1);
    const [, poll, end, ...more] = stderr
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(poll).toMatchObject({ event: 'poll', outcome: 'failed', failures: 1 });
    expect(end).toMatchObject({ event: 'failed', exitCode: 1, message: expect.stringContaining('--polls 1 allows.') });
    expect(more).toEqual([]);
  });

  test('--progress json tells each poll as an event, and how it ended as the last one', async () => {
    await using sandbox = await startSandbox({ streams: 4, script: ({ n }) => (n > 3 ? gone : undefined) });
    const args = watchArgs('--max-failures', '1', '--progress', 'json');
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox) });
    expect(code).toBe(1);
    const events = stderr.trimEnd().split('\n');
    expect(events.map((line): unknown => JSON.parse(line))).toEqual([
      { event: 'start', source: 'streams.list.changes', target: 'stdout', format: 'text' },
      { event: 'poll', outcome: 'polled', rows: 4, generation: 1, isSynced: true },
      { event: 'poll', outcome: 'polled', rows: 4, generation: 1 },
      {
        event: 'poll',
        outcome: 'failed',
        rows: 4,
        generation: 1,
        failures: 1,
        message: expect.stringContaining('404'),
      },
      { event: 'failed', exitCode: 1, changes: 4, polls: 3, message: expect.stringContaining('--max-failures 1') },
    ]);
  });
});

test.each([
  ['no time between two polls', ['--every', '0s'], 'It must be longer than zero.'],
  ['a time without a unit', ['--every', '30'], 'Give a number with its unit'],
  ['no polls', ['--polls', '0'], '--polls is 0: it must be a whole number of at least 1.'],
  ['a negative number of failures', ['--max-failures', '-1'], '--max-failures is -1'],
  ['more jitter than there is time', ['--jitter', '2'], '--jitter is 2: it must be a share from 0 to 1.'],
  ['something else than the status', ['--only', 'tag'], 'Allowed choices are status.'],
  ['a table', ['--format', 'table'], 'Allowed choices are text, jsonl.'],
  ['text in a file', ['--to', 'changes.jsonl', '--format', 'text'], '--format text is for stdout'],
  ['CSV', ['--to', 'changes.csv'], '--to changes.csv: changes are written as JSON Lines. End the name in .jsonl'],
  ['a file without a format', ['--to', 'changes.txt'], 'End the name in .jsonl'],
  ['a compressed file', ['--to', 'changes.jsonl.gz'], 'Leave out .gz.'],
  ['to forget what is not kept', ['--restart'], '--restart needs --state DIR'],
  ['to break a lock that is not there', ['--to', '-', '--break-lock'], '--break-lock needs --state DIR'],
  ['to replace stdout', ['--if-exists', 'overwrite'], '--if-exists needs a file'],
  ['a state without a name', ['--state', ''], '--state is empty'],
])('%s is refused with exit code 2, before any request', async (_, more, sentence) => {
  await using sandbox = await startSandbox();
  const folder = temporaryFolder();
  const environment = testEnvironment({ variables: settingsFor(sandbox), folder });
  expect(await main(['streams', 'watch', ...more], environment)).toBe(2);
  expect(environment.written.stderr()).toMatch(/^sluice: [^\n]+\n$/);
  expect(environment.written.stderr()).toContain(sentence);
  expect(environment.written.stdout()).toBe('');
  expect(await readdir(folder)).toEqual([]);
  expect(sandbox.counts.requests).toBe(0);
});

test.each([
  ['streams', ['--only <what>', '--streams-url']],
  ['nfts', ['--owner <address...>', '--aptos-url']],
])('sluice %s watch --help lists every option with its default', async (what, own) => {
  const { code, stdout } = await sluice([what, 'watch', '--help']);
  expect(code).toBe(0);
  const shared = [
    '--every',
    '--jitter',
    '--polls',
    '--max-failures',
    '--accept-removals',
    '--format',
    '--to',
    '--if-exists',
  ];
  const kept = ['--state', '--restart', '--break-lock', '--trust-filesystem', '--progress', '--quiet', '--rate'];
  for (const option of [...own, ...shared, ...kept]) expect(stdout).toContain(`\n  ${option}`);
  expect(stdout).toContain('interval between polls (default: 30s)');
});
