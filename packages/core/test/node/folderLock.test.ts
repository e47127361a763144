import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bundled } from '../../../../scripts/bundled.js';
import { casesOf } from '../../../../scripts/testEffort.js';
import { LockError, SinkError } from '../../src/index.js';
import { fileState, nodeFileSystem, type FileStateOptions, type FileSystem } from '../../src/node/index.js';
import { temporaryName } from '../../src/node/files/wholeFile.js';
import { faultyFileSystem } from './faultyFileSystem.js';
import { forkChild } from './forkChild.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { type ProcessIdentity, nodeProcesses } from '../../src/node/processIdentity.js';

type CopyOfLibrary = Pick<typeof import('../../src/node/index.js'), 'fileState'>;

const rounds = casesOf(30);
const never = new AbortController().signal;

const lock = (folder: string, options?: FileStateOptions, signal = never): Promise<() => Promise<void>> =>
  fileState(folder, options).lock(signal);

/** Puts down the claim of somebody else. */
function claimOf(folder: string, identity: Partial<ProcessIdentity> | string, name = 'lock-export-0'): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), typeof identity === 'string' ? identity : JSON.stringify(identity));
}

describe('E8 a locked folder', () => {
  test('is made, and is gone when it is released', async () => {
    const folder = join(temporaryFolder(), 'state');
    const release = await lock(folder);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^lock-/)]);
    expect(JSON.parse(readFileSync(join(folder, readdirSync(folder)[0]!), 'utf8'))).toEqual(await nodeProcesses.self());
    await release();
    expect(existsSync(folder)).toBe(false);
  });

  test('is gone when its name can not be made durable', async () => {
    const folder = join(temporaryFolder(), 'state');
    const fileSystem = faultyFileSystem((call) => (call === 'syncFolder' ? { code: 'EIO' } : undefined));
    await expect(lock(folder, { fileSystem })).rejects.toThrow(SinkError);
    expect(existsSync(folder)).toBe(false);
    await (
      await lock(folder)
    )();
  });

  test('stays when something is left in it', async () => {
    const folder = join(temporaryFolder(), 'state');
    const release = await lock(folder);
    writeFileSync(join(folder, 'mine'), '');
    await release();
    expect(readdirSync(folder)).toEqual(['mine']);
  });

  test('lets the same process wait, whichever object it asks through, and in turn', async () => {
    const folder = join(temporaryFolder(), 'state');
    const events: string[] = [];
    const use = async (name: string, state = fileState(folder)): Promise<void> => {
      const release = await state.lock(never);
      events.push(`${name} in`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`${name} out`);
      await release();
    };
    const shared = fileState(folder);
    await Promise.all([use('a', shared), use('b', shared), use('c'), use('d'), use('e')]);
    expect(events.filter((_, at) => at % 2 === 0).sort()).toEqual(['a in', 'b in', 'c in', 'd in', 'e in']);
    for (let at = 0; at < events.length; at += 2) expect(events[at + 1]).toBe(events[at]!.replace('in', 'out'));
    expect(events.indexOf('a in')).toBeLessThan(events.indexOf('b in'));
    expect(existsSync(folder)).toBe(false);
  });

  test('makes its folder again when another process removes it in the same moment', async () => {
    const folder = join(temporaryFolder(), 'state');
    let made = 0;
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      async makeFolder(path) {
        made += 1;
        if (made === 1) throw Object.assign(new Error('EEXIST'), { code: 'EEXIST' });
        return nodeFileSystem.makeFolder(path);
      },
    };
    const release = await fileState(folder, { fileSystem }).lock(never);
    expect(made).toBe(2);
    await release();
  });

  test(
    'lets a watch of the same process wait for one that is closing, and for no other',
    { tags: ['slow'] },
    async () => {
      const folder = join(temporaryFolder(), 'state');
      const closing = new AbortController();
      const release = await fileState(folder).lock(closing.signal, 'watch');
      await expect(fileState(folder).lock(never, 'watch')).rejects.toThrow(
        `${folder} is in use by another watch of this process.`,
      );
      await (
        await fileState(folder).lock(never, 'export')
      )();
      closing.abort();
      const events: string[] = [];
      const waiting = fileState(folder)
        .lock(never, 'watch')
        .finally(() => events.push('in'));
      // It has looked once, and found the other one.
      while (readdirSync(folder).length < 2) await new Promise((resolve) => setImmediate(resolve));
      while (readdirSync(folder).length > 1) await new Promise((resolve) => setImmediate(resolve));
      events.push('out');
      await release();
      await (
        await waiting
      )();
      expect(events).toEqual(['out', 'in']);
      expect(existsSync(folder)).toBe(false);
    },
  );

  test('lets one of two watches in that have claimed it at the same moment', async () => {
    const folder = join(temporaryFolder(), 'state');
    let claims = 0;
    let goOn = (): void => undefined;
    const bothClaimed = new Promise<void>((resolve) => (goOn = resolve));
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      rename: async (from, to) => {
        await nodeFileSystem.rename(from, to);
        if ((claims += 1) === 2) goOn();
      },
      list: async (path) => {
        await bothClaimed;
        return nodeFileSystem.list(path);
      },
    };
    const locks = await Promise.allSettled([1, 2].map(() => fileState(folder, { fileSystem }).lock(never, 'watch')));
    expect(locks.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const lock of locks) {
      if (lock.status === 'fulfilled') await lock.value();
      else expect(lock.reason).toBeInstanceOf(LockError);
    }
    expect(existsSync(folder)).toBe(false);
  });

  test('lets one who waits be stopped', async () => {
    const folder = join(temporaryFolder(), 'state');
    for (const other of [fileState(folder), undefined]) {
      const first = other ?? fileState(folder);
      const release = await first.lock(never);
      const stop = new AbortController();
      const waiting = (other ?? fileState(folder)).lock(stop.signal);
      stop.abort('changed my mind');
      await expect(waiting).rejects.toBe('changed my mind');
      await release();
      await (
        await first.lock(never)
      )();
    }
    expect(existsSync(folder)).toBe(false);
  });

  test(
    'of a process that was killed is taken over; of one that runs it is refused, and the message says whose it is',
    { tags: ['slow'] },
    async () => {
      const folder = join(temporaryFolder(), 'state');
      const child = forkChild('lockContender.ts', folder);
      await child.next();
      child.tell('go');
      expect(await child.next()).toBe('owner');
      const refused: unknown = await lock(folder).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockError);
      expect(refused).toMatchObject({
        message: `${folder} is in use by process ${String(child.process.pid)} on ${hostname()}. Wait until it is done, or stop it: nothing was changed.`,
        details: { pid: child.process.pid, host: hostname() },
      });
      // A living one's lock is not for breaking.
      await expect(lock(folder, { breakLock: true })).rejects.toThrow(LockError);
      expect(await fileState(folder).holder()).toMatchObject({
        liveness: 'alive',
        process: { pid: child.process.pid },
      });
      await child.kill();
      expect(await fileState(folder).holder()).toBeUndefined();
      await (
        await lock(folder)
      )();
      expect(existsSync(folder)).toBe(false);
    },
  );

  test(
    `has one owner in each of ${rounds} rounds of four contenders, with a dead one to take over from`,
    { tags: ['slow'] },
    async () => {
      const folder = join(temporaryFolder(), 'state');
      const dead = { ...(await nodeProcesses.self()), startedAt: '1' };
      const children = Array.from({ length: 4 }, () => forkChild('lockContender.ts', folder));
      for (const child of children) expect(await child.next()).toBe('ready');
      for (let round = 1; round <= rounds; round += 1) {
        claimOf(folder, dead, `lock-export-${String(round)}`);
        for (const child of children) child.tell('go');
        const outcomes = await Promise.all(children.map((child) => child.next()));
        expect(outcomes.filter((outcome) => outcome === 'owner')).toHaveLength(1);
        expect(outcomes.filter((outcome) => outcome.includes('is in use by process'))).toHaveLength(3);
        for (const child of children) child.tell('release');
        for (const child of children) expect(await child.next()).toBe('done');
      }
      expect(existsSync(folder)).toBe(false);
    },
  );

  test.runIf(process.platform === 'linux')(
    'of a process that was killed, and that its parent has not asked after, is taken over',
    async () => {
      const folder = join(temporaryFolder(), 'state');
      // The shell becomes `sleep`, which asks after no child: once that is so, this one stays a zombie.
      const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const [said] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(said.toString());
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n');
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      claimOf(folder, { ...(await nodeProcesses.self()), pid, startedAt: fields[19]! });
      await (
        await lock(folder)
      )();
    },
  );

  test('of another thread is taken over only when that has ended, however it did', { tags: ['slow'] }, async () => {
    const folder = join(temporaryFolder(), 'state');
    for (const end of ['released', 'terminated'] as const) {
      const thread = new Worker(bundled(new URL('children/lockingThread.ts', import.meta.url)), { workerData: folder });
      onTestFinished(() => void thread.terminate());
      expect(await once(thread, 'message')).toEqual(['owner']);
      for (const breakLock of [false, true])
        await expect(lock(folder, { breakLock })).rejects.toThrow(
          `${folder} is in use by this process: by another thread, or by another copy of Sluice`,
        );
      expect(await fileState(folder).holder()).toMatchObject({ liveness: 'alive', process: { pid: process.pid } });
      const gone = once(thread, 'exit');
      if (end === 'released') thread.postMessage('release');
      else await thread.terminate();
      await gone;
      expect(await fileState(folder).holder()).toBeUndefined();
      await (
        await lock(folder)
      )();
      expect(existsSync(folder)).toBe(false);
    }
  });

  test.each(['export', 'watch'] as const)(
    'of another copy of the library in this thread is not taken (%s)',
    async (use) => {
      const folder = join(temporaryFolder(), 'state');
      const copy = pathToFileURL(bundled(new URL('../../src/node/fileState.ts', import.meta.url))).href;
      const [one, other]: CopyOfLibrary[] = await Promise.all([import(`${copy}?1`), import(`${copy}?2`)]);
      expect(one?.fileState).not.toBe(other?.fileState);
      const release = await one?.fileState(folder).lock(never, use);
      for (const fileStateOf of [other?.fileState, fileState])
        await expect(fileStateOf?.(folder).lock(never, use)).rejects.toMatchObject({
          code: 'lock',
          message: expect.stringMatching(/another copy of Sluice, .* restart the process: nothing was changed\.$/),
        });
      await release?.();
      await (
        await other?.fileState(folder).lock(never, use)
      )?.();
      expect(existsSync(folder)).toBe(false);
    },
  );

  test('that this process could not give back is in nobody’s way', async () => {
    const folder = join(temporaryFolder(), 'state');
    const release = await lock(folder);
    renameSync(folder, `${folder}.away`);
    await release();
    renameSync(`${folder}.away`, folder);
    await (
      await lock(folder)
    )();
    expect(existsSync(folder)).toBe(false);
  });

  test('that could not be claimed is not left behind', async () => {
    const folder = join(temporaryFolder(), 'state');
    const full: FileSystem = {
      ...nodeFileSystem,
      open: async (path, mode) => ({ ...(await nodeFileSystem.open(path, mode)), write: () => Promise.resolve(0) }),
    };
    await expect(lock(folder, { fileSystem: full })).rejects.toThrow(SinkError);
    expect(existsSync(folder)).toBe(false);
  });

  test.each(['lock-export-0', 'checkpoint'])('with a pipe for %s is refused at once', async (name) => {
    const folder = join(temporaryFolder(), 'state');
    mkdirSync(folder);
    execFileSync('mkfifo', [join(folder, name)]);
    const state = fileState(folder);
    await expect(name === 'checkpoint' ? state.load(name) : state.lock(never)).rejects.toThrow(/not a regular file/);
  });

  test('of our own process number with another start time is a dead one’s', async () => {
    const folder = join(temporaryFolder(), 'state');
    claimOf(folder, { ...(await nodeProcesses.self()), startedAt: '12345' });
    await (
      await lock(folder)
    )();
    expect(existsSync(folder)).toBe(false);
  });

  test('of before the machine was started is a dead one’s', async () => {
    const folder = join(temporaryFolder(), 'state');
    claimOf(folder, { ...(await nodeProcesses.self()), boot: 'another' });
    await (
      await lock(folder)
    )();
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    ['from another host', { host: 'elsewhere' }],
    ['from another machine of the same name', { machine: 'f00d' }],
    ['from another container', { space: 'pid:[1]' }],
    ['of a process whose start is not known', { startedAt: '' }],
  ])('%s is refused, unless the lock is broken', async (_, difference) => {
    const folder = join(temporaryFolder(), 'state');
    claimOf(folder, { ...(await nodeProcesses.self()), ...difference });
    await expect(lock(folder)).rejects.toThrow(/whether that process still runs.*with breakLock: nothing was changed/);
    expect(readdirSync(folder)).toEqual(['lock-export-0']);
    await (
      await lock(folder, { breakLock: true })
    )();
    expect(existsSync(folder)).toBe(false);
  });

  test.each(['', '{', '{}', 'null', '{"pid":1}'])(
    'by a claim that can not be read (%j) is refused, too',
    async (text) => {
      const folder = join(temporaryFolder(), 'state');
      claimOf(folder, text);
      await expect(lock(folder)).rejects.toThrow(LockError);
      await (
        await lock(folder, { breakLock: true })
      )();
    },
  );

  test('needs the folder around it', async () => {
    const folder = join(temporaryFolder(), 'missing', 'state');
    const error: unknown = await lock(folder).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SinkError);
    expect(error).toMatchObject({ message: expect.stringMatching(/missing does not exist\. Create it/) });
  });

  test('is not a file', async () => {
    const file = join(temporaryFolder(), 'state');
    writeFileSync(file, 'mine');
    await expect(lock(file)).rejects.toThrow(SinkError);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test('is cleared of what was being written when somebody was killed', async () => {
    const folder = join(temporaryFolder(), 'state');
    mkdirSync(folder);
    for (const name of ['checkpoint', 'lock-export-1', 'spool.log'])
      writeFileSync(join(folder, temporaryName(name, crypto.randomUUID())), '{');
    await (
      await lock(folder)
    )();
    expect(existsSync(folder)).toBe(false);
  });
});

test('E8 a folder that is taken away while it is made is made again', { tags: ['slow'] }, async () => {
  const folder = join(temporaryFolder(), 'state');
  const over = new AbortController();
  const taking = (async () => {
    while (!over.signal.aborted) await nodeFileSystem.removeFolder(folder).catch(() => undefined);
  })();
  for (let nth = 0; nth < 2_000; nth += 1) expect(typeof (await nodeFileSystem.makeFolder(folder))).toBe('boolean');
  over.abort();
  await taking;
});
