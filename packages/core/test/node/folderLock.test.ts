import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bundled } from '../../../../scripts/bundled.js';
import { casesOf } from '../../../../scripts/testEffort.js';
import { LockError, SinkError } from '../../src/index.js';
import {
  fileState,
  locksEndWithProcess,
  nodeFileSystem,
  type FileStateOptions,
  type FileSystem,
} from '../../src/node/index.js';
import { temporaryName } from '../../src/node/files/wholeFile.js';
import { faultyFileSystem } from './faultyFileSystem.js';
import { forkChild, type Child } from './forkChild.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { closeServer, listenAt, tryConnect } from '../../src/node/localSocket.js';

type CopyOfLibrary = Pick<typeof import('../../src/node/index.js'), 'fileState'>;

const rounds = casesOf(100);
const never = new AbortController().signal;

const lock = (folder: string, options?: FileStateOptions, signal = never): Promise<() => Promise<void>> =>
  fileState(folder, options).lock(signal);

/** Puts down a claim of somebody else that is a file. */
function claimOf(folder: string, text: string, name = 'lock-export-0'): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
}

/** Puts down the claim that a process leaves when it is killed. */
async function deadClaim(folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const made = join(folder, 'socket');
  const server = await listenAt(made);
  renameSync(made, join(folder, name));
  await closeServer(server);
}

/** A file system whose kind is not known. */
const unknownVolume: FileSystem = { ...nodeFileSystem, volume: () => Promise.resolve({ id: '1', kind: 'other' }) };

describe('E8 a locked folder', () => {
  test('is made, and is gone when it is released', async () => {
    const folder = join(temporaryFolder(), 'state');
    const release = await lock(folder);
    const [name = '', ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(name.endsWith(`-${process.pid}-${hostname().slice(0, 24)}`)).toBe(true);
    expect(lstatSync(join(folder, name)).isSocket()).toBe(true);
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

  test('is waited for while it is being given back', async () => {
    const folder = join(temporaryFolder(), 'state');
    let looks = 0;
    let goOn = (): void => undefined;
    const hasLooked = new Promise<void>((resolve) => (goOn = resolve));
    const slow: FileSystem = { ...nodeFileSystem, unlink: (path) => hasLooked.then(() => nodeFileSystem.unlink(path)) };
    const looking: FileSystem = {
      ...nodeFileSystem,
      list: (path) => {
        if ((looks += 1) === 2) goOn();
        return nodeFileSystem.list(path);
      },
    };
    const releasing = (await lock(folder, { fileSystem: slow }))();
    const waiting = lock(folder, { fileSystem: looking }).finally(goOn);
    await (
      await waiting
    )();
    await releasing;
    expect(looks).toBeGreaterThan(1);
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
      await expect(lock(folder, { breakLock: true })).rejects.toThrow(/It is alive, so its lock is not broken\. Wait/);
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
      const children = Array.from({ length: 4 }, () => forkChild('lockContender.ts', folder));
      for (const child of children) expect(await child.next()).toBe('ready');
      for (let round = 1; round <= rounds; round += 1) {
        await deadClaim(folder, `lock-export-${String(round)}`);
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

  test('of another thread is taken over only when that has ended, however it did', { tags: ['slow'] }, async () => {
    const folder = join(temporaryFolder(), 'state');
    for (const end of ['released', 'terminated'] as const) {
      const thread = new Worker(bundled(new URL('children/lockingThread.ts', import.meta.url)), { workerData: folder });
      onTestFinished(() => void thread.terminate());
      expect(await once(thread, 'message')).toEqual(['owner']);
      for (const breakLock of [false, true])
        await expect(lock(folder, { breakLock })).rejects.toThrow(
          `That is the name of this process, too: it is another of its threads, another copy of Sluice in it`,
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
          message: expect.stringMatching(/another copy of Sluice in it, .* or stop it: nothing was changed\.$/),
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
      ...unknownVolume,
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

  test.each(['somewhere else', null])(
    'from another place (%s) is refused, unless the lock is broken',
    async (place) => {
      const folder = join(temporaryFolder(), 'state');
      claimOf(folder, JSON.stringify({ place, socket: 'nobody' }));
      await expect(lock(folder)).rejects.toThrow(
        /whether that process still runs\. If it does not, take the lock with breakLock, or keep the state in a database/,
      );
      expect(readdirSync(folder)).toEqual(['lock-export-0']);
      await (
        await lock(folder, { breakLock: true })
      )();
      expect(existsSync(folder)).toBe(false);
    },
  );

  test('by a socket on a file system that another machine may have, too, is refused unless it is broken', async () => {
    const folder = join(temporaryFolder(), 'state');
    await deadClaim(folder, 'lock-export-0');
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      volume: () => Promise.resolve({ id: '1', kind: 'network' }),
    };
    await expect(lock(folder, { fileSystem, trustFileSystem: true })).rejects.toThrow(/with breakLock/);
    await (
      await lock(folder, { fileSystem, trustFileSystem: true, breakLock: true })
    )();
  });

  test.each(['', '{', '{}', 'null', '{"place":1,"socket":"x"}'])(
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
    await deadClaim(folder, temporaryName('lock-export', crypto.randomUUID()));
    for (const name of ['checkpoint', 'lock-export', 'spool.log'])
      writeFileSync(join(folder, temporaryName(name, crypto.randomUUID())), '{');
    await (
      await lock(folder)
    )();
    expect(existsSync(folder)).toBe(false);
  });
});

describe('E8 a claim', () => {
  test('is not in a copy of its folder, and is renamed with it', { tags: ['slow'] }, async () => {
    const folder = join(temporaryFolder(), 'state');
    const release = await lock(folder);
    execFileSync('cp', ['-a', folder, `${folder}.copy`]);
    await (
      await lock(`${folder}.copy`)
    )();
    renameSync(folder, `${folder}.renamed`);
    await expect(other(`${folder}.renamed`)).resolves.toContain('is in use by process');
    await release();
    await expect(other(`${folder}.renamed`)).resolves.toBe('owner');
  });

  test('has a path of any length', { tags: ['slow'] }, async () => {
    const folder = join(temporaryFolder(), 'é'.repeat(100), 'state');
    mkdirSync(join(folder, '..'));
    const release = await lock(folder);
    expect(lstatSync(join(folder, readdirSync(folder)[0]!)).isSocket()).toBe(true);
    expect(await other(folder)).toContain('is in use by process');
    await release();
    expect(await other(folder)).toBe('owner');
  });

  test('of a process that is stopped is alive, however many ask', { tags: ['slow'] }, async () => {
    const folder = join(temporaryFolder(), 'state');
    const child = await holder(folder);
    child.process.kill('SIGSTOP');
    const [name = ''] = readdirSync(folder);
    const answers = new Set<string>();
    // As many are accepted by the kernel.
    for (let nth = 0; nth <= 520; nth += 1) answers.add(await tryConnect(join(folder, name)));
    expect(answers).toEqual(new Set(['accepted', 'EAGAIN']));
    expect(await fileState(folder).holder()).toMatchObject({ liveness: 'alive' });
    await child.kill();
    expect(await fileState(folder).holder()).toBeUndefined();
  });

  test('that is a file is judged by processes of its machine', { tags: ['slow'] }, async () => {
    const folder = join(temporaryFolder(), 'state');
    const child = await holder(folder, 'other');
    expect(lstatSync(join(folder, readdirSync(folder)[0]!)).isFile()).toBe(true);
    for (const options of [{}, { fileSystem: unknownVolume }])
      await expect(lock(folder, options)).rejects.toThrow(
        `is in use by process ${String(child.process.pid)} on ${hostname().slice(0, 24)}.`,
      );
    await child.kill();
    await (
      await lock(folder)
    )();
    expect(existsSync(folder)).toBe(false);
  });

  test('ends with its process for all where it is a socket', async () => {
    const folder = temporaryFolder();
    expect(await locksEndWithProcess(folder)).toBe(true);
    expect(await locksEndWithProcess(folder, unknownVolume)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
    await expect(locksEndWithProcess(join(folder, 'none'))).rejects.toThrow(SinkError);
  });

  test.runIf(process.getuid?.() === 0)(
    'of another user may be alive, or is known to be, until its process ends',
    { tags: ['slow'] },
    async () => {
      const folder = join(temporaryFolder(), 'state');
      const child = await holder(folder);
      chmodSync(folder, 0o777);
      const path = join(folder, readdirSync(folder)[0]!);
      chmodSync(path, 0o755);
      expect(asNobody(path)).toBe('EACCES');
      chmodSync(path, 0o777);
      expect(asNobody(path)).toBe('accepted');
      await child.kill();
      expect(asNobody(path)).toBe('ECONNREFUSED');
    },
  );
});

test(
  'E8 a claim whose unfinished name is removed by the holder is made again, as a socket',
  { tags: ['slow'] },
  async () => {
    const folder = join(temporaryFolder(), 'state');
    mkdirSync(folder);
    writeFileSync(join(folder, 'checkpoint'), '{}');
    // Removes half of them, each once: whoever enters removes what somebody may have left who was killed.
    const remover = new Worker(
      `const { readdirSync, unlinkSync } = require('node:fs');
    const folder = require('node:worker_threads').workerData;
    for (const seen = new Set(); ;)
      for (const name of readdirSync(folder))
        if (/^sluice-[0-7]/.test(name) && !seen.has(name)) try { seen.add(name); unlinkSync(folder + '/' + name); } catch {}`,
      { eval: true, workerData: folder },
    );
    onTestFinished(() => void remover.terminate());
    await once(remover, 'online');
    for (let nth = 0; nth < 200; nth += 1) {
      const release = await lock(folder);
      const name = readdirSync(folder).find((each) => each.startsWith('lock-'));
      expect(lstatSync(join(folder, name!)).isSocket()).toBe(true);
      await release();
    }
  },
);

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

/** A process that holds a folder. */
async function holder(folder: string, ...kind: string[]): Promise<Child> {
  const child = forkChild('lockContender.ts', folder, ...kind);
  await child.next();
  child.tell('go');
  expect(await child.next()).toBe('owner');
  return child;
}

/** What comes of it if another process locks a folder and is killed. */
async function other(folder: string): Promise<string> {
  const child = forkChild('lockContender.ts', folder);
  await child.next();
  child.tell('go');
  const outcome = await child.next();
  await child.kill();
  return outcome;
}

/** What another user of the machine gets who connects to a socket. */
function asNobody(path: string): string {
  const script = `process.chdir(process.argv[1]); process.setgroups([]); process.setgid(65534); process.setuid(65534);
    require('net').connect(process.argv[2]).on('connect', () => done('accepted')).on('error', ({ code }) => done(code));
    const done = (said) => { process.stdout.write(said); process.exit(); };`;
  return execFileSync(process.execPath, ['-e', script, dirname(path), basename(path)], { encoding: 'utf8' });
}
