import { crc32 } from 'node:zlib';
import type { WritableFile } from './fileSystem.js';

const bytesPerRead = 1024 * 1024;

/** The CRC-32 of a file's first bytes; `undefined` if it ends before. It tells changes apart, and is no protection against forgery. */
export async function checksum(file: WritableFile, bytes: number): Promise<number | undefined> {
  const buffer = new Uint8Array(Math.min(bytes, bytesPerRead));
  let sum = 0;
  for (let at = 0; at < bytes;) {
    const read = await file.read(buffer.subarray(0, Math.min(buffer.length, bytes - at)), at);
    if (read === 0) return undefined;
    sum = crc32(buffer.subarray(0, read), sum);
    at += read;
  }
  return sum;
}
