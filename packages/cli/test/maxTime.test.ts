import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startReceiver, startSandbox, type Fault, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { redisProgram, startRedis } from '../../../test/kit/redisServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { Failure, TimeUp } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { judgeTimeUp } from '../src/watch/timeUp.js';
import { configFolder } from './config/configFolder.js';
import { folderWithSecret, forwardArgs, forwardTo, forwardWatchArgs, placesFor, secret } from './forwarding.js';
import { exportArgs, exportedIn } from './interruptedExport.js';
import { journal } from './journal.js';
import { settingsFor, sluice, startSluice, type Outcome } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';
import { changesInFile, folded, listed, listenTo, watchArgs } from './watching.js';

const never: Fault = { kind: 'never' };

interface Slice {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What its time is over at. */
  readonly at: (sandbox: Sandbox) => Promise<unknown>;
}

/** Runs a command whose time is over when something has happened, so that no test depends on how busy a machine is. */
async function slice(sandbox: Sandbox, args: readonly string[], { cwd, env, at }: Slice): Promise<Outcome> {
  const environment = testEnvironment({ folder: cwd, variables: { ...settingsFor(sandbox), ...env } });
  const running = main([...args, '--max-time', '1h'], environment);
  await Promise.race([at(sandbox), running]);
  environment.interrupt(new TimeUp());
  return { code: await running, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

const requested =
  (more: number) =>
  (sandbox: Sandbox): Promise<void> => {
    const { requests } = sandbox.counts;
    return sandbox.until(() => sandbox.counts.requests >= requests + more);
  };

/** The same, for a command whose time is over when it has said something. */
async function runUntil(
  sandbox: Sandbox,
  args: readonly string[],
  { cwd, said }: { readonly cwd: string; readonly said: RegExp },
): Promise<Outcome> {
  const environment = testEnvironment({ folder: cwd, variables: settingsFor(sandbox) });
  const running = main([...args, '--max-time', '1h'], environment);
  await expect.poll(() => environment.written.stderr(), { timeout: 60_000 }).toMatch(said);
  environment.interrupt(new TimeUp());
  return { code: await running, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

describe('an export with --max-time', () => {
  test('T4 commits, says what is left, and ends with 75; the same command goes on', async () => {
    await using sandbox = await startSandbox({ holdings: 2_000, owners: 1, latency: 1 });
    const undisturbed = temporaryFolder();
    expect((await sluice(exportArgs(sandbox, 'out.csv'), { env: settingsFor(sandbox), cwd: undisturbed })).code).toBe(
      0,
    );
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv');
    const first = await slice(sandbox, args, { cwd, at: requested(8) });
    expect(first).toMatchObject({ code: 75, stdout: '' });
    expect(first.stderr).toMatch(
      /^sluice: Stopped by --max-time\. [\d,]+ rows committed(, and [\d,]+ are left)?\. Run the same command to resume\.\n$/,
    );
    expect(await slice(sandbox, args, { cwd, at: () => new Promise(() => undefined) })).toMatchObject({ code: 0 });
    expect(exportedIn(cwd)).toEqual(exportedIn(undisturbed));
  });

  test('T4 50 slices give together the bytes of one run', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 4_000, owners: 5, latency: 1 });
    const args = exportArgs(sandbox, 'out.csv.gz', '--page-size', '20', '--owners-per-request', '1', '--quiet');
    const undisturbed = temporaryFolder();
    expect((await sluice(args, { env: settingsFor(sandbox), cwd: undisturbed })).code).toBe(0);
    const cwd = temporaryFolder();
    const codes: (number | null)[] = [];
    // The third request is sent when the export has taken the first page, which it then commits.
    while ((codes.at(-1) ?? 75) === 75) codes.push((await slice(sandbox, args, { cwd, at: requested(3) })).code);
    expect(codes.length).toBeGreaterThanOrEqual(50);
    expect(new Set(codes)).toEqual(new Set([75, 0]));
    expect(exportedIn(cwd)).toEqual(exportedIn(undisturbed));
  });

  test('T4 that is too short to commit anything fails, so that nobody repeats it for ever', async () => {
    await using sandbox = await startSandbox({ holdings: 2_000, latency: 1 });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv');
    const hanging = await startSandbox({ holdings: 2_000, script: () => never });
    onTestEnd(() => hanging.close());
    const nothing = 'sluice: Nothing new was committed within --max-time. Give it more time.';
    expect(await slice(hanging, args, { cwd, at: requested(1) })).toEqual({
      code: 1,
      stdout: '',
      stderr: `${nothing}\n`,
    });
    // A webhook has a position before its first record.
    await using receiver = await startReceiver({ secrets: [secret] });
    const forwarding = forwardArgs(sandbox, receiver, '--quiet');
    for (const more of [[], ['--restart']])
      expect(
        await slice(hanging, [...forwarding, ...more], { cwd: folderWithSecret(), at: requested(1) }),
      ).toMatchObject({ code: 1, stderr: expect.stringContaining(nothing) as string });
  });

  test('T4 fails as well if it only had what the slice before had committed', async () => {
    let isHanging = false;
    await using sandbox = await startSandbox({
      holdings: 2_000,
      latency: 1,
      script: () => (isHanging ? never : undefined),
    });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv');
    expect((await slice(sandbox, args, { cwd, at: requested(8) })).code).toBe(75);
    isHanging = true;
    const second = await slice(sandbox, args, { cwd, at: requested(1) });
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /\nsluice: Nothing new was committed within --max-time\. Give it more time\. [\d,]+ rows committed; run the same command to resume\.\n$/,
      ) as string,
    });
    isHanging = false;
    const third = await slice(sandbox, args, { cwd, at: requested(4) });
    expect(third.code).toBe(75);
  });

  test('T4 counts what a run with --restart has committed', async () => {
    await using sandbox = await startSandbox({ holdings: 2_000, latency: 1 });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv');
    expect((await slice(sandbox, args, { cwd, at: requested(12) })).code).toBe(75);
    const again = await slice(sandbox, [...args, '--restart'], { cwd, at: requested(6) });
    expect(again).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/ Run the same command without --restart to resume\.\n$/) as string,
    });
  });

  test('T4 to stdout fails, since nothing could go on', async () => {
    await using sandbox = await startSandbox({ holdings: 2_000, latency: 1 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--quiet', '--rate', 'unlimited'];
    const { code, stderr } = await slice(sandbox, args, { cwd: temporaryFolder(), at: requested(4) });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'sluice: Stopped by --max-time. An export to stdout cannot be resumed.\n',
    });
  });

  test('W1 dead letters are named, and 75 goes before 3', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 2_000, latency: 1 });
    let requests = 0;
    await using receiver = await startReceiver({
      secrets: [secret],
      script: () => ((requests += 1) === 3 ? { status: 422 } : 'ok'),
    });
    const cwd = folderWithSecret();
    const { dead } = placesFor(receiver);
    const args = forwardArgs(sandbox, receiver, '--page-size', '10', '--quiet');
    const at = () => receiver.until(() => receiver.accepted.size > 100);
    const { code, stderr } = await slice(sandbox, args, { cwd, at });
    expect(code).toBe(75);
    expect(stderr).toContain(`sluice: Stopped by --max-time. 1 record was set aside in ${dead}. At least `);
  });

  test(
    'W1 records that a webhook has settled are progress, though their page is not committed',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 200, owners: 1 });
      let most = 5;
      const hold = new Promise<void>(() => undefined);
      await using receiver = await startReceiver({
        secrets: [secret],
        onRequest: () => (receiver.accepted.size >= most ? hold : undefined),
      });
      const cwd = folderWithSecret();
      const args = forwardArgs(sandbox, receiver, '--deliveries', '1', '--quiet');
      const run = () => slice(sandbox, args, { cwd, at: () => receiver.until(() => receiver.accepted.size >= most) });
      expect((await run()).code).toBe(75);
      most = 8;
      expect((await run()).code).toBe(75);
      expect(receiver.accepted.size).toBe(8);
    },
  );

  test('T7 ends at once in a pause that is longer than its time', { tags: ['slow'] }, async () => {
    const refusal: Fault = { kind: 'status', status: 429, headers: { 'retry-after': '7200' } };
    await using sandbox = await startSandbox({ holdings: 2_000, script: ({ n }) => (n > 3 ? refusal : undefined) });
    const args = exportArgs(sandbox, 'out.csv', '--max-retry-after', '1d', '--quiet', '--max-time', '1h');
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd: temporaryFolder() });
    expect({ code, stderr }).toEqual({
      code: 75,
      stderr: expect.stringMatching(
        /^sluice: Stopped: the next request may start at \d{4}-\d\d-\d\d \d\d:\d\d UTC, after the end of --max-time\. 300 rows committed[^\n]*\. Run the same command to resume\.\n$/,
      ) as string,
    });
  });

  test(
    'T4 SIGTERM while it closes changes nothing, and a second signal ends it at once',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 2_000 });
      await using receiver = await startReceiver({
        secrets: [secret],
        // What is open keeps it closing for as long as it may commit.
        onRequest: () => (receiver.accepted.size >= 400 ? new Promise(() => undefined) : undefined),
      });
      for (const signals of [['SIGTERM'], ['SIGTERM', 'SIGINT']] as const) {
        const cwd = folderWithSecret();
        const args = forwardArgs(sandbox, receiver, '--progress', 'plain', '--max-time', '2s');
        const { process, ended } = startSluice(args, { env: settingsFor(sandbox), cwd });
        await listenTo(process.stderr).until(/Stopping: /);
        for (const signal of signals) process.kill(signal);
        const { code } = await ended;
        // Of two that wait for a busy process the system hands over whichever it likes first.
        expect(signals.length === 1 ? [75, 1] : [130, 143]).toContain(code);
      }
    },
  );
});

describe('--max-time itself', () => {
  test.each([
    ['0s', 'It must be longer than zero.'],
    ['soon', 'Give a number with its unit: 300ms, 30s, 5m, 1h or 1d.'],
    ['15', 'Give a number with its unit: 300ms, 30s, 5m, 1h or 1d.'],
  ])('%s is refused before any request', async (value, sentence) => {
    await using sandbox = await startSandbox();
    for (const args of [exportArgs(sandbox, 'out.csv'), watchArgs(), ['cluster', 'work']]) {
      const { code, stderr } = await sluice([...args, '--max-time', value], { env: settingsFor(sandbox) });
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) as string });
    }
    expect(sandbox.counts.requests).toBe(0);
  });

  test('may be a default of the configuration, and applies to a watch on stdout, too', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify({ defaults: { maxTime: '0s' } }));
    const { code, stderr } = await sluice(watchArgs(), { env: settingsFor(sandbox), cwd });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('defaults.maxTime of sluice.config.json is "0s"') as string,
    });
    writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify({ defaults: { maxTime: '50ms' } }));
    const ended = await sluice(['streams', 'watch', '--every', '1h'], { env: settingsFor(sandbox), cwd });
    // Within so little time it may not have polled.
    expect([0, 1]).toContain(ended.code);
  });
});

const databases: readonly (readonly [what: string, open: () => Promise<readonly string[]>])[] = [
  ['a table of PostgreSQL', async () => ['--to', `${(await openDatabase()).url}?table=streams`]],
  [
    'a database',
    async () => ['--to', 'journal:changes.jsonl', '--state', `${(await openDatabase()).url}?name=streams`],
  ],
];

describe('a watch with --max-time', () => {
  const between = ['--every', '1h', '--to', 'changes.jsonl'];

  test('C4 that owes nothing ends with 0, and the next one goes on', async () => {
    await using sandbox = await startSandbox({ streams: 6 });
    const cwd = temporaryFolder();
    const args = ['streams', 'watch', ...between, '--progress', 'json'];
    const run = () => runUntil(sandbox, args, { cwd, said: /"event":"poll"/ });
    expect((await run()).code).toBe(0);
    sandbox.setStream(2, { status: 'another' });
    expect((await run()).code).toBe(0);
    expect(folded(changesInFile(join(cwd, 'changes.jsonl')))).toEqual(listed(sandbox));
  });

  test('C4 in the middle of a poll ends with 75; if none succeeds in two runs in a row, with 1', async () => {
    let isHanging = true;
    await using sandbox = await startSandbox({ streams: 6, script: () => (isHanging ? never : undefined) });
    const cwd = temporaryFolder();
    const args = ['streams', 'watch', ...between, '--quiet'];
    const run = () => slice(sandbox, args, { cwd, at: requested(1) });
    const middle = 'sluice: Stopped by --max-time in the middle of a poll.';
    expect(await run()).toEqual({
      code: 75,
      stdout: '',
      stderr: `${middle} No poll has succeeded yet: run the same command again.\n`,
    });
    for (const runs of [2, 3])
      expect(await run()).toEqual({
        code: 1,
        stdout: '',
        stderr: `sluice: No poll has succeeded in ${String(runs)} runs in a row, each ended by --max-time. A poll can't be resumed: give it more time, or watch a narrower listing.\n`,
      });
    isHanging = false;
    expect((await sluice([...args, '--max-time', '1h', '--polls', '1'], { env: settingsFor(sandbox), cwd })).code).toBe(
      0,
    );
    isHanging = true;
    expect(await run()).toEqual({
      code: 75,
      stdout: '',
      stderr: `${middle} The state is in changes.jsonl.sluice; run the same command to resume.\n`,
    });
  });

  /** Where the state of a watch may be, besides a folder. */
  const places: readonly (readonly [what: string, open: () => Promise<readonly string[]>])[] = [
    ['a table of SQLite', () => Promise.resolve(['--to', 'streams.sqlite#streams'])],
    ["a plugin's store", () => Promise.resolve(['--to', 'journal:changes.jsonl', '--state', 'kept:known.json'])],
    ...(postgresPrograms === undefined ? [] : databases),
  ];

  test.each(places)(
    'T7 counts the runs in vain with its state in %s, and a pause is none',
    { tags: ['slow'] },
    async (_, open) => {
      let isAway: Fault | undefined = never;
      await using sandbox = await startSandbox({ streams: 6, nasty: 0, script: () => isAway });
      const cwd = configFolder({ 'sluice.config.js': journal });
      const args = ['streams', 'watch', ...(await open()), '--every', '1h', '--quiet'];
      const run = () => slice(sandbox, args, { cwd, at: requested(1) });
      const inVain = async (runs: number): Promise<void> => {
        const { code, stderr } = await run();
        const sentence =
          runs === 1
            ? 'Stopped by --max-time in the middle of a poll.'
            : `No poll has succeeded in ${runs} runs in a row`;
        expect({ code, stderr }).toEqual({
          code: runs === 1 ? 75 : 1,
          stderr: expect.stringContaining(sentence) as string,
        });
      };
      await inVain(1);
      isAway = { kind: 'status', status: 429, headers: { 'retry-after': '7200' } };
      const paused = await sluice([...args, '--max-retry-after', '1d', '--max-time', '1h'], {
        env: settingsFor(sandbox),
        cwd,
      });
      expect(paused).toMatchObject({
        code: 75,
        stderr: expect.stringMatching(/^sluice: Stopped: the next request may start at [^,]+, after the end/) as string,
      });
      isAway = never;
      await inVain(2);
      isAway = undefined;
      const polled = await sluice([...args, '--polls', '1'], { env: settingsFor(sandbox), cwd });
      expect(polled).toEqual({ code: 0, stdout: '', stderr: '' });
      isAway = never;
      await inVain(1);
    },
  );

  test('C9 after polls that failed ends with 75, and then with 1 and their error', async () => {
    let isGone = false;
    const gone: Fault = { kind: 'status', status: 404 };
    await using sandbox = await startSandbox({ streams: 6, script: () => (isGone ? gone : undefined) });
    const cwd = temporaryFolder();
    const args = ['streams', 'watch', ...between, '--progress', 'json'];
    expect((await sluice([...args, '--polls', '1'], { env: settingsFor(sandbox), cwd })).code).toBe(0);
    isGone = true;
    const run = () => runUntil(sandbox, args, { cwd, said: /"outcome":"failed"/ });
    expect(await run()).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(
        /Stopped by --max-time after a failed poll: streams\.list: the server responded with 404/,
      ) as string,
    });
    expect(await run()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/"failed","message":"streams\.list: the server responded with 404/) as string,
    });
  });

  test(
    'W1 that has not delivered all changes ends with 75, and the next one delivers them',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 20 });
      let isHolding = true;
      await using receiver = await startReceiver({
        secrets: [secret],
        script: () => (isHolding && receiver.counts.accepted >= 5 ? { status: 503 } : 'ok'),
      });
      const cwd = folderWithSecret();
      const args = forwardWatchArgs(receiver, '--every', '1h', '--deliveries', '1', '--quiet');
      const at = () => receiver.until(() => receiver.counts.requests > 5);
      const { code, stderr } = await slice(sandbox, args, { cwd, at });
      expect({ code, stderr }).toEqual({
        code: 75,
        stderr: expect.stringMatching(
          /^sluice: Stopped by --max-time: \d+ changes are not delivered yet\. The state is in /,
        ) as string,
      });
      isHolding = false;
      const done = await slice(sandbox, args, { cwd, at: () => receiver.until(() => receiver.counts.accepted >= 20) });
      expect([0, 75]).toContain(done.code);
      expect(receiver.accepted.size).toBe(20);
    },
  );

  test('without a state has done its duty once a poll has succeeded, and failed otherwise', async () => {
    await using sandbox = await startSandbox({ streams: 6, script: ({ n }) => (n > 3 ? never : undefined) });
    const args = watchArgs('--quiet');
    const run = (requests: number) => slice(sandbox, args, { cwd: temporaryFolder(), at: requested(requests) });
    expect(await run(4)).toMatchObject({ code: 0, stderr: '' });
    expect(await run(1)).toMatchObject({
      code: 1,
      stderr:
        "sluice: Stopped by --max-time. No poll has succeeded, and without --state it can't go on: give it more time.\n",
    });
  });
});

const idle = {
  succeeded: 3,
  last: { outcome: 'polled' },
  lastError: '',
  isPolling: false,
  isTaken: true,
  waiting: 0,
  inVain: 0,
} as const;
const error = new Failure('No answer.');
const failed = { outcome: 'failed', error } as const;

test.each([
  ['nothing', {}, undefined],
  ['a poll', { isPolling: true }, 'Stopped by --max-time in the middle of a poll.'],
  ['a poll that failed', { last: failed, lastError: 'No.' }, 'Stopped by --max-time after a failed poll: No.'],
  ['deliveries', { waiting: 2 }, 'Stopped by --max-time: 2 changes are not delivered yet.'],
  ['a commit', { isTaken: false }, 'Stopped by --max-time before its target had taken the last changes.'],
  ['all', { succeeded: 0, last: undefined, inVain: 1 }, 'Stopped by --max-time before the first poll.'],
  ['the error of failed polls', { succeeded: 0, last: failed, inVain: 2 }, 'No answer.'],
  ['nothing without a state, though it polls', { inVain: undefined, isPolling: true }, undefined],
])('a watch whose time is over owes %s', (_, watch, message) => {
  expect(judgeTimeUp(new TimeUp(), { ...idle, ...watch })?.message).toBe(message);
});

test('W4 a replay with --max-time ends with 75 if it has settled a letter, else with 1', async () => {
  await using sandbox = await startSandbox({ holdings: 1 });
  let isHolding = false;
  await using receiver = await startReceiver({
    secrets: [secret],
    script: () => (isHolding ? { status: 503 } : 'ok'),
  });
  const cwd = folderWithSecret();
  const letter = (n: number) => {
    const id = `record-${String(n)}`;
    const record = { id, type: 'test.row', sequence: n, data: { n } };
    const of = { attempts: 1, status: 422, answer: '', at: '2024-02-29T12:00:00.000Z', run: 'run' };
    return `${JSON.stringify({ id, key: id, ...of, record })}\n`;
  };
  writeFileSync(join(cwd, 'dead.jsonl'), [1, 2, 3].map(letter).join(''), { mode: 0o600 });
  const args = ['dlq', 'replay', 'dead.jsonl', ...forwardTo(receiver, '--to'), '--retry-for', 'forever', '--quiet'];
  const at = (requests: number) => async () => {
    const before = receiver.counts.requests;
    await receiver.until(() => {
      isHolding ||= receiver.counts.accepted > 0;
      return receiver.counts.requests >= before + requests;
    });
  };
  const first = await slice(sandbox, args, { cwd, at: at(3) });
  expect([0, 75]).toContain(first.code);
  expect(first.stderr).toMatch(/^sluice: Stopped by --max-time\. 1 dead letter is replayed, and none is lost\. /);
  expect(await slice(sandbox, args, { cwd, at: at(1) })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^sluice: No dead letter was accepted within --max-time\. Give it more time\. /,
    ) as string,
  });
});

describe.runIf(redisProgram !== undefined)('a worker with --max-time', () => {
  test('K1 ends with 75 while a run is left, and with 0 once there is none', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 900, owners: 8, latency: 10 });
    const server = await startRedis();
    onTestEnd(() => server.close());
    const cwd = temporaryFolder();
    const env = { SLUICE_REDIS_URL: `redis://127.0.0.1:${String(server.port)}` };
    const wallets = ['--owner', ...sandbox.owners, '--owners-per-request', '1', '--page-size', '20'];
    const options = { cwd, env: { ...settingsFor(sandbox), ...env } };
    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], options);
    const args = ['cluster', 'work', '--rate', 'unlimited', '--concurrency', '1', '--quiet'];
    const first = await slice(sandbox, args, { cwd, env, at: requested(4) });
    expect(first).toEqual({ code: 75, stdout: '', stderr: 'sluice: Stopped by --max-time. 1 run is left: run.\n' });
    expect(await sluice([...args, '--until-done', '--max-time', '1h'], options)).toMatchObject({ code: 0, stderr: '' });
    expect(await sluice([...args, '--max-time', '50ms'], options)).toMatchObject({ code: 0, stderr: '' });
    await sluice(['cluster', 'merge', 'run', '--to', 'rows.csv'], options);
    await sluice(['nfts', 'export', ...wallets, '--rate', 'unlimited', '--to', 'single.csv'], options);
    expect(readFileSync(join(cwd, 'rows.csv'))).toEqual(readFileSync(join(cwd, 'single.csv')));
  });
});
