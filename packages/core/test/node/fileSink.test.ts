import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { concatMap } from 'rxjs';
import { describe, expect, test, vi } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import {
  CheckpointError,
  ConfigError,
  exportTo,
  memoryState,
  SinkError,
  type ExportOptions,
  type ExportReport,
  type Source,
} from '../../src/index.js';
import type { RowFormat } from '../../src/kit.js';
import { fileSink, nodeFileSystem, type FileSystem, type FileTarget } from '../../src/node/index.js';
import { createPlannedSource } from '../../src/rows/source/source.js';
import { faultyFileSystem, systemError, type DiskCall, type DiskFault } from './faultyFileSystem.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { pagesOf, tenPages, textFormat, textOf } from './textRows.js';

function run(target: FileTarget, options?: ExportOptions, onFetch?: (page: number) => void): Promise<ExportReport> {
  return exportTo(pagesOf(tenPages, onFetch), fileSink(textFormat, target), options).run();
}

/** A source of children of which there are no parents. */
function withoutPages(): Source<string> {
  return createPlannedSource<string>({ name: 'test.rows', identity: null, schema: { columns: [] }, levels: 1 }, () => ({
    known: 0,
    isComplete: true,
    more: () => Promise.resolve(),
    mayBegin: () => expect.unreachable(),
    open: () => expect.unreachable(),
    ended: () => undefined,
    close: () => Promise.resolve(),
  }));
}

/** The calls that an undisturbed run makes to the disk. */
async function callsOf(target: Omit<FileTarget, 'path'>, options?: ExportOptions): Promise<DiskCall[]> {
  const calls: DiskCall[] = [];
  const fileSystem = faultyFileSystem((call) => void calls.push(call));
  const path = join(temporaryFolder(), 'rows.txt');
  if (target.ifExists === 'overwrite') writeFileSync(path, 'the old file');
  await run({ ...target, path, fileSystem }, options);
  return calls;
}

const whole = textOf(tenPages);

describe('a file', () => {
  test('holds the header and all rows', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const report = await run({ path });
    expect(readFileSync(path, 'utf8')).toBe(whole);
    expect(report).toMatchObject({ target: path, bytes: whole.length, rows: 30 });
  });

  test.each(['é', '€', '🎉', '\ud800', 'a🎉'])(
    'is the same where pages of "%s" do not fit in what is written at once',
    { tags: ['slow'] },
    async (text) => {
      const path = join(temporaryFolder(), 'rows.txt');
      // Of odd lengths, so that the borders lie at all places of a character; the last ones are of several such pieces.
      const pages = [1, 7, 70_001, 140_003, 300_007, 5, 700_001].map((length) => [
        text.repeat(length / text.length + 1),
      ]);
      await exportTo(pagesOf(pages), fileSink(textFormat, { path }), { state: memoryState(), commitEvery: 2 }).run();
      expect(readFileSync(path).equals(Buffer.from(textOf(pages)))).toBe(true);
    },
  );

  test('is the same when the disk takes one byte at a time', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const slow: FileSystem = {
      ...nodeFileSystem,
      open: async (name, mode) => {
        const file = await nodeFileSystem.open(name, mode);
        return { ...file, write: (bytes, position) => file.write(bytes.subarray(0, 1), position) };
      },
    };
    await run({ path, fileSystem: slow });
    expect(readFileSync(path, 'utf8')).toBe(whole);
  });

  test.each<['overwrite' | 'append', mode: number]>([
    ['overwrite', 0o600],
    ['overwrite', 0o664],
    ['overwrite', 0o400],
    ['append', 0o640],
  ])('D3 keeps mode and owner of the file that it takes the place of (%s, %o)', async (ifExists, mode) => {
    const path = join(temporaryFolder(), 'rows.txt');
    writeFileSync(path, 'rows\nold\n');
    // Only root may give a file away.
    if (process.getuid?.() === 0) chownSync(path, 1_234, 1_235);
    chmodSync(path, mode);
    const rights = () => (({ mode: bits, uid, gid }) => ({ mode: bits & 0o777, uid, gid }))(statSync(path));
    const before = rights();
    const meanwhile: number[] = [];
    await run({ path, ifExists }, {}, () => void meanwhile.push(statSync(`${path}.part`).mode & 0o777));
    expect([rights(), [...new Set(meanwhile)]]).toEqual([before, [mode | 0o600]]);
    expect(readFileSync(path, 'utf8')).toContain(ifExists === 'append' ? 'old' : 'rows');
  });

  test('D3 a new file has the mode of the process, also with overwrite', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'usual'), '');
    await run({ path: join(folder, 'rows.txt'), ifExists: 'overwrite' });
    expect(statSync(join(folder, 'rows.txt')).mode).toBe(statSync(join(folder, 'usual')).mode);
  });

  test('E5 is compressed in members that end after a number of pages', async () => {
    const path = join(temporaryFolder(), 'rows.txt.gz');
    for (const pagesPerMember of [1, 3, 10, 11]) {
      const { bytes } = await run({ path, gzip: { pagesPerMember }, ifExists: 'overwrite' });
      const texts = tenPages.map((rows, page) => (page === 0 ? textOf([rows]) : textOf([rows]).slice('rows\n'.length)));
      const members = Array.from({ length: Math.ceil(10 / pagesPerMember) }, (_, index) =>
        gzipSync(texts.slice(index * pagesPerMember, (index + 1) * pagesPerMember).join('')),
      );
      expect(readFileSync(path).equals(Buffer.concat(members))).toBe(true);
      expect(gunzipSync(readFileSync(path)).toString()).toBe(whole);
      expect(bytes).toBe(readFileSync(path).length);
    }
  });

  test('E5 is compressed when its name ends in .gz, or when told to', async () => {
    const folder = temporaryFolder();
    await run({ path: join(folder, 'a.gz') });
    await run({ path: join(folder, 'b'), gzip: true });
    await run({ path: join(folder, 'c.gz'), gzip: false });
    expect(readFileSync(join(folder, 'a.gz')).equals(readFileSync(join(folder, 'b')))).toBe(true);
    expect(readFileSync(join(folder, 'c.gz'), 'utf8')).toBe(whole);
  });

  test.each(['rows.txt', 'rows.txt.gz'])('without rows has its header only (%s)', async (name) => {
    const path = join(temporaryFolder(), name);
    for (const pages of [[], [[], []]]) {
      await exportTo(pagesOf(pages), fileSink(textFormat, { path, ifExists: 'overwrite' })).run();
      const bytes = readFileSync(path);
      expect((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()).toBe('rows\n');
    }
  });

  test.each([0, 1.5, -1, NaN])('refuses gzip members of %d pages', (pagesPerMember) => {
    expect(() => fileSink(textFormat, { path: 'rows.txt', gzip: { pagesPerMember } })).toThrow(ConfigError);
  });
});

test.each([false, true])(
  'a row that has no text, in the midst of a page, leaves what was committed (gzip: %s)',
  async (gzip) => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'rows.txt');
    let isBroken = true;
    const format: RowFormat<string> = {
      ...textFormat,
      encoder: (schema) => {
        const encoder = textFormat.encoder(schema);
        const encode = (items: readonly string[]): string => {
          if (isBroken && items.some((row) => row.startsWith('row 2.57'))) throw new SinkError('row 2.57 has no text');
          return encoder.encode(items);
        };
        return { ...encoder, encode };
      },
    };
    const pages = [0, 1, 2, 3].map((page) =>
      Array.from({ length: 100 }, (_, row) => `row ${page}.${row} ${'x'.repeat(3_000)}`),
    );
    const run = (): Promise<unknown> =>
      exportTo(pagesOf(pages), fileSink(format, { path, gzip }), { state: memory, commitEvery: 1 }).run();
    const memory = memoryState();
    await expect(run()).rejects.toThrow('row 2.57 has no text');
    // Not a byte of the page: where rows never end, nobody takes off what lies behind the last commit.
    const kept = gzip ? '' : ['rows', ...pages.slice(0, 2).flat(), ''].join('\n');
    expect(readFileSync(`${path}.part`, 'utf8')).toBe(kept);
    isBroken = false;
    await run();
    const bytes = readFileSync(path);
    const rows = (gzip ? gunzipSync(bytes) : bytes).toString().split('\n');
    expect(rows).toEqual(['rows', ...pages.flat(), '']);
  },
);

test('a file of a source that never ends has its name already, so it is resumed once it is sealed', async () => {
  const path = join(temporaryFolder(), 'rows.txt');
  const context = { source: 'test', isEndless: true, restart: false, signal: new AbortController().signal };
  const writer = await fileSink(textFormat, { path }).open(context);
  await writer.write({ items: ['one'], scope: { page: '' }, partition: 0, endsPartition: false });
  const sinkPosition = await writer.seal({ isIncomplete: false });
  await writer.abort(new Error('killed'), { isResumable: true });
  const again = await fileSink(textFormat, { path }).open({ ...context, resumeAt: { sinkPosition, isSealed: true } });
  expect(await again.close()).toEqual({ target: path, bytes: 9 });
  expect(readFileSync(path, 'utf8')).toBe('rows\none\n');
});

describe('E9 a disk that fails', () => {
  test.each([
    ['ENOSPC', /disk is full.*run it again/],
    ['EDQUOT', /disk is full/],
    ['EFBIG', /largest size.*ulimit -f/],
    ['EIO', /check the disk/],
    ['EROFS', /no permission/],
    ['EACCES', /no permission/],
  ])('with %s is explained, and leaves nothing behind', async (code, advice) => {
    for (const failing of ['open', 'write', 'sync'] as const) {
      const folder = temporaryFolder();
      const fileSystem = faultyFileSystem((call) => (call === failing ? { code } : undefined));
      const error: unknown = await run({ path: join(folder, 'rows.txt'), fileSystem }).catch(
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(SinkError);
      expect(error).toMatchObject({ message: expect.stringMatching(advice), details: { platformCode: code } });
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  test('in a sync poisons the sink: it takes nothing more, even if the disk says that all is well again', async () => {
    let isFailing = false;
    const fileSystem = faultyFileSystem((call) => (isFailing && call === 'sync' ? { code: 'EIO' } : undefined));
    const path = join(temporaryFolder(), 'rows.txt');
    const context = { source: 'test', isEndless: false, restart: false, signal: new AbortController().signal };
    const writer = await fileSink(textFormat, { path, fileSystem }).open(context);
    await writer.write({ items: ['kept'], scope: { page: '' }, partition: 0, endsPartition: false });
    const sinkPosition = await writer.flush();
    isFailing = true;
    await writer.write({ items: ['lost'], scope: { page: '' }, partition: 0, endsPartition: false });
    await expect(writer.flush()).rejects.toThrow(/EIO/);
    isFailing = false;
    await expect(writer.flush()).rejects.toThrow(/could not be made durable, so nothing more is written/);
    await expect(
      writer.write({ items: ['more'], scope: { page: '' }, partition: 0, endsPartition: false }),
    ).rejects.toThrow(SinkError);
    await expect(writer.seal({ isIncomplete: false })).rejects.toThrow(SinkError);
    await writer.abort(new Error('EIO'), { isResumable: true });
    const again = await fileSink(textFormat, { path }).open({
      ...context,
      resumeAt: { sinkPosition, isSealed: false },
    });
    expect(readFileSync(`${path}.part`, 'utf8')).toBe('rows\nkept\n');
    await again.abort(undefined, { isResumable: false });
  });

  test('in the sync of one part is told once those of the others have ended, which go on beside it', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const context = { source: 'test', isEndless: false, restart: false, signal: new AbortController().signal };
    let letGo = (): void => undefined;
    const released = new Promise<void>((resolve) => (letGo = resolve));
    const begun: string[] = [];
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      open: async (name, mode) => {
        const file = await nodeFileSystem.open(name, mode);
        const partition = /rows-(\d)$/.exec(name)?.[1];
        if (partition === undefined) return file;
        const sync = async (): Promise<void> => {
          begun.push(partition);
          if (partition === '1') throw systemError('EIO');
          await released;
          return file.sync();
        };
        return { ...file, sync };
      },
    };
    const writer = await fileSink(textFormat, { path, fileSystem }).open(context);
    for (const partition of [1, 2, 3])
      await writer.write({ items: [`part ${partition}`], scope: { page: '' }, partition, endsPartition: false });
    const ends: string[] = [];
    const flushed = writer.flush().then(
      () => ends.push('flushed'),
      (error: unknown) => ends.push(String(error)),
    );
    // Each begins as soon as its own file is through, so in any order.
    await vi.waitFor(
      () => {
        expect(begun.toSorted()).toEqual(['1', '2', '3']);
      },
      { timeout: 60_000 },
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toEqual([]);
    letGo();
    await flushed;
    expect(ends).toEqual([expect.stringContaining('EIO')]);
    await writer.abort(new Error('EIO'), { isResumable: false });
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  test('by taking no more bytes without saying why is noticed', async () => {
    const folder = temporaryFolder();
    const full: FileSystem = {
      ...nodeFileSystem,
      open: async (name, mode) => ({ ...(await nodeFileSystem.open(name, mode)), write: () => Promise.resolve(0) }),
    };
    await expect(run({ path: join(folder, 'rows.txt'), fileSystem: full })).rejects.toThrow(SinkError);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('stops the walk: no page is fetched afterwards', async () => {
    const fetched: number[] = [];
    const fileSystem = faultyFileSystem((call) => (call === 'write' ? { code: 'ENOSPC' } : undefined));
    const path = join(temporaryFolder(), 'rows.txt');
    const pages = Array.from({ length: 20 }, (_, page) => [`${page} ${'x'.repeat(100_000)}`]);
    const source = pagesOf(pages, (page) => fetched.push(page));
    await expect(exportTo(source, fileSink(textFormat, { path, fileSystem })).run()).rejects.toThrow(SinkError);
    const before = [...fetched];
    await new Promise((resolve) => setImmediate(resolve));
    expect(fetched).toEqual(before);
    // Two rooms of 64 KiB are filled until the fault of the first one is told.
    expect(fetched.length).toBeLessThan(6);
  });

  describe.each(['fail', 'overwrite'] as const)('at any call (if exists: %s)', (ifExists) => {
    test.each(['before', 'after'] as const)(
      'E2 leaves no partial file under the final name (%s the call is done)',
      async (when) => {
        const calls = await callsOf({ ifExists });
        for (const at of someOf([...calls.keys()])) {
          const folder = temporaryFolder();
          const path = join(folder, 'rows.txt');
          if (ifExists === 'overwrite') writeFileSync(path, 'the old file');
          const fileSystem = faultyFileSystem((_call, n) => (n === at + 1 ? { code: 'EIO', when } : undefined));
          const error: unknown = await run({ path, ifExists, fileSystem }).catch((reason: unknown) => reason);
          expect(error).toBeInstanceOf(SinkError);
          expect(error).toMatchObject({ details: { platformCode: 'EIO' } });
          const final = textAt(path);
          const partition = textAt(`${path}.part`);
          expect([ifExists === 'overwrite' ? 'the old file' : undefined, whole]).toContain(final);
          // What is left is complete, but for the file whose creation itself failed after all.
          const isPartUsable =
            partition === undefined || partition === whole || (calls[at] === 'open' && partition === '');
          expect(isPartUsable).toBe(true);
        }
      },
    );

    test.each([1, 3, 32])(
      'E1 does not spoil a run with a state, repeated when the disk is well (commits after %d pages)',
      { tags: ['slow'] },
      async (commitEvery) => {
        const calls = await callsOf({ ifExists }, { state: memoryState(), commitEvery });
        for (const [first, when] of (['before', 'after'] as const).entries()) {
          for (const at of someOf([...calls.keys()], first + commitEvery)) {
            // A file that was created without our knowledge is taken for somebody else's.
            if (calls[at] === 'open' && when === 'after') continue;
            const path = join(temporaryFolder(), 'rows.txt');
            if (ifExists === 'overwrite') writeFileSync(path, 'the old file');
            const state = memoryState();
            const fileSystem = faultyFileSystem((_call, n) => (n === at + 1 ? { code: 'EIO', when } : undefined));
            await expect(run({ path, ifExists, fileSystem }, { state, commitEvery })).rejects.toThrow(SinkError);
            await run({ path, ifExists }, { state, commitEvery });
            expect(textAt(path)).toBe(whole);
            expect(textAt(`${path}.part`)).toBeUndefined();
            expect(await state.load('checkpoint')).toMatchObject({
              isSealed: true,
              finishedAt: expect.stringMatching(/^\d{4}-/) as string,
            });
          }
        }
      },
    );

    test.each(['before', 'after'] as const)(
      'E1 does not spoil a run without a page, repeated when the disk is well (%s the call is done)',
      { tags: ['slow'] },
      async (when) => {
        let calls = Infinity;
        for (let at = 1; at <= calls; at += 1) {
          const path = join(temporaryFolder(), 'rows.txt');
          if (ifExists === 'overwrite') writeFileSync(path, 'the old file');
          const state = memoryState();
          let failed: DiskCall | undefined;
          const fileSystem = faultyFileSystem((call, n) => {
            if (n !== at) return undefined;
            failed = call;
            return { code: 'EIO', when };
          });
          const runInto = (target: FileTarget): Promise<ExportReport> =>
            exportTo(withoutPages(), fileSink(textFormat, target), { state }).run();
          await runInto({ path, ifExists, fileSystem }).catch(() => undefined);
          if (failed === undefined) calls = at - 1;
          // A file that was created without our knowledge is taken for somebody else's.
          if (failed === 'open' && when === 'after') continue;
          await runInto({ path, ifExists });
          expect(textAt(path)).toBe(textOf([]));
          expect(textAt(`${path}.part`)).toBeUndefined();
        }
        expect(calls).toBeGreaterThan(10);
      },
    );

    test.each(['rows.txt', 'rows.txt.gz'])(
      'E1 and for ever, as in a killed process, does not spoil the next run (%s)',
      { tags: ['slow'] },
      async (name) => {
        const gzip = name.endsWith('.gz') && { pagesPerMember: 3 };
        const calls = await callsOf({ ifExists, gzip }, { state: memoryState(), commitEvery: 2 });
        const undisturbed = join(temporaryFolder(), name);
        await run({ path: undisturbed, gzip });
        for (const [first, when] of (['before', 'after'] as const).entries()) {
          for (const at of someOf([...calls.keys()], first)) {
            const path = join(temporaryFolder(), name);
            if (ifExists === 'overwrite') writeFileSync(path, 'the old file');
            const state = memoryState();
            const fileSystem = faultyFileSystem((_call, n) =>
              n > at ? { code: 'EIO', when: n === at + 1 ? when : 'before' } : undefined,
            );
            const fault = await run({ path, ifExists, gzip, fileSystem }, { state, commitEvery: 2 }).catch(
              (error: unknown) => error,
            );
            // Once the file is in place, what can't be removed is no fault of the export's.
            const cleared = calls.includes('removeFolder') ? calls.lastIndexOf('removeFolder') : calls.length;
            const isClearing = at > calls.lastIndexOf('syncFolder', cleared);
            if (!isClearing) {
              expect(fault).toBeInstanceOf(SinkError);
              await run({ path, ifExists, gzip }, { state, commitEvery: 2 });
            }
            expect(readFileSync(path).equals(readFileSync(undisturbed))).toBe(true);
            expect(existsSync(`${path}.part`)).toBe(false);
          }
        }
      },
    );
  });
});

describe('E2 putting a file in place', () => {
  test('makes each name durable before the next step relies on it', async () => {
    const calls = await callsOf({});
    // The name of `.part` is made durable beside its rows, before a checkpoint speaks of either.
    expect(calls.slice(0, 5)).toEqual(['kind', 'kind', 'kind', 'isOurs', 'open']);
    expect(calls.slice(5, -13)).not.toContain('sync');
    expect(calls.slice(5, -13)).toContain('syncFolder');
    expect(calls.slice(-13)).toEqual([
      'sync',
      'size',
      'identity',
      'identity',
      // All of it is read again, as the last thing before it gets its name.
      'size',
      'read',
      'identity',
      'identity',
      'close',
      'link',
      'syncFolder',
      'unlink',
      'syncFolder',
    ]);
  });

  test('refuses to put in place what another run has begun over it', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    let second: Promise<ExportReport> | undefined;
    let letGo = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => (letGo = resolve));
    let begin = (): void => undefined;
    const isBegun = new Promise<void>((resolve) => (begin = resolve));
    const until = (beginning: string, event: Promise<void>) =>
      concatMap(async (row: string) => (row.startsWith(beginning) && (await event), row));
    const slow = pagesOf(tenPages, () => {
      begin();
    }).pipePages(until('page 5', isHeld));
    const source = pagesOf(tenPages, (page) => {
      if (page === 7) second ??= exportTo(slow, fileSink(textFormat, { path }), { restart: true }).run();
    }).pipePages(until('page 8', isBegun));
    const first = exportTo(source, fileSink(textFormat, { path })).run();
    await expect(first).rejects.toThrow('was replaced while the export ran');
    expect(existsSync(path)).toBe(false);
    letGo();
    await second;
    expect(textAt(path)).toBe(whole);
  });

  test.each(['EPERM', 'ENOTSUP', 'ENOSYS'])('works where the file system knows no links (%s)', async (code) => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows.txt');
    const linkless = faultyFileSystem((call) => (call === 'link' ? { code } : undefined));
    await run({ path, fileSystem: linkless });
    expect(textAt(path)).toBe(whole);
    expect(readdirSync(folder)).toEqual(['rows.txt']);
  });

  test('replaces nothing there either', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const linkless: FileSystem = {
      ...nodeFileSystem,
      link: () => {
        writeFileSync(path, 'mine');
        return Promise.reject(systemError('ENOTSUP'));
      },
    };
    await expect(run({ path, fileSystem: linkless })).rejects.toThrow(/appeared.*All rows are in/);
    expect(textAt(path)).toBe('mine');
    expect(textAt(`${path}.part`)).toBe(whole);
  });

  test('goes on without fetching a page when the name is free again', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const state = memoryState();
    const taken = run({ path }, { state }, (page) => {
      if (page === 5) writeFileSync(path, 'mine');
    });
    await expect(taken).rejects.toThrow(/appeared/);
    await expect(run({ path }, { state })).rejects.toThrow(/exists already/);
    unlinkSync(path);
    const fetched: number[] = [];
    const report = await run({ path }, { state }, (page) => fetched.push(page));
    expect(fetched).toEqual([]);
    expect(report).toMatchObject({ rows: 30, bytes: whole.length });
    expect(textAt(path)).toBe(whole);
  });
});

describe('E6 a .part file that', () => {
  /** A run that fails after page 9, with a commit after page 6, and then goes on with what the test made of the file. */
  async function goOnWith(change: (partition: string) => void, failing: DiskFault = { code: 'EIO' }) {
    const path = join(temporaryFolder(), 'rows.txt');
    const state = memoryState();
    let writes = 0;
    const fileSystem = faultyFileSystem((call) => (call === 'write' && (writes += 1) === 3 ? failing : undefined));
    await expect(run({ path, fileSystem }, { state, commitEvery: 3 })).rejects.toThrow(SinkError);
    change(`${path}.part`);
    const left = textAt(`${path}.part`);
    const checkpoint = await state.load('checkpoint');
    const outcome = await run({ path }, { state, commitEvery: 3 }).catch((error: unknown) => error);
    return { outcome, path, state, left, checkpoint };
  }

  test.each([1, 100_000])('is longer than the checkpoint says is cut back (by %d bytes)', async (bytes) => {
    const { path } = await goOnWith((partition) => {
      appendFileSync(partition, 'x'.repeat(bytes));
    });
    expect(textAt(path)).toBe(whole);
  });

  test.each<[string, (partition: string) => void, RegExp]>([
    [
      'is shorter than its checkpoint says',
      (partition) => truncateSync(partition, 100),
      /is shorter \(100 bytes\).*restart/,
    ],
    ['is gone', (partition) => unlinkSync(partition), /no longer exists.*restart/],
    [
      'was edited',
      (partition) => writeFileSync(partition, textAt(partition)?.replace('row 1', 'row 7') ?? ''),
      /was changed.*restart/,
    ],
  ])('%s is refused, and nothing is touched', async (_what, change, message) => {
    const { outcome, path, state, left, checkpoint } = await goOnWith(change);
    expect(outcome).toBeInstanceOf(CheckpointError);
    expect(outcome).toHaveProperty('message', expect.stringMatching(message));
    expect(textAt(`${path}.part`)).toBe(left);
    expect(existsSync(path)).toBe(false);
    expect(await state.load('checkpoint')).toEqual(checkpoint);
  });

  test.each<[string, unknown]>([
    ['no place', null],
    ['a negative place', { bytes: -1, crc32: 0 }],
    ['a place without checksum', { bytes: 100 }],
    ['a place in words', { bytes: '100', crc32: 0 }],
  ])('has a checkpoint with %s is not touched', async (_what, sinkPosition) => {
    const path = join(temporaryFolder(), 'rows.txt');
    writeFileSync(`${path}.part`, 'rows\n');
    const sink = fileSink(textFormat, { path });
    const resumeAt = { sinkPosition: JSON.parse(JSON.stringify(sinkPosition)), isSealed: false };
    await expect(
      sink.open({ source: 'test', isEndless: false, restart: false, signal: new AbortController().signal, resumeAt }),
    ).rejects.toThrow(CheckpointError);
    expect(textAt(`${path}.part`)).toBe('rows\n');
  });

  test('somebody else appends to while the export runs is not committed', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const disturbed = run({ path }, { state: memoryState(), commitEvery: 3 }, (page) => {
      if (page === 5) appendFileSync(`${path}.part`, 'mine'.repeat(1_000));
    });
    await expect(disturbed).rejects.toThrow(/another process is changing it/);
    expect(existsSync(path)).toBe(false);
  });
});

function textAt(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
