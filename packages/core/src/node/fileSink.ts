import { dirname, resolve } from 'node:path';
import { checkCount } from '../count.js';
import { CheckpointError, ConfigError, SinkError } from '../errors.js';
import type { RowEncoder, RowFormat } from '../sink/rowFormat.js';
import type { Sink, SinkContext, SinkPage, SinkReport, SinkWriter } from '../sink/sink.js';
import type { Json } from '../source/definition.js';
import { ByteBlocks, type Gzip } from './byteBlocks.js';
import { nodeFileSystem, platformCode, type FileSystem, type PathKind, type WritableFile } from './fileSystem.js';

/** Where and how a file is written. */
export interface FileTarget {
  /** Its final name. Until the end the rows are in `path.part` beside it. */
  readonly path: string;
  /** What to do where the final name is taken: `fail` (the default) touches nothing, `overwrite` replaces the file at the end. */
  readonly ifExists?: 'fail' | 'overwrite';
  /** Compresses with gzip. Default: when the name ends in `.gz`. */
  readonly gzip?: boolean | Gzip;
  /** Default: the machine's own. */
  readonly fileSystem?: FileSystem;
}

/**
 * Writes rows to a file. Its final name never holds a partial file: rows go to `path.part`, which takes the name at the end.
 *
 * @throws ConfigError if the path is empty; on opening, SinkError if the target can't be written.
 */
export function fileSink<T>(format: RowFormat<T>, target: FileTarget): Sink<T> {
  if (target.path === '') throw new ConfigError('The path of the file is empty.');
  const gzip = gzipOf(target);
  return {
    name: format.name,
    identity: { format: format.identity, gzip: gzip ? { pagesPerMember: gzip.pagesPerMember } : null },
    promises: 'exactly-once',
    open: async (context) => {
      const encoder = format.encoder(context.schema);
      const file = new PartFile(target.fileSystem ?? nodeFileSystem, resolve(target.path), target.ifExists ?? 'fail');
      await file.open(context);
      return new FileWriter(file, encoder, new ByteBlocks(gzip));
    },
  };
}

/** A member of 10 pages costs 7 % more bytes than one single member would; smaller ones cost more, larger ones are lost in a crash. */
const defaultPagesPerMember = 10;

function gzipOf({ path, gzip = path.endsWith('.gz') }: FileTarget): Gzip | undefined {
  if (gzip === false) return undefined;
  const { pagesPerMember } = gzip === true ? { pagesPerMember: defaultPagesPerMember } : gzip;
  checkCount('gzip.pagesPerMember', pagesPerMember);
  return { pagesPerMember };
}

class FileWriter<T> implements SinkWriter<T> {
  readonly #file: PartFile;
  readonly #encoder: RowEncoder<T>;
  readonly #blocks: ByteBlocks;

  constructor(file: PartFile, encoder: RowEncoder<T>, blocks: ByteBlocks) {
    this.#file = file;
    this.#encoder = encoder;
    this.#blocks = blocks;
  }

  get isCommittable(): boolean {
    return this.#blocks.isEmpty;
  }

  async write({ items }: SinkPage<T>): Promise<void> {
    const isFirst = this.#file.size === 0 && this.#blocks.isEmpty;
    const text = this.#encoder.encode(items);
    await this.#append(await this.#blocks.add(isFirst ? this.#encoder.header + text : text));
  }

  async flush(): Promise<Json> {
    await this.#file.sync();
    return { bytes: this.#file.size };
  }

  async seal(): Promise<Json> {
    const isEmpty = this.#file.size === 0 && this.#blocks.isEmpty;
    if (isEmpty) await this.#append(await this.#blocks.add(this.#encoder.header));
    await this.#append(await this.#blocks.end());
    return this.flush();
  }

  async close(): Promise<SinkReport> {
    return { target: this.#file.path, bytes: await this.#file.publish() };
  }

  abort(_reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    return this.#file.abandon(isResumable);
  }

  async #append(bytes: Uint8Array | undefined): Promise<void> {
    if (bytes) await this.#file.append(bytes);
  }
}

/** `path.part`: opened or cut back, appended to, and at the end renamed. */
class PartFile {
  readonly path: string;
  size = 0;
  readonly #part: string;
  readonly #fs: FileSystem;
  readonly #ifExists: 'fail' | 'overwrite';
  #file: WritableFile | undefined;

  constructor(fs: FileSystem, path: string, ifExists: 'fail' | 'overwrite') {
    this.#fs = fs;
    this.path = path;
    this.#part = `${path}.part`;
    this.#ifExists = ifExists;
  }

  async open({ resumeAt, restart }: Pick<SinkContext<unknown>, 'resumeAt' | 'restart'>): Promise<void> {
    await this.#checkTarget();
    if (resumeAt) {
      await this.#goOn(decodePlace(resumeAt.place));
      return;
    }
    const kind = await this.#tell(this.#fs.kind(this.#part), 'looked at');
    if (kind === 'file' && restart) await this.#tell(this.#fs.unlink(this.#part), 'replaced');
    else if (kind !== 'absent')
      throw new SinkError(
        `${this.#part} is there already: another export is at work, or one was interrupted. Start over with restart, or remove the file.`,
      );
    this.#file = await this.#tell(this.#fs.open(this.#part, 'new'), 'created');
  }

  async append(bytes: Uint8Array): Promise<void> {
    let rest = bytes;
    while (rest.length > 0) {
      // A disk that is nearly full takes a part of what it is given, without an error.
      const written = await this.#tell(this.#opened.write(rest, this.size), 'written');
      if (written === 0)
        throw new SinkError(
          `${this.#part} can't be written: the disk takes no more bytes. Make room, then run it again.`,
        );
      this.size += written;
      rest = rest.subarray(written);
    }
  }

  async sync(): Promise<void> {
    await this.#tell(this.#opened.sync(), 'written');
  }

  async publish(): Promise<number> {
    await this.#tell(this.#opened.close(), 'written');
    this.#file = undefined;
    if (this.#ifExists === 'overwrite') await this.#tell(this.#fs.rename(this.#part, this.path), 'put in place');
    else await this.#publishNew();
    await this.#tell(this.#fs.syncFolder(dirname(this.path)), 'put in place');
    return this.size;
  }

  async abandon(isResumable: boolean): Promise<void> {
    const wasOpen = this.#file !== undefined;
    await this.#file?.close().catch(() => undefined);
    this.#file = undefined;
    if (!isResumable && wasOpen) await this.#fs.unlink(this.#part).catch(() => undefined);
  }

  /** Takes the final name only where it is free: a link, unlike a rename, replaces nothing. */
  async #publishNew(): Promise<void> {
    try {
      await this.#fs.link(this.#part, this.path);
    } catch (error) {
      const code = platformCode(error);
      if (code === 'EEXIST') throw targetExists(this.path);
      // Some file systems know no links; the look at the beginning has to do there.
      if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw this.#explained(error, 'put in place');
      await this.#tell(this.#fs.rename(this.#part, this.path), 'put in place');
      return;
    }
    await this.#tell(this.#fs.unlink(this.#part), 'put in place');
  }

  async #checkTarget(): Promise<void> {
    const kind = await this.#tell(this.#fs.kind(this.path), 'looked at');
    if (kind === 'file' && this.#ifExists === 'fail') throw targetExists(this.path);
    if (kind === 'folder' || kind === 'special')
      throw new SinkError(`${this.path} is ${describe(kind)}. Give the name of a file.`);
    const folder = await this.#tell(this.#fs.kind(dirname(this.path)), 'looked at');
    if (folder !== 'folder')
      throw new SinkError(`The folder ${dirname(this.path)} is not there. Create it, or give another path.`);
  }

  async #goOn(place: number): Promise<void> {
    this.#file = await this.#tell(this.#fs.open(this.#part, 'existing'), 'opened');
    const size = await this.#tell(this.#file.size(), 'opened');
    if (size < place) {
      throw new CheckpointError(
        `${this.#part} is shorter (${String(size)} bytes) than its checkpoint says (${String(place)}). Start over with restart: nothing was changed.`,
      );
    }
    if (size > place) await this.#tell(this.#file.truncate(place), 'cut back');
    this.size = place;
  }

  get #opened(): WritableFile {
    if (!this.#file) throw new SinkError(`${this.#part} is closed.`);
    return this.#file;
  }

  async #tell<R>(call: Promise<R>, what: string): Promise<R> {
    try {
      return await call;
    } catch (error) {
      throw this.#explained(error, what);
    }
  }

  #explained(error: unknown, what: string): SinkError {
    const code = platformCode(error) ?? 'unknown fault';
    return new SinkError(`${this.#part} can't be ${what} (${code}): ${adviceFor(code)}`, {
      details: { path: this.#part, platformCode: code },
    });
  }
}

function decodePlace(place: Json): number {
  if (typeof place === 'object' && place !== null && 'bytes' in place && typeof place['bytes'] === 'number')
    return place['bytes'];
  throw new CheckpointError(
    'The checkpoint does not say where in the file to go on. Start over with restart: nothing was changed.',
  );
}

function targetExists(path: string): SinkError {
  return new SinkError(
    `${path} exists already, and was not touched. Give another name, or allow to replace it (--if-exists overwrite).`,
  );
}

function describe(kind: PathKind): string {
  return kind === 'folder' ? 'a folder' : 'no regular file (a pipe, a device, or a link that leads nowhere)';
}

function adviceFor(code: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full. Make room, then run it again.';
    case 'EFBIG':
      return 'the file reached the largest size that is allowed here. Raise the limit (ulimit -f), then run it again.';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'there is no permission to write here. Choose another folder.';
    case 'ENOENT':
      return 'it is not there any more.';
    case 'ENAMETOOLONG':
      return 'the name is too long.';
    default:
      return 'look at the disk, then run it again.';
  }
}
