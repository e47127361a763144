import { CheckpointError } from '../../errors.js';
import { withPath } from './diskFault.js';
import { unlessAbsent, type FileSystem, type WritableFile } from './fileSystem.js';

/** Opens a file to read it, and closes it; `undefined` if there is none. @throws SinkError if it can't be read. */
export async function withFile<R>(
  fileSystem: FileSystem,
  path: string,
  read: (file: WritableFile) => Promise<R>,
): Promise<R | undefined> {
  const file = await withPath(unlessAbsent(fileSystem.open(path, 'readable')), path, 'opened');
  if (!file) return undefined;
  try {
    return await read(file);
  } finally {
    await file.close().catch(() => undefined);
  }
}

/** Reads a small file; `undefined` if there is none. @throws SinkError if it can't be read. */
export function readWhole(fileSystem: FileSystem, path: string): Promise<Buffer | undefined> {
  return withFile(fileSystem, path, async (file) =>
    readBytes(file, path, 0, await withPath(file.size(), path, 'inspected')),
  );
}

/** Reads so many bytes from a position on; fewer if the file ends before. @throws SinkError if they can't be read. */
export async function readBytes(file: WritableFile, path: string, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let size = 0;
  while (size < length) {
    const read = await withPath(file.read(bytes.subarray(size), start + size), path, 'read');
    if (read === 0) break;
    size += read;
  }
  return bytes.subarray(0, size);
}

/** @throws CheckpointError if another user owns the file, and so may change it at any time. */
export async function checkOwner(fileSystem: FileSystem, path: string): Promise<void> {
  if (await withPath(fileSystem.isOurs(path), path, 'inspected')) return;
  throw new CheckpointError(
    `${path} belongs to another user of this machine. Ask its owner, or use another path: nothing was changed.`,
    { path },
  );
}

const bytesPerRead = 1024 * 1024;

/** Yields the first bytes of a file in pieces, or those from a position on. Each piece is overwritten by the next one. */
export async function* readPieces(
  file: WritableFile,
  path: string,
  bytes: number,
  from = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = new Uint8Array(Math.min(bytes - from, bytesPerRead));
  for (let at = from; at < bytes;) {
    const read = await withPath(file.read(buffer.subarray(0, Math.min(buffer.length, bytes - at)), at), path, 'read');
    if (read === 0) return;
    yield buffer.subarray(0, read);
    at += read;
  }
}

/** A line of a file. */
export interface FileLine {
  /** Without the line end. */
  readonly bytes: Buffer;
  readonly start: number;
  /** After its line end. */
  readonly end: number;
  /** Whether it has a line end; the last one may not. */
  readonly isEnded: boolean;
}

const lineFeed = 10;

/**
 * Yields the lines in the first bytes of a file, or those from a position on, at which one begins. Only a line feed ends
 * a line.
 */
export function readLines(
  file: WritableFile,
  path: string,
  bytes = Infinity,
  from = 0,
): AsyncGenerator<FileLine, undefined, undefined> {
  return splitLines(readPieces(file, path, bytes, from), from);
}

/** The same of pieces that are read otherwise. Each may be overwritten by the next one. */
export async function* splitLines(
  pieces: AsyncIterable<Uint8Array>,
  from = 0,
): AsyncGenerator<FileLine, undefined, undefined> {
  let rest: Buffer[] = [];
  let start = from;
  let at = from;
  for await (const piece of pieces) {
    let first = 0;
    for (let to = piece.indexOf(lineFeed); to !== -1; to = piece.indexOf(lineFeed, first)) {
      const end = at + to + 1;
      yield { bytes: Buffer.concat([...rest, piece.subarray(first, to)]), start, end, isEnded: true };
      rest = [];
      start = end;
      first = to + 1;
    }
    // A copy, because the next read overwrites the piece.
    if (first < piece.length) rest.push(Buffer.from(piece.subarray(first)));
    at += piece.length;
  }
  if (start < at) yield { bytes: Buffer.concat(rest), start, end: at, isEnded: false };
}
