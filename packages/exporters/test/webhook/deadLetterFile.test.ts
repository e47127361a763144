// @module-tag slow
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { CheckpointError, ConfigError, LockError, SinkError, SluiceError } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { describe, expect, test } from 'vitest';
import { faultyFileSystem } from '../../../core/test/node/faultyFileSystem.js';
import { forkChild } from '../../../core/test/node/forkChild.js';
import { simulatedDisk } from '../../../core/test/node/simulatedDisk.js';
import { deadLetterFolder } from '../../src/webhook/letters/deadLetterJournal.js';
import { readDeadLetters } from '../../src/webhook/letters/readDeadLetters.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { fileLetters, idsIn, letterOf, openLetters, refusal, replayDeadLetters } from './deadLetterSamples.js';

function newPath(): string {
  return join(temporaryFolder(), 'dead.jsonl');
}

async function faultOf(work: Promise<unknown>): Promise<SluiceError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (SluiceError.is(error)) return error;
  throw new Error('No error of ours came.', { cause: error });
}

const folderOf = (path: string): string[] => readdirSync(join(path, '..'));

describe('W9 the file of the dead letters', () => {
  test('is not there, and neither is its lock, after an export without any', async () => {
    const path = newPath();
    const file = await openLetters(path);
    expect(folderOf(path)).toEqual([`${basename(path)}.sluice`]);
    await file.close();
    expect(folderOf(path)).toEqual([]);
  });

  test('has one letter a line, in the order of calls, for its owner only', async () => {
    const path = newPath();
    const file = await openLetters(path);
    await Promise.all([1, 2, 3].map((n) => file.append(letterOf(n))));
    await file.close();
    expect(await idsIn(path)).toEqual(['record-1', 'record-2', 'record-3']);
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines).toHaveLength(4);
    expect(JSON.parse(lines[1]!)).toEqual({ ...letterOf(2), run: file.position.run });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(file.position.bytes).toBe(statSync(path).size);
    expect(folderOf(path)).toEqual([basename(path)]);
  });

  test('is appended to by later exports, each of which knows its own letters only', async () => {
    const path = newPath();
    const first = await fileLetters(path, [letterOf(1, { key: 'a' })]);
    const before = readFileSync(path, 'utf8');
    const second = await fileLetters(path, [letterOf(2, { key: 'b' })]);
    expect(readFileSync(path, 'utf8').startsWith(before)).toBe(true);
    for (const [position, own] of [
      [second, [{ id: 'record-2', key: 'b', isParked: false }]],
      [undefined, []],
    ] as const) {
      const file = await openLetters(path, position && { position });
      expect(file.own).toEqual(own);
      await file.close();
    }
    // The first one, interrupted, comes back: what lies behind its position is not its own, and stays.
    expect((await fileLetters(path, [letterOf(3)], { position: first })).run).toBe(first.run);
    expect(await idsIn(path)).toEqual(['record-1', 'record-2', 'record-3']);
  });

  test('loses what its export wrote behind its position, and nothing else', async () => {
    const path = newPath();
    await fileLetters(path, [letterOf(1)]);
    const position = await fileLetters(path, [letterOf(2)]);
    await fileLetters(path, [letterOf(3), letterOf(4)], { position });
    const file = await openLetters(path, { position });
    expect(file.position).toEqual(position);
    expect(await idsIn(path)).toEqual(['record-1', 'record-2']);
    await file.append(letterOf(5));
    await file.close();
    expect(await idsIn(path)).toEqual(['record-1', 'record-2', 'record-5']);
  });

  test('keeps what no record is sent again for, as after an older state was restored', async () => {
    for (const first of [[], [letterOf(1)]]) {
      const path = newPath();
      const position = await fileLetters(path, first);
      await fileLetters(path, [letterOf(2), letterOf(3)], { position });
      const file = await openLetters(path, { position, resent: new Set(['record-3']) });
      expect(file.own.map(({ id }) => id)).toEqual([...first.map(({ id }) => id), 'record-2']);
      await file.append(letterOf(3));
      await file.close();
      expect(await idsIn(path)).toEqual([...first.map(({ id }) => id), 'record-2', 'record-3']);
    }
  });

  test.each([
    ['emptied', (path: string) => truncateSync(path)],
    ['cut to its first letter', (path: string) => truncateSync(path, readFileSync(path).indexOf('\n') + 1)],
  ])('that is %s while an export writes to it ends that, and the same one goes on', async (_, change) => {
    const path = newPath();
    await fileLetters(path, [letterOf(1)]);
    const file = await openLetters(path);
    await file.append(letterOf(2));
    const { position } = file;
    change(path);
    // Without the advice to start over, which would give up what a watch knows.
    expect(await faultOf(file.append(letterOf(3)))).toMatchObject({
      code: 'sink',
      message: expect.stringMatching(/emptied or changed while it was written to\. .* run it again/),
      advice: [],
    });
    await file.close();
    await fileLetters(path, [letterOf(3)], { position });
    expect((await idsIn(path)).at(-1)).toBe('record-3');
  });

  test('is cut back to its very beginning by an export that committed before its first letter', async () => {
    const path = newPath();
    const start = await fileLetters(path, []);
    expect(start.bytes).toBe(0);
    await fileLetters(path, [letterOf(1)], { position: start });
    await fileLetters(path, [letterOf(2)], { position: start });
    expect(await idsIn(path)).toEqual(['record-2']);
  });

  test('keeps letters behind the position when another export has written behind them', async () => {
    const path = newPath();
    const position = await fileLetters(path, [letterOf(1)]);
    await fileLetters(path, [letterOf(2)], { position });
    await fileLetters(path, [letterOf(3)]);
    const file = await openLetters(path, { position });
    expect(file.own.map(({ id }) => id)).toEqual(['record-1']);
    await file.close();
    expect(await idsIn(path)).toEqual(['record-1', 'record-2', 'record-3']);
  });

  test.each(['{', '{"id":"rec', '{"id":"record-2","key":null,"attempts":1,"sta'])(
    'loses a last line that is torn (%s), so that nothing is glued to it',
    async (torn) => {
      const path = newPath();
      await fileLetters(path, [letterOf(1)]);
      appendFileSync(path, torn);
      expect(await idsIn(path)).toEqual(['record-1']);
      expect(readFileSync(path, 'utf8').endsWith(torn)).toBe(true);
      await fileLetters(path, [letterOf(2)]);
      expect(await idsIn(path)).toEqual(['record-1', 'record-2']);
    },
  );

  test('keeps a whole last letter whose line has no end, as some editors leave it', async () => {
    const path = newPath();
    await fileLetters(path, [letterOf(1), letterOf(2)]);
    truncateSync(path, statSync(path).size - 1);
    expect(await idsIn(path)).toEqual(['record-1', 'record-2']);
    await fileLetters(path, [letterOf(3)]);
    expect(await idsIn(path)).toEqual(['record-1', 'record-2', 'record-3']);
  });

  test('may be moved away, or replayed to its end, while its export is interrupted', async () => {
    const path = newPath();
    const position = await fileLetters(path, [letterOf(1, { key: 'a' })]);
    renameSync(path, `${path}.old`);
    const fresh = await openLetters(path, { position });
    expect(fresh.own).toEqual([]);
    expect(fresh.position).toMatchObject({ bytes: 0, crc32: 0 });
    await fresh.close();
    // Another export begins the file anew meanwhile.
    await fileLetters(path, [letterOf(2)]);
    await fileLetters(path, [letterOf(3)], { position });
    expect(await idsIn(path)).toEqual(['record-2', 'record-3']);
  });

  test('no longer tells the key of a letter that was replayed, and still its id', async () => {
    const path = newPath();
    const letters = [letterOf(1, { key: 'a' }), letterOf(2, { key: 'b' })];
    const position = await fileLetters(path, letters);
    const send = ({ id }: { id: string }): Promise<void> =>
      id === 'record-2' ? Promise.reject(refusal(422)) : Promise.resolve();
    expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 1, stillDead: 1, left: 1 });
    const file = await openLetters(path, { position });
    expect(file.own).toEqual([
      { id: 'record-1', key: null, isParked: false },
      { id: 'record-2', key: 'b', isParked: false },
    ]);
    await file.close();
  });

  test('takes a record of 10 MB, which is read piece by piece', async () => {
    const path = newPath();
    const record = { text: '\u2028x'.repeat(2 * 1024 * 1024) };
    await fileLetters(path, [letterOf(1), letterOf(2, { record }), letterOf(3)]);
    const found = [];
    for await (const { letter } of readDeadLetters(path)) found.push(letter);
    expect(found.map(({ id }) => id)).toEqual(['record-1', 'record-2', 'record-3']);
    expect(JSON.stringify(found[1]!.record) === JSON.stringify(record)).toBe(true);
  });
});

describe('W9 refused, and nothing touched:', () => {
  const changes: readonly (readonly [string, (path: string) => void])[] = [
    ['a file that is shorter than its position', (path) => truncateSync(path, statSync(path).size - 5)],
    ['a file that lost its last letter', (path) => writeFileSync(path, `${linesOf(path)[0]!}\n`)],
    [
      'a file that was edited before its position',
      (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"n":1', '"n":7')),
    ],
    [
      'a file whose lines were exchanged',
      (path) => writeFileSync(path, `${linesOf(path)[1]!}\n${linesOf(path)[0]!}\n`),
    ],
  ];
  const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n');

  test.each(changes)('%s', async (_, change) => {
    const path = newPath();
    const position = await fileLetters(path, [letterOf(1), letterOf(2)]);
    change(path);
    const before = readFileSync(path);
    const error = await faultOf(openLetters(path, { position }));
    expect(error).toBeInstanceOf(CheckpointError);
    expect(error.message).toMatch(/shorter than a checkpoint says, or was changed.*Move it away/);
    expect(readFileSync(path)).toEqual(before);
    expect(folderOf(path)).toEqual([basename(path)]);
    rmSync(path);
    await fileLetters(path, [], { position });
  });

  test.each([1, 20, 200])('a file whose only letter was committed and then cut by %i bytes', async (bytes) => {
    const path = newPath();
    const position = await fileLetters(path, [letterOf(1, { answer: 'a'.repeat(200) })]);
    truncateSync(path, statSync(path).size - 1 - bytes);
    const before = readFileSync(path);
    const error = await faultOf(openLetters(path, { position }));
    expect(error).toBeInstanceOf(CheckpointError);
    expect(error.message).toContain('was changed since (line 1 is cut off)');
    expect(error.details).toEqual({ path, line: 1 });
    expect(readFileSync(path)).toEqual(before);
  });

  test.each([
    ['in the middle', (lines: string[]) => [lines[0]!, 'note to self', lines[1]!, ''], 2],
    ['at the end', (lines: string[]) => [lines[0]!, lines[1]!, 'note to self', ''], 3],
    ['at the end, without its line feed', (lines: string[]) => [lines[0]!, lines[1]!, 'note to self'], 3],
    ['that is empty', (lines: string[]) => [lines[0]!, '', lines[1]!, ''], 2],
    ['with zeros in the middle', (lines: string[]) => [`${lines[0]!.slice(0, 30)}\0\0\0`, lines[1]!, ''], 1],
    ['torn in the middle', (lines: string[]) => [lines[0]!.slice(0, 30), lines[1]!, ''], 1],
  ])('a line that is no letter, %s', async (_, change, line) => {
    const path = newPath();
    await fileLetters(path, [letterOf(1), letterOf(2)]);
    writeFileSync(path, change(linesOf(path)).join('\n'));
    const before = readFileSync(path);
    const send = (): Promise<void> => Promise.reject(new Error('sent'));
    for (const work of [() => openLetters(path), () => idsIn(path), () => replayDeadLetters(path, { send })]) {
      const error = await faultOf(work());
      expect(error).toBeInstanceOf(CheckpointError);
      expect(error.message).toContain(`Line ${String(line)} of ${path} is not a dead letter`);
      expect(error.details).toEqual({ path, line });
    }
    expect(readFileSync(path)).toEqual(before);
  });

  test.each([
    ['a folder', (path: string) => mkdirSync(path), /is a folder/],
    ['a pipe', (path: string) => execFileSync('mkfifo', [path]), /is not a regular file/],
    ['a link that leads nowhere', (path: string) => symlinkSync('/nowhere', path), /is not a regular file/],
    [
      'a link',
      (path: string) => {
        writeFileSync(`${path}.real`, '');
        symlinkSync(`${path}.real`, path);
      },
      /ELOOP.*links are not followed/,
    ],
  ])('%s', async (_, make, message) => {
    const path = newPath();
    make(path);
    const send = (): Promise<void> => Promise.resolve();
    for (const work of [() => openLetters(path), () => replayDeadLetters(path, { send })]) {
      const error = await faultOf(work());
      expect(error).toBeInstanceOf(SinkError);
      expect(error.message).toMatch(message);
    }
    expect(existsSync(deadLetterFolder(path))).toBe(false);
    await expect(idsIn(path)).rejects.toThrow(SinkError);
  });

  test('no name, and the name of a folder', async () => {
    for (const path of ['', `${temporaryFolder()}/`])
      expect(await faultOf(openLetters(path))).toBeInstanceOf(ConfigError);
    const error = await faultOf(openLetters(join(temporaryFolder(), 'none', 'dead.jsonl')));
    expect(error.message).toMatch(/none does not exist\. Create it/);
  });

  test("another user's file", async () => {
    const disk = simulatedDisk();
    disk.put('/data/dead.jsonl', '');
    disk.giveAway('/data/dead.jsonl');
    const error = await faultOf(openLetters('/data/dead.jsonl', { fileSystem: disk }));
    expect(error.message).toMatch(/belongs to another user/);
    expect(disk.paths()).toEqual(['/data/', '/data/dead.jsonl']);
  });

  test("another user's journal, which could keep letters from being sent", async () => {
    const disk = simulatedDisk();
    disk.putFolder('/data');
    await fileLetters('/data/dead.jsonl', [letterOf(1)], { fileSystem: disk });
    disk.put('/data/dead.jsonl.sluice/replayed', 'x');
    disk.giveAway('/data/dead.jsonl.sluice/replayed');
    const send = (): Promise<void> => Promise.resolve();
    const error = await faultOf(replayDeadLetters('/data/dead.jsonl', { send, fileSystem: disk }));
    expect(error.message).toMatch(/belongs to another user/);
  });
});

describe('W9 when the disk refuses,', () => {
  test.each([
    ['open', 'EACCES', /no permission/],
    ['write', 'ENOSPC', /disk is full/],
    ['sync', 'EIO', /EIO/],
  ] as const)('the first letter leaves no file (%s: %s)', async (name, code, message) => {
    const path = newPath();
    let isWriting = false;
    const fileSystem = faultyFileSystem((call) => (isWriting && call === name ? { code } : undefined));
    const file = await openLetters(path, { fileSystem });
    isWriting = true;
    const error = await faultOf(file.append(letterOf(1)));
    expect(error).toBeInstanceOf(SinkError);
    expect(error.message).toMatch(message);
    expect((await faultOf(file.append(letterOf(2)))).message).toMatch(/nothing more is written/);
    isWriting = false;
    expect(file.position.bytes).toBe(0);
    await file.close();
    expect(folderOf(path)).toEqual([]);
  });

  test('half a letter is neither counted nor glued to the next one', async () => {
    const disk = simulatedDisk(({ name, path, n }) =>
      name === 'write' && path === '/data/dead.jsonl' && isFull
        ? (halfAt ??= n) === n
          ? { short: 40 }
          : { code: 'ENOSPC' }
        : undefined,
    );
    let [isFull, halfAt]: [boolean, number | undefined] = [false, undefined];
    disk.putFolder('/data');
    const file = await openLetters('/data/dead.jsonl', { fileSystem: disk });
    await file.append(letterOf(1));
    const { position } = file;
    isFull = true;
    const [second, third] = await Promise.all([faultOf(file.append(letterOf(2))), faultOf(file.append(letterOf(3)))]);
    expect(second.message).toMatch(/disk is full/);
    expect(third.message).toMatch(/nothing more is written/);
    isFull = false;
    expect(file.position).toEqual(position);
    await file.close();
    expect(disk.bytes('/data/dead.jsonl')!.length).toBe(position.bytes + 40);
    await fileLetters('/data/dead.jsonl', [letterOf(4)], { position, fileSystem: disk });
    expect(await idsIn('/data/dead.jsonl', disk)).toEqual(['record-1', 'record-4']);
  });

  test('or somebody takes the file away, its letters are not said to be kept', async () => {
    const path = newPath();
    const file = await openLetters(path);
    await file.append(letterOf(1));
    rmSync(path);
    expect((await faultOf(file.append(letterOf(2)))).message).toMatch(/was removed or replaced/);
    await file.close();
  });
});

describe('W9 the lock', () => {
  test('keeps a replay off while an export may write, and tells who it is', async () => {
    const path = newPath();
    await fileLetters(path, [letterOf(1)]);
    const other = forkChild('lockContender.ts', deadLetterFolder(path));
    expect(await other.next()).toBe('ready');
    other.tell('lock');
    expect(await other.next()).toBe('owner');
    const send = (): Promise<void> => Promise.reject(new Error('sent'));
    for (const work of [() => openLetters(path), () => replayDeadLetters(path, { send })]) {
      const error = await faultOf(work());
      expect(error).toBeInstanceOf(LockError);
      expect(error.message).toContain(`process ${String(other.process.pid)}`);
    }
    // To look needs no lock.
    expect(await idsIn(path)).toEqual(['record-1']);
    await other.kill();
    await fileLetters(path, [letterOf(2)]);
    expect(await idsIn(path)).toEqual(['record-1', 'record-2']);
  });

  test('is waited for within a process, until the wait is aborted', async () => {
    const path = newPath();
    const export1 = await openLetters(path);
    await export1.append(letterOf(1));
    const sent: string[] = [];
    const send = ({ id }: { id: string }): Promise<void> => Promise.resolve(void sent.push(id));
    const impatient = new AbortController();
    const dropped = replayDeadLetters(path, { send, signal: impatient.signal });
    const replay = replayDeadLetters(path, { send });
    const reason = new Error('enough');
    setTimeout(() => impatient.abort(reason), 30);
    await expect(dropped).rejects.toBe(reason);
    await export1.append(letterOf(2));
    expect(sent).toEqual([]);
    await export1.close();
    expect(await replay).toEqual({ replayed: 2, stillDead: 0, left: 0 });
    expect(sent).toEqual(['record-1', 'record-2']);
    expect(folderOf(path)).toEqual([]);
  });

  test('is given back when opening fails', async () => {
    const path = newPath();
    writeFileSync(path, 'no letter\n');
    await faultOf(openLetters(path));
    const release = await fileState(deadLetterFolder(path)).lock(AbortSignal.timeout(1_000));
    await release();
    expect(folderOf(path)).toEqual([basename(path)]);
  });
});

test('W9 letters are read while they are written: what is whole by then', async () => {
  const path = newPath();
  const file = await openLetters(path);
  const seen = new Set<number>();
  const writing = new AbortController();
  const reading = (async () => {
    while (!writing.signal.aborted) {
      const ids = await idsIn(path).catch((error: unknown) => {
        // Before its first letter there is no file.
        if (error instanceof SinkError && error.message.includes('does not exist')) return [];
        throw error;
      });
      expect(ids).toEqual(ids.map((_, index) => `record-${String(index + 1)}`));
      seen.add(ids.length);
    }
  })();
  for (let n = 1; n <= 100; n += 1) await file.append(letterOf(n, { record: 'x'.repeat(100_000) }));
  writing.abort();
  await reading;
  await file.close();
  expect(seen.size).toBeGreaterThan(3);
  await expect(idsIn(`${path}.not`)).rejects.toThrow(/does not exist: no dead letters were written to it/);
});
