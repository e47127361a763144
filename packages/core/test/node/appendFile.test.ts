import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppendFile } from '../../src/node/files/appendFile.js';
import { nodeFileSystem, type FileSystem } from '../../src/node/index.js';
import { type DiskCall, faultyFileSystem } from './faultyFileSystem.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';

const room = 64 * 1024;

describe('a file that grows', () => {
  test('holds what was appended, in its order, texts and bytes of any size', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder();
    const size = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: room - 2, max: 5 * room }));
    const piece = fc.record({ size, isText: fc.boolean(), isFlushed: fc.nat(5).map((nth) => nth === 0) });
    let files = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const file = await AppendFile.create(halvingFileSystem(), join(folder, `file ${(files += 1)}`));
        const partitions: Buffer[] = [];
        for (const [nth, { size, isText, isFlushed }] of pieces.entries()) {
          const text = `${nth}ü€`.repeat(Math.ceil(size / 4)).slice(0, size);
          partitions.push(Buffer.from(text));
          const bytes = Buffer.from(text);
          await file.append(isText ? text : bytes);
          // They are the caller's again.
          bytes.fill('?');
          if (isFlushed) await file.flush();
        }
        const whole = Buffer.concat(partitions);
        expect(await file.flush()).toEqual({ bytes: whole.length, crc32: crc32(whole) });
        await file.close();
        expect(readFileSync(file.path).equals(whole)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['a text', 'x'.repeat(3 * room)],
    ['bytes', Buffer.alloc(3 * room)],
  ])('tells of %s that could not be written, and takes nothing more', async (_, content) => {
    let isFull = true;
    const fileSystem = faultyFileSystem((call) => (isFull && call === 'write' ? { code: 'ENOSPC' } : undefined));
    const file = await AppendFile.create(fileSystem, join(temporaryFolder(), 'file'));
    await expect(file.append(content)).rejects.toMatchObject({
      code: 'sink',
      message: expect.stringContaining('full'),
    });
    isFull = false;
    // What lies between would be missing.
    await expect(file.append(content)).rejects.toMatchObject({ code: 'sink' });
    await expect(file.append('y')).rejects.toMatchObject({ code: 'sink' });
    await expect(file.flush()).rejects.toMatchObject({ code: 'sink' });
    await file.close();
  });
});

test('a file that gets much between two flushes is written in larger pieces', async () => {
  const sizes: number[] = [];
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    async open(path, mode) {
      const file = await nodeFileSystem.open(path, mode);
      return { ...file, write: (bytes, at) => (sizes.push(bytes.length), file.write(bytes, at)) };
    },
  };
  const file = await AppendFile.create(fileSystem, join(temporaryFolder(), 'file'));
  for (let nth = 0; nth < 15; nth += 1) await file.append('x'.repeat(room));
  await file.flush();
  expect(sizes.map((size) => size / room)).toEqual([1, 1, 1, 1, 4, 4, 3]);
  sizes.length = 0;
  for (let nth = 0; nth < 3; nth += 1) await file.append('x'.repeat(room));
  await file.flush();
  expect(sizes.map((size) => size / room)).toEqual([1, 1, 1]);
  const sinkPosition = await file.flush();
  await file.close();
  // What an earlier run wrote says nothing of this one.
  sizes.length = 0;
  const reopened = await AppendFile.reopen(fileSystem, file.path, sinkPosition);
  for (let nth = 0; nth < 3; nth += 1) await reopened.append('x'.repeat(room));
  await reopened.flush();
  expect(sizes.map((size) => size / room)).toEqual([1, 1, 1]);
  await reopened.close();
});

test.each([1, 2])('a disk that cannot say which file has the name is an error with its path (call %i)', async (nth) => {
  let calls = 0;
  const fault = (call: DiskCall) => (call === 'identity' && (calls += 1) === nth ? { code: 'EIO' } : undefined);
  const fileSystem = faultyFileSystem(fault);
  const path = join(temporaryFolder(), 'file');
  const file = await AppendFile.create(fileSystem, path);
  const error: unknown = await file.whatHasItsName().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'sink', details: { path, platformCode: 'EIO' } });
  await file.close();
});

/** A disk that takes at most half of what it is given, unless that is a byte. */
function halvingFileSystem(): FileSystem {
  return {
    ...nodeFileSystem,
    async open(path, mode) {
      const file = await nodeFileSystem.open(path, mode);
      return {
        ...file,
        write: (bytes, position) => file.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), position),
      };
    },
  };
}
