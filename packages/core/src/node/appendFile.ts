import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError, SluiceError } from '../errors.js';
import { isCount } from '../values.js';
import { diskFault } from './diskFault.js';
import { platformCode, type FileSystem, type WritableFile } from './fileSystem.js';

/** How far a file was written, and a checksum of all up to there: what a checkpoint keeps of it. Plain JSON. */
export type FilePosition = Readonly<Record<'bytes' | 'crc32', number>>;

const encoder = new TextEncoder();
const bytesPerRead = 1024 * 1024;
/**
 * Bytes that are collected before they are written: fewer calls of the system, and the next ones are made while these are on their way. The
 * larger room is for a file that has filled the smaller one a few times since it was flushed.
 */
const [minRoom, maxRoom] = [64 * 1024, 256 * 1024];
/** So much is written before the disk is set to work on it, so that little is left to wait for at a commit. */
const bytesPerWriteBack = 2 * 1024 * 1024;

/**
 * A file that only ever grows, and knows the checksum of all that is in it. It tells changes apart, and does not stop a forger.
 *
 * What is appended goes into one of two rooms: while one fills, the other is written; bytes that fill one by themselves are written as they
 * are. So a fault of the disk may be told by a later call than the one that brought the bytes, and by `flush` at the latest.
 */
export class AppendFile {
  readonly path: string;
  readonly #file: WritableFile;
  #bytes: number;
  #crc32: number;
  /** A sync failed: the system may have dropped what it could not write, and says so only once. */
  #isPoisoned = false;
  /** What is not given to the system yet: the first bytes of a room. */
  #room: Uint8Array | undefined;
  #filled = 0;
  /** How far it went at the last flush. */
  #flushed: FilePosition;
  /** The other room, while nobody writes it. */
  #spare: Uint8Array | undefined;
  /** A write that nobody waits for yet, and how far the file goes with it. */
  #writing: Promise<void> = Promise.resolve();
  #written: number;
  /** That write failed: told to the next one who brings bytes, or asks for them. */
  #hasFailed = false;
  /** A sync that nobody waits for yet, and how far it goes. */
  #writeBack: Promise<void> | undefined;
  #writtenBack: number;

  private constructor(path: string, file: WritableFile, sinkPosition: FilePosition) {
    this.path = path;
    this.#file = file;
    this.#bytes = this.#written = this.#writtenBack = sinkPosition.bytes;
    this.#crc32 = sinkPosition.crc32;
    this.#flushed = sinkPosition;
  }

  /** `private`: nobody else may read it. @throws SinkError if it can't be made, or is there already. */
  static async create(fileSystem: FileSystem, path: string, mode: 'new' | 'private' = 'new'): Promise<AppendFile> {
    const file = await explained(fileSystem.open(path, mode), path, 'created');
    return new AppendFile(path, file, { bytes: 0, crc32: 0 });
  }

  /**
   * Opens a file at a place that `flush` answered, and touches nothing yet: `cut` takes off what lies behind.
   *
   * @throws CheckpointError if the file is missing, shorter, or another one up to there.
   */
  static async reopen(fileSystem: FileSystem, path: string, sinkPosition: FilePosition): Promise<AppendFile> {
    const kind = await explained(fileSystem.kind(path), path, 'looked at');
    if (kind !== 'file')
      throw new CheckpointError(
        kind === 'absent'
          ? `${path} no longer exists, but a checkpoint refers to it.`
          : `${path} is not a regular file any more: move it away.`,
        { path },
        [{ kind: 'restart' }],
      );
    await checkOwner(fileSystem, path);
    const file = await explained(fileSystem.open(path, 'existing'), path, 'opened');
    try {
      const size = await explained(file.size(), path, 'looked at');
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
    return new AppendFile(path, file, sinkPosition);
  }

  /** Whether a file holds just what was written up to a place. One that can't be read, or is a link, is none of ours. */
  static async isAt(fileSystem: FileSystem, path: string, sinkPosition: FilePosition): Promise<boolean> {
    if ((await explained(fileSystem.kind(path), path, 'looked at')) !== 'file') return false;
    const file = await explained(openIfReadable(fileSystem, path), path, 'opened');
    if (!file) return false;
    try {
      const size = await explained(file.size(), path, 'looked at');
      return size === sinkPosition.bytes && (await checksum(file, path, size)) === sinkPosition.crc32;
    } finally {
      await file.close().catch(() => undefined);
    }
  }

  /** Takes off what lies behind the place at which it was opened. */
  async cut(): Promise<void> {
    const size = await explained(this.#file.size(), this.path, 'looked at');
    if (size > this.#bytes) await explained(this.#file.truncate(this.#bytes), this.path, 'cut back');
  }

  get bytes(): number {
    return this.#bytes;
  }

  get sinkPosition(): FilePosition {
    return { bytes: this.#bytes, crc32: this.#crc32 };
  }

  /** Puts text or bytes behind the last byte; durable with the next `flush`. */
  async append(content: string | Uint8Array): Promise<void> {
    this.#checkTrust();
    if (this.#hasFailed) await this.#writing;
    if (typeof content !== 'string' && content.length >= minRoom) {
      await this.#appendWhole(content);
      this.#startWriteBack();
      return;
    }
    let rest = content;
    while (rest.length > 0) {
      const room = (this.#room ??= this.#newRoom());
      const { taken, put } = filledIn(room.subarray(this.#filled), rest);
      this.#crc32 = crc32(room.subarray(this.#filled, this.#filled + put), this.#crc32);
      this.#bytes += put;
      this.#filled += put;
      rest = typeof rest === 'string' ? rest.slice(taken) : rest.subarray(taken);
      if (rest.length > 0) {
        await this.#passOn();
        this.#startWriteBack();
      }
    }
  }

  #newRoom(): Uint8Array {
    const size = this.#bytes - this.#flushed.bytes < maxRoom ? minRoom : maxRoom;
    const room = this.#spare?.length === size ? this.#spare : new Uint8Array(size);
    this.#spare = undefined;
    return room;
  }

  /** What fills a room by itself is written as it is. It is waited for, since its bytes are the caller's. */
  async #appendWhole(bytes: Uint8Array): Promise<void> {
    await this.#passOn();
    await this.#writing;
    this.#crc32 = crc32(bytes, this.#crc32);
    this.#bytes += bytes.length;
    this.#beginWriting(bytes);
    await this.#writing;
  }

  /** Begins to write what was collected, once the room before it is written. */
  async #passOn(): Promise<void> {
    const [room, filled] = [this.#room, this.#filled];
    await this.#writing;
    if (!room || filled === 0) return;
    [this.#room, this.#filled] = [undefined, 0];
    this.#beginWriting(room.subarray(0, filled), () => {
      this.#spare = room;
    });
  }

  #beginWriting(bytes: Uint8Array, onWritten?: () => void): void {
    this.#writing = this.#write(bytes).then(onWritten);
    this.#writing.catch(() => {
      this.#hasFailed = true;
    });
  }

  async #settle(): Promise<void> {
    await this.#passOn();
    await this.#writing;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    // Behind an end that was moved, a write would leave a gap that has the right size.
    await this.#checkSize(this.#written);
    let rest = bytes;
    while (rest.length > 0) {
      // A disk that is nearly full takes a part of what it is given, without an error.
      const written = await explained(this.#file.write(rest, this.#written), this.path, 'written');
      if (written === 0)
        throw new SinkError(
          `${this.path} can't be written: the disk takes no more bytes. Make room, then run it again.`,
        );
      this.#written += written;
      rest = rest.subarray(written);
    }
  }

  /**
   * All that is in it, a piece at a time. A piece is overwritten by the next one.
   *
   * @throws SinkError behind the last piece, if these are not the bytes that were appended.
   */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    await this.#settle();
    let [sum, seen] = [0, 0];
    for await (const piece of pieces(this.#file, this.path, this.#bytes)) {
      sum = crc32(piece, sum);
      seen += piece.length;
      yield piece;
    }
    if (seen !== this.#bytes || sum !== this.#crc32) throw await this.#damaged('does not hold what was written to it');
  }

  /** Reads all of it again. @throws SinkError if it is not what was appended, no more and no less. */
  async verify(): Promise<void> {
    await this.#settle();
    await this.#checkSize(this.#bytes);
    const sum = await checksum(this.#file, this.path, this.#bytes);
    if (sum !== this.#crc32) throw await this.#damaged('does not hold what was written to it');
  }

  /** Makes all that was appended durable; answers the place to go on from. */
  async flush(): Promise<FilePosition> {
    this.#checkTrust();
    await this.#settle();
    // A part that waits for its turn may get nothing more for long.
    this.#room = this.#spare = undefined;
    await this.#sync();
    await this.#checkSize(this.#bytes);
    this.#flushed = this.sinkPosition;
    return this.sinkPosition;
  }

  async #checkSize(bytes: number): Promise<void> {
    const size = await explained(this.#file.size(), this.path, 'looked at');
    if (size !== bytes) throw await this.#damaged(`has ${size} bytes, but ${bytes} were written`);
  }

  /** Somebody else has changed it. Whether one can go on behind the last flush depends on what is left of that. */
  async #damaged(what: string): Promise<SinkError> {
    const { bytes, crc32: sum } = this.#flushed;
    const isSound = (await checksum(this.#file, this.path, bytes)) === sum;
    const wayOut = isSound ? 'Find out who, then run it again: what was committed is sound.' : 'Find out who.';
    const damaged = `${what}: somebody else changes it`;
    return new SinkError(`${this.path} ${damaged}. ${wayOut}`, {
      details: { path: this.path, damaged, isSound },
      ...(!isSound && { advice: [{ kind: 'restart' }] }),
    });
  }

  /** Sets the disk to work, unless it is: what goes wrong is told by the next call. Not on the way to a sync, which would wait for both. */
  #startWriteBack(): void {
    if (this.#writeBack || this.#written - this.#writtenBack < bytesPerWriteBack) return;
    this.#writtenBack = this.#written;
    this.#writeBack = this.#file
      .sync()
      .catch(() => {
        this.#isPoisoned = true;
      })
      .finally(() => {
        this.#writeBack = undefined;
      });
  }

  async #sync(): Promise<void> {
    await this.#writeBack;
    this.#checkTrust();
    this.#isPoisoned = true;
    await explained(this.#file.sync(), this.path, 'written');
    this.#isPoisoned = false;
    this.#writtenBack = this.#written;
  }

  #checkTrust(): void {
    if (this.#isPoisoned)
      throw new SinkError(
        `${this.path} could not be made durable, so nothing more is written to it. Look at the disk, then run it again.`,
      );
  }

  /** What its path names by now: this very file, one that somebody put there since, or nothing. */
  async whatHasItsName(fileSystem: FileSystem): Promise<'this' | 'another' | 'nothing'> {
    const [mine, named] = [await this.#file.identity(), await fileSystem.identity(this.path)];
    return mine === named ? 'this' : named === undefined ? 'nothing' : 'another';
  }

  /** Gives it a name that nobody has, so that its own is free again; answers that name. `undefined` if its own is another file's by now. */
  async setAside(fileSystem: FileSystem): Promise<string | undefined> {
    if ((await explained(this.whatHasItsName(fileSystem), this.path, 'looked at')) !== 'this') return undefined;
    for (let nth = 1; ; nth += 1) {
      const name = `${this.path}.damaged${nth === 1 ? '' : `-${nth}`}`;
      if (!(await explained(gaveFreeName(fileSystem, this.path, name), this.path, 'renamed'))) continue;
      await explained(fileSystem.syncFolder(dirname(this.path)), this.path, 'renamed');
      return name;
    }
  }

  /** Changes when somebody changes its bytes. */
  version(): Promise<string> {
    return explained(this.#file.version(), this.path, 'looked at');
  }

  /** Bytes in it now. */
  size(): Promise<number> {
    return explained(this.#file.size(), this.path, 'looked at');
  }

  /** Whether its first bytes are zeros, or are not there at all: what is left before the next write where somebody cut a file to nothing. */
  async isCut(bytes: number): Promise<boolean> {
    for await (const piece of pieces(this.#file, this.path, bytes)) if (piece.some((byte) => byte !== 0)) return false;
    return true;
  }

  /** Takes off what was written behind a place, unless somebody else wrote there, too. Nothing is appended to it any more. */
  async takeBack({ bytes }: FilePosition): Promise<void> {
    if ((await this.size()) !== this.#written || this.#written === bytes) return;
    await explained(this.#file.truncate(bytes), this.path, 'cut back');
    await explained(this.#file.sync(), this.path, 'cut back');
  }

  /** Lets go of it. Makes nothing durable, and drops what was collected since the last `flush`. */
  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#writeBack;
    await explained(this.#file.close(), this.path, 'written');
  }
}

/** Renames a file, unless the new name is taken; answers whether it was free. Some file systems know no links, and a look has to do there. */
async function gaveFreeName(fileSystem: FileSystem, from: string, to: string): Promise<boolean> {
  try {
    await fileSystem.link(from, to);
    await fileSystem.unlink(from);
  } catch (error) {
    const code = platformCode(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(code)) throw error;
    if ((await fileSystem.kind(to)) !== 'absent') return false;
    await fileSystem.rename(from, to);
  }
  return true;
}

/** What a checkpoint says of a file. @throws CheckpointError if it says nothing of use. */
export function decodeFilePlace(sinkPosition: unknown): FilePosition {
  if (typeof sinkPosition === 'object' && sinkPosition !== null && 'bytes' in sinkPosition && 'crc32' in sinkPosition) {
    const { bytes, crc32: sum } = sinkPosition;
    if (isCount(bytes) && isCount(sum)) return { bytes, crc32: sum };
  }
  throw new CheckpointError('The checkpoint does not say where in the file to go on.', {}, [{ kind: 'restart' }]);
}

/** @throws CheckpointError if a file is another user's: he may change it at any time, and so may whoever puts a link there. */
async function checkOwner(fileSystem: FileSystem, path: string): Promise<void> {
  if (await explained(fileSystem.isOurs(path), path, 'looked at')) return;
  throw new CheckpointError(
    `${path} belongs to another user of this machine. Ask its owner, or export to another path: nothing was changed.`,
    { path },
  );
}

/** Whether an error says that somebody else has changed a file of ours. */
export function isDamage(error: unknown): error is SluiceError {
  return SluiceError.is(error, 'sink') && error.details['damaged'] !== undefined;
}

/** Turns the operating system's word for a fault into an error that says what to do. */
export async function explained<R>(call: Promise<R>, path: string, what: string): Promise<R> {
  try {
    return await call;
  } catch (error) {
    if (SluiceError.is(error)) throw error;
    throw diskFault(error, path, what);
  }
}

/** Puts as much of `content` as there is room for: how much of it was taken, and how many bytes that made. */
function filledIn(room: Uint8Array, content: string | Uint8Array): { readonly taken: number; readonly put: number } {
  if (typeof content === 'string') {
    const { read, written } = encoder.encodeInto(content, room);
    return { taken: read, put: written };
  }
  const put = Math.min(room.length, content.length);
  room.set(content.subarray(0, put));
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

/** The checksum of a file's first bytes; `undefined` if it ends before. */
async function checksum(file: WritableFile, path: string, bytes: number): Promise<number | undefined> {
  let sum = 0;
  let seen = 0;
  for await (const piece of pieces(file, path, bytes)) {
    sum = crc32(piece, sum);
    seen += piece.length;
  }
  return seen === bytes ? sum : undefined;
}

async function* pieces(file: WritableFile, path: string, bytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = new Uint8Array(Math.min(bytes, bytesPerRead));
  for (let at = 0; at < bytes;) {
    const read = await explained(file.read(buffer.subarray(0, Math.min(buffer.length, bytes - at)), at), path, 'read');
    if (read === 0) return;
    yield buffer.subarray(0, read);
    at += read;
  }
}
