import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError, SluiceError } from '../../errors.js';
import { isCount, isRecord, platformCode } from '../../values.js';
import { withPath } from './diskFault.js';
import type { FileSystem, WritableFile } from './fileSystem.js';
import { checkOwner, readLines, readPieces } from './readFile.js';
import { writeAll } from './wholeFile.js';

/** The length of a file and the checksum of its bytes, as stored in a checkpoint. Plain JSON. */
export type FilePosition = Readonly<Record<'bytes' | 'crc32', number>>;

/** The position in an empty file. */
export const startOfFile: FilePosition = { bytes: 0, crc32: 0 };

const encoder = new TextEncoder();
/** Sizes of the buffer. A file gets the larger one after writing `maxBuffer` bytes since its last flush. */
const minBuffer = 64 * 1024;
const maxBuffer = 256 * 1024;

/**
 * A file that only grows, with a checksum of its content. The checksum detects changes, not forgery.
 *
 * Appended bytes fill a buffer, which is written when more comes than it takes; chunks as large as a buffer are written
 * directly. So a disk error may be raised by a later call, at the latest by `flush`.
 */
export class AppendFile {
  readonly path: string;
  readonly #fs: FileSystem;
  readonly #file: WritableFile;
  #bytes: number;
  #crc32: number;
  /** Raised by all later calls, since bytes may be missing. */
  #failure: Error | undefined;
  #isNameDurable = false;
  /** Bytes that are not written yet, at the start of the buffer. */
  #buffer: Uint8Array | undefined;
  #buffered = 0;
  /** The position of the last flush. */
  #flushed: FilePosition;
  /** How far the file is written. */
  #written: number;

  private constructor(fileSystem: FileSystem, path: string, file: WritableFile, sinkPosition: FilePosition) {
    this.path = path;
    this.#fs = fileSystem;
    this.#file = file;
    this.#bytes = this.#written = sinkPosition.bytes;
    this.#crc32 = sinkPosition.crc32;
    this.#flushed = sinkPosition;
  }

  /** `private`: only its owner may read it. @throws SinkError if it exists or can't be created. */
  static async create(fileSystem: FileSystem, path: string, mode: 'new' | 'private' = 'new'): Promise<AppendFile> {
    const file = await withPath(fileSystem.open(path, mode), path, 'created');
    return new AppendFile(fileSystem, path, file, startOfFile);
  }

  /**
   * Opens a file at a position from `flush`. It is unchanged until `cut`.
   *
   * @throws CheckpointError if the file is missing, shorter, or different up to the position.
   */
  static async reopen(fileSystem: FileSystem, path: string, sinkPosition: FilePosition): Promise<AppendFile> {
    const kind = await withPath(fileSystem.kind(path), path, 'inspected');
    if (kind !== 'file')
      throw new CheckpointError(
        kind === 'absent'
          ? `${path} no longer exists, but a checkpoint refers to it.`
          : `${path} is not a regular file any more: move it away.`,
        { path },
        [{ kind: 'restart' }],
      );
    await checkOwner(fileSystem, path);
    const file = await withPath(fileSystem.open(path, 'existing'), path, 'opened');
    try {
      const size = await withPath(file.size(), path, 'inspected');
      if (size < sinkPosition.bytes)
        throw new CheckpointError(
          `${path} is shorter (${size} bytes) than its checkpoint says (${sinkPosition.bytes}).`,
          { path, isEdited: true },
          [{ kind: 'restart' }],
        );
      if ((await checksum(file, path, sinkPosition.bytes)) !== sinkPosition.crc32)
        throw new CheckpointError(`${path} was changed since its checkpoint was written.`, { path, isEdited: true }, [
          { kind: 'restart' },
        ]);
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
    return new AppendFile(fileSystem, path, file, sinkPosition);
  }

  /**
   * Whether a file ends at a position with the same content; `false` if it can't be read or is a link.
   *
   * @param mayGoOn something else may follow. Default `false`
   */
  static async isAt(
    fileSystem: FileSystem,
    path: string,
    { bytes, crc32 }: FilePosition,
    mayGoOn = false,
  ): Promise<boolean> {
    if ((await withPath(fileSystem.kind(path), path, 'inspected')) !== 'file') return false;
    const file = await withPath(openIfReadable(fileSystem, path), path, 'opened');
    if (!file) return false;
    try {
      const size = await withPath(file.size(), path, 'inspected');
      if (mayGoOn ? size < bytes : size !== bytes) return false;
      return (await checksum(file, path, bytes)) === crc32;
    } finally {
      await file.close().catch(() => undefined);
    }
  }

  /** Truncates the file to the position at which it was opened. */
  async cut(): Promise<void> {
    if ((await this.size()) > this.#bytes) await withPath(this.#file.truncate(this.#bytes), this.path, 'truncated');
  }

  /** The complete lines behind the position at which it was opened, without their ends. */
  async *linesBehind(): AsyncGenerator<Buffer, void, undefined> {
    for await (const { bytes, isEnded } of readLines(this.#file, this.path, Infinity, this.#bytes))
      if (isEnded) yield bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get sinkPosition(): FilePosition {
    return { bytes: this.#bytes, crc32: this.#crc32 };
  }

  /** Appends text or bytes, which are durable after the next `flush`. */
  async append(content: string | Uint8Array): Promise<void> {
    this.#checkUsable();
    if (typeof content !== 'string' && content.length >= minBuffer) {
      await this.#writeBuffer();
      this.#crc32 = crc32(content, this.#crc32);
      this.#bytes += content.length;
      await this.#write(content);
      return;
    }
    let rest = content;
    while (rest.length > 0) {
      const buffer = this.#currentBuffer();
      const { taken, put } = fill(buffer.subarray(this.#buffered), rest);
      this.#crc32 = crc32(buffer.subarray(this.#buffered, this.#buffered + put), this.#crc32);
      this.#bytes += put;
      this.#buffered += put;
      rest = typeof rest === 'string' ? rest.slice(taken) : rest.subarray(taken);
      if (rest.length > 0) await this.#writeBuffer();
    }
  }

  /** Only an empty one is replaced by a larger one. */
  #currentBuffer(): Uint8Array {
    const size = this.#bytes - this.#flushed.bytes < maxBuffer ? minBuffer : maxBuffer;
    if (!this.#buffer || (this.#buffered === 0 && this.#buffer.length < size)) this.#buffer = new Uint8Array(size);
    return this.#buffer;
  }

  async #writeBuffer(): Promise<void> {
    this.#checkUsable();
    if (!this.#buffer || this.#buffered === 0) return;
    await this.#write(this.#buffer.subarray(0, this.#buffered));
    this.#buffered = 0;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      // After a changed end, a write would leave a gap, and the size would be right.
      await this.#checkSize(this.#written);
      await writeAll(this.#file, this.path, bytes, this.#written);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
    this.#written += bytes.length;
  }

  /**
   * Yields the content in pieces. Each piece is overwritten by the next one.
   *
   * @throws SinkError after the last piece, if the content is not what was appended.
   */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    await this.#writeBuffer();
    let sum = 0;
    let seen = 0;
    for await (const piece of readPieces(this.#file, this.path, this.#bytes)) {
      sum = crc32(piece, sum);
      seen += piece.length;
      yield piece;
    }
    if (seen !== this.#bytes || sum !== this.#crc32)
      throw await this.#damaged('does not contain what was written to it');
  }

  /** Reads the content again. @throws SinkError if it is not exactly what was appended. */
  async verify(): Promise<void> {
    await this.#writeBuffer();
    await this.#checkSize(this.#bytes);
    const sum = await checksum(this.#file, this.path, this.#bytes);
    if (sum !== this.#crc32) throw await this.#damaged('does not contain what was written to it');
  }

  /** Makes all appended bytes durable; resolves to the position to resume from. */
  async flush(): Promise<FilePosition> {
    await this.#writeBuffer();
    // A partition that waits for others may get nothing more for long.
    this.#buffer = undefined;
    await this.#sync();
    await this.#checkSize(this.#bytes);
    this.#flushed = this.sinkPosition;
    return this.sinkPosition;
  }

  async #checkSize(bytes: number): Promise<void> {
    const size = await this.size();
    if (size !== bytes) throw await this.#damaged(`has ${size} bytes, but ${bytes} were written`);
  }

  /** Somebody else changed the file. It can be resumed if it is unchanged up to the last flush. */
  async #damaged(what: string): Promise<SinkError> {
    const { bytes, crc32: sum } = this.#flushed;
    const isSound = (await checksum(this.#file, this.path, bytes)) === sum;
    const wayOut = isSound ? 'Find out who, then run it again: committed rows are intact.' : 'Find out who.';
    const damaged = `${what}: another process is changing it`;
    return new SinkError(`${this.path} ${damaged}. ${wayOut}`, {
      details: { path: this.path, damaged, isSound },
      ...(!isSound && { advice: [{ kind: 'restart' }] }),
    });
  }

  /** After a failed sync the system may have dropped bytes, which it reports only once. */
  async #sync(): Promise<void> {
    this.#checkUsable();
    try {
      await withPath(this.#file.sync(), this.path, 'written');
    } catch (error) {
      this.#failure = new SinkError(
        `${this.path} could not be made durable, so nothing more is written to it. Check the disk, then run it again.`,
      );
      throw error;
    }
  }

  #checkUsable(): void {
    if (this.#failure) throw this.#failure;
  }

  /** Makes the name durable, once. Nobody needs that before a checkpoint refers to the file. */
  async syncName(): Promise<void> {
    if (this.#isNameDurable) return;
    await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'created');
    this.#isNameDurable = true;
  }

  /** Whether the path names this file, another one or nothing. */
  async whatHasItsName(): Promise<'this' | 'another' | 'nothing'> {
    const mine = await withPath(this.#file.identity(), this.path, 'inspected');
    const named = await withPath(this.#fs.identity(this.path), this.path, 'inspected');
    return mine === named ? 'this' : named === undefined ? 'nothing' : 'another';
  }

  /** Renames it to a free name, which is returned; `undefined` if its path names another file now. */
  async setAside(): Promise<string | undefined> {
    if ((await this.whatHasItsName()) !== 'this') return undefined;
    for (let nth = 1; ; nth += 1) {
      const name = `${this.path}.damaged${nth === 1 ? '' : `-${nth}`}`;
      if (!(await withPath(renameIfFree(this.#fs, this.path, name), this.path, 'renamed'))) continue;
      await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'renamed');
      return name;
    }
  }

  /** Changes when somebody changes the content. */
  version(): Promise<string> {
    return withPath(this.#file.version(), this.path, 'inspected');
  }

  /** The current length in bytes. */
  size(): Promise<number> {
    return withPath(this.#file.size(), this.path, 'inspected');
  }

  /** Whether the first bytes are zeros or missing, as after a truncation by somebody else. */
  async isCut(bytes: number): Promise<boolean> {
    for await (const piece of readPieces(this.#file, this.path, bytes))
      if (piece.some((byte) => byte !== 0)) return false;
    return true;
  }

  /** Truncates to a position, unless somebody else wrote too. Nothing may be appended after this. */
  async takeBack({ bytes }: FilePosition): Promise<void> {
    if ((await this.size()) !== this.#written || this.#written === bytes) return;
    await withPath(this.#file.truncate(bytes), this.path, 'truncated');
    await withPath(this.#file.sync(), this.path, 'truncated');
  }

  /** Closes the file, and drops what was buffered since the last `flush`. */
  async close(): Promise<void> {
    await withPath(this.#file.close(), this.path, 'written');
  }
}

/**
 * Renames a file; returns whether the name was free. A link never replaces a file, unlike a rename. Without links, as on
 * some file systems, a check has to do.
 */
export async function renameIfFree(fileSystem: FileSystem, from: string, to: string): Promise<boolean> {
  try {
    await fileSystem.link(from, to);
  } catch (error) {
    const code = platformCode(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(code)) throw error;
    if ((await fileSystem.kind(to)) !== 'absent') return false;
    await fileSystem.rename(from, to);
    return true;
  }
  // The new name is durable before the old one goes, or a power cut could remove both.
  await fileSystem.syncFolder(dirname(to));
  await fileSystem.unlink(from);
  return true;
}

/** Decodes the position in a checkpoint. @throws CheckpointError if it is not one. */
export function decodeFilePosition(sinkPosition: unknown): FilePosition {
  if (isRecord(sinkPosition)) {
    const { bytes, crc32: sum } = sinkPosition;
    if (isCount(bytes) && isCount(sum)) return { bytes, crc32: sum };
  }
  throw new CheckpointError('The checkpoint does not say where in the file to resume.', {}, [{ kind: 'restart' }]);
}

/** Whether an error says that somebody else changed the file. */
export function isDamage(error: unknown): error is SluiceError {
  return SluiceError.is(error, 'sink') && error.details['damaged'] !== undefined;
}

/** Copies what fits into the buffer: `taken` units of the content, as `put` bytes. */
function fill(buffer: Uint8Array, content: string | Uint8Array): { readonly taken: number; readonly put: number } {
  if (typeof content === 'string') {
    const { read, written } = encoder.encodeInto(content, buffer);
    return { taken: read, put: written };
  }
  const put = Math.min(buffer.length, content.length);
  buffer.set(content.subarray(0, put));
  return { taken: put, put };
}

async function openIfReadable(fileSystem: FileSystem, path: string): Promise<WritableFile | undefined> {
  try {
    return await fileSystem.open(path, 'readable');
  } catch (error) {
    if (['ELOOP', 'EACCES', 'EPERM'].includes(platformCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** The checksum of the first bytes; `undefined` if the file is shorter. */
async function checksum(file: WritableFile, path: string, bytes: number): Promise<number | undefined> {
  let sum = 0;
  let seen = 0;
  for await (const piece of readPieces(file, path, bytes)) {
    sum = crc32(piece, sum);
    seen += piece.length;
  }
  return seen === bytes ? sum : undefined;
}
