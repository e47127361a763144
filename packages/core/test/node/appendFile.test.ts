import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppendFile } from '../../src/node/appendFile.js';
import { nodeFileSystem, type FileSystem } from '../../src/node/index.js';
import { faultyFileSystem } from './faultyFileSystem.js';
import { tempFolder } from './tempFolder.js';

const room = 64 * 1024;

describe('a file that grows', () => {
  test('holds what was appended, in its order, texts and bytes of any size', async () => {
    const folder = tempFolder();
    const size = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: room - 2, max: 3 * room }));
    const piece = fc.record({ size, isText: fc.boolean(), isFlushed: fc.boolean() });
    let files = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const file = await AppendFile.create(halvingFileSystem(), join(folder, `file ${(files += 1)}`));
        const parts: Buffer[] = [];
        for (const [nth, { size, isText, isFlushed }] of pieces.entries()) {
          const text = `${nth}ü€`.repeat(Math.ceil(size / 4)).slice(0, size);
          parts.push(Buffer.from(text));
          const bytes = Buffer.from(text);
          await file.append(isText ? text : bytes);
          // They are the caller's again.
          bytes.fill('?');
          if (isFlushed) await file.flush();
        }
        const whole = Buffer.concat(parts);
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
    const file = await AppendFile.create(fileSystem, join(tempFolder(), 'file'));
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
