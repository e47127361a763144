import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/**
 * A stream on a descriptor that is a file or a device; `undefined` for a pipe, a socket or a terminal, which Node's own stream serves well. A
 * disk that is nearly full takes a part of what it is given, without an error, and that stream does not look.
 */
export function wholeWrites(descriptor: number): Writable | undefined {
  if (!isFile(descriptor)) return undefined;
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, written) {
      try {
        for (let at = 0; at < chunk.length;) at += writeSync(descriptor, chunk, at);
        written();
      } catch (error) {
        written(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
}

function isFile(descriptor: number): boolean {
  try {
    // `bigint`, since Node 20 keeps the last plain answer, and its loader takes every path for a pipe while that is one.
    const found = fstatSync(descriptor, { bigint: true });
    return found.isFile() || found.isCharacterDevice();
  } catch {
    return false;
  }
}
