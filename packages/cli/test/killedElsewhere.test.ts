import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startReceiver, startSandbox, type Receiver, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { hasContainers, inContainer } from '../../../test/kit/container.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { folderWithSecret, forwardArgs, forwardTo, secret } from './forwarding.js';
import { exportArgs } from './interruptedExport.js';
import { binFor, type Running, type RunOptions, settingsFor, startShell } from './runSluice.js';
import { watchArgs } from './watching.js';
import { quoteForShell } from '../src/terminal/text.js';

interface World {
  readonly sandbox: Sandbox;
  readonly receiver: Receiver;
}

/** What runs, and when it is in the middle of it. */
interface Job {
  readonly args: (world: World) => string[];
  readonly isUnderWay: (world: World) => boolean;
}

const fetches = ({ sandbox }: World): boolean => sandbox.counts.requests > 8;
const delivers = ({ receiver }: World): boolean => receiver.accepted.size > 8;

const jobs: Readonly<Record<string, Job>> = {
  'an export into CSV': { args: ({ sandbox }) => exportArgs(sandbox, 'out.csv'), isUnderWay: fetches },
  'a watch into JSON Lines': { args: () => watchArgs('--to', 'out.jsonl', '--polls', '30'), isUnderWay: fetches },
  'an export into SQLite': { args: ({ sandbox }) => exportArgs(sandbox, 'out.sqlite'), isUnderWay: fetches },
  'an export to a webhook': {
    args: ({ sandbox, receiver }) => forwardArgs(sandbox, receiver, '--quiet'),
    isUnderWay: delivers,
  },
  'a replay of dead letters': {
    args: ({ receiver }) => ['dlq', 'replay', 'dead.jsonl', ...forwardTo(receiver, '--to'), '--quiet'],
    isUnderWay: delivers,
  },
};

/** Starts `sluice` in a container. */
function startInContainer(host: string, args: readonly string[], options: RunOptions, before?: string): Running {
  const line = inContainer(host, [process.execPath, binFor(options), ...args], before);
  return startShell(`exec ${line.map(quoteForShell).join(' ')}`, options);
}

/** Sends a signal to the program of a container. */
function signal({ process: { pid } }: Running, name: NodeJS.Signals): void {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  process.kill(Number(child), name);
}

/** Dead letters, as an export writes them. */
function letters(count: number): string {
  const lines = Array.from({ length: count }, (_, n) => {
    const record = { id: `record-${n}`, type: 'test.row', sequence: n, data: { n } };
    const { id } = record;
    const at = '2024-02-29T12:00:00.000Z';
    return JSON.stringify({ id, key: id, attempts: 1, status: 422, answer: 'no', at, run: 'run', record });
  });
  return `${lines.join('\n')}\n`;
}

const cases = Object.entries(jobs).flatMap(([name, job]) =>
  ['one', 'two'].map((host) => [name, host === 'one' ? 'the same name' : 'another name', host, job] as const),
);

describe.runIf(hasContainers)('E8 in a container of its own,', { tags: ['slow'] }, () => {
  test.each(cases)('%s that is killed is resumed by the same command in one of %s', async (_, _name, host, job) => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    await using receiver = await startReceiver({ secrets: [secret], latency: 5 });
    const world = { sandbox, receiver };
    const options = { env: settingsFor(sandbox), cwd: folderWithSecret() };
    writeFileSync(join(options.cwd, 'dead.jsonl'), letters(200), { mode: 0o600 });
    const first = startInContainer('one', job.args(world), options);
    await Promise.race([sandbox.until(() => job.isUnderWay(world)), receiver.until(() => job.isUnderWay(world))]);
    signal(first, 'SIGKILL');
    expect((await first.ended).code).not.toBe(0);
    const second = await startInContainer(host, job.args(world), options).ended;
    expect(second).toMatchObject({ code: 0, stderr: expect.not.stringContaining('lock') });
    expect((await readdir(options.cwd, { recursive: true })).filter((name) => name.includes('lock-'))).toEqual([]);
  });

  test.each(cases)('%s that is stopped keeps one of %s out, and goes on', async (_, _name, host, job) => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    await using receiver = await startReceiver({ secrets: [secret], latency: 5 });
    const world = { sandbox, receiver };
    const options = { env: settingsFor(sandbox), cwd: folderWithSecret() };
    writeFileSync(join(options.cwd, 'dead.jsonl'), letters(200), { mode: 0o600 });
    const first = startInContainer('one', job.args(world), options);
    await Promise.race([sandbox.until(() => job.isUnderWay(world)), receiver.until(() => job.isUnderWay(world))]);
    signal(first, 'SIGSTOP');
    const more = host === 'one' ? [] : ['--break-lock'];
    expect(await startInContainer(host, [...job.args(world), ...more], options).ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is in use by process 1 on one.'),
    });
    signal(first, 'SIGCONT');
    expect((await first.ended).code).toBe(0);
  });
  test('an export that is killed where no socket can be made needs --break-lock, and says so', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    const cwd = join(temporaryFolder(), 'a path that is too long for a socket'.repeat(4));
    mkdirSync(cwd);
    const options = { env: settingsFor(sandbox), cwd };
    const args = exportArgs(sandbox, 'out.csv');
    const hideProc = 'mount -t tmpfs none /proc &&';
    const first = startInContainer('one', args, options, hideProc);
    await sandbox.until(() => sandbox.counts.requests > 8);
    signal(first, 'SIGKILL');
    await first.ended;
    expect(await startInContainer('one', args, options).ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /out\.csv\.sluice is locked by process 1 on one, and it is unknown whether that process still runs\. If it does not, take the lock with --break-lock, or keep the state in PostgreSQL/,
      ),
    });
    expect(await startInContainer('one', [...args, '--break-lock'], options).ended).toMatchObject({ code: 0 });
  });
});
