import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError } from '../../errors.js';
import type { StateLog } from '../../stateLog.js';
import { withPath } from './diskFault.js';
import type { FileSystem, WritableFile } from './fileSystem.js';
import { checkOwner, readLines, readBytes, withFile, readWhole } from './readFile.js';
import { settleAll } from './settleAll.js';
import { temporaryName, writeAll, writeWhole } from './wholeFile.js';

const version = '1';
const mark = 'sluice-state ';
const bytesPerWrite = 256 * 1024;

/**
 * Records in a file: a line with the format, then one line per record with its checksum. All records are replaced at
 * once, or one is added at the end. A record is durable before the next one is written, so a crash tears at most the
 * last one of a log, which is truncated. Any other mismatch is damage.
 *
 * @example 'sluice-state 1\\n8d2f00a1 {"generation":1}\\n'
 */
export class RecordFile implements StateLog {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #newId: () => string;
  #file: WritableFile | undefined;
  #bytes = 0;
  #isPoisoned = false;
  /** The file was ours or absent when it was checked. */
  #isReplaceable = false;

  constructor(fileSystem: FileSystem, path: string, newId: () => string) {
    this.#fs = fileSystem;
    this.#path = path;
    this.#newId = newId;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The record of a file that is only replaced; `undefined` without a file. @throws CheckpointError if it is damaged. */
  async load(): Promise<unknown> {
    await checkOwner(this.#fs, this.#path);
    const bytes = await readWhole(this.#fs, this.#path);
    const record = bytes && this.#onlyRecord(bytes.toString());
    this.#isReplaceable = true;
    return record;
  }

  /** The records of a log. One that a crash left incomplete is removed. */
  async *read(): AsyncGenerator<unknown, void, undefined> {
    if ((await withPath(this.#fs.kind(this.#path), this.#path, 'inspected')) === 'absent') {
      this.#isReplaceable = true;
      return;
    }
    await checkOwner(this.#fs, this.#path);
    const file = await this.#open();
    let end = 0;
    let torn: number | undefined;
    for await (const line of readLines(file, this.#path)) {
      const text = line.isEnded ? line.bytes.toString() : '';
      if (end === 0) {
        const fault = checkHeader(text);
        if (fault !== undefined) throw this.#damage(fault);
        this.#isReplaceable = true;
        ({ end } = line);
        continue;
      }
      // Only the last record can be torn.
      if (torn !== undefined) throw this.#damage(`is damaged at byte ${torn}`);
      const record = decodeLine(text);
      if (record === undefined) torn = end;
      else {
        ({ end } = line);
        yield record.value;
      }
    }
    if (end === 0) throw this.#damage('is empty');
    if (torn !== undefined) await withPath(file.truncate(end), this.#path, 'truncated');
    // A killed process may have written this without a sync.
    await withPath(file.sync(), this.#path, 'written');
    this.#bytes = end;
  }

  async append(record: object): Promise<void> {
    if (this.#isPoisoned)
      throw new SinkError(
        `${this.#path} could not be made durable, so nothing more is written to it. Check the disk, then run it again.`,
      );
    if (this.#bytes === 0) {
      await this.replace([record]);
      return;
    }
    const line = encodeLine(record);
    const file = await this.#open();
    // After a changed end, a write would leave a gap.
    const size = await withPath(file.size(), this.#path, 'inspected');
    if (size !== this.#bytes)
      throw this.#damage(`has ${size} bytes, but ${this.#bytes} were written: another process is changing it`);
    this.#isPoisoned = true;
    await writeAll(file, this.#path, line, this.#bytes);
    await withPath(file.sync(), this.#path, 'written');
    await this.#checkName(file);
    this.#isPoisoned = false;
    this.#bytes += line.length;
  }

  async replace(records: Iterable<object>): Promise<void> {
    await this.checkReplaceable();
    const fresh = join(dirname(this.#path), temporaryName(basename(this.#path), this.#newId()));
    const bytes = await withPath(writeWhole(this.#fs, fresh, encodeBlocks(records), this.#path), this.#path, 'written');
    await this.close();
    // Until rename and sync succeed, either file may have the name.
    this.#isPoisoned = true;
    try {
      await withPath(this.#fs.rename(fresh, this.#path), this.#path, 'written');
    } catch (error) {
      await this.#fs.unlink(fresh).catch(() => undefined);
      throw error;
    }
    await this.#syncName();
    this.#isPoisoned = false;
    this.#bytes = bytes;
  }

  async remove(): Promise<void> {
    await this.checkReplaceable();
    await this.close();
    await withPath(this.#fs.unlink(this.#path), this.#path, 'removed');
    await this.#syncName();
    this.#bytes = 0;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  /** Refuses a file of somebody else. A damaged one with our mark was ours, and an empty one has nothing to lose. */
  async checkReplaceable(): Promise<void> {
    if (this.#isReplaceable) return;
    const start = await withFile(this.#fs, this.#path, (file) => readBytes(file, this.#path, 0, mark.length));
    const text = start?.toString('latin1') ?? '';
    if (start) await checkOwner(this.#fs, this.#path);
    if (text !== '' && text !== mark)
      throw new CheckpointError(
        `${this.#path} was not written by Sluice, or lost its first bytes. Move it away, or keep the state in another folder: nothing was changed.`,
        { path: this.#path },
      );
    this.#isReplaceable = true;
  }

  /** Records in a file that was removed or replaced are lost. */
  async #checkName(file: WritableFile): Promise<void> {
    const identities = settleAll([file.identity(), this.#fs.identity(this.#path)]);
    const [mine, named] = await withPath(identities, this.#path, 'inspected');
    if (mine === named) return;
    throw new SinkError(
      `${this.#path} was ${named === undefined ? 'removed' : 'replaced'} while it was in use: its records are lost. Find out who did that.`,
      { details: { path: this.#path }, advice: [{ kind: 'restart' }] },
    );
  }

  #syncName(): Promise<void> {
    return withPath(this.#fs.syncFolder(dirname(this.#path)), this.#path, 'written');
  }

  async #open(): Promise<WritableFile> {
    return (this.#file ??= await withPath(this.#fs.open(this.#path, 'existing'), this.#path, 'opened'));
  }

  #onlyRecord(text: string): unknown {
    const [header = '', line = '', ...rest] = text.split('\n');
    const record = rest.length === 1 && rest[0] === '' ? decodeLine(line) : undefined;
    const fault =
      text === ''
        ? 'is empty'
        : (checkHeader(header) ?? (record ? undefined : 'is damaged: its checksum does not match'));
    if (fault === undefined) return record?.value;
    throw new CheckpointError(`${this.#path} ${fault}.`, { path: this.#path }, [{ kind: 'restart' }]);
  }

  #damage(what: string): CheckpointError {
    return new CheckpointError(`${this.#path} ${what}. Move it away to start over: nothing was changed.`, {
      path: this.#path,
    });
  }
}

function* encodeBlocks(records: Iterable<object>): Generator<Uint8Array, void, undefined> {
  const header = Buffer.from(`${mark}${version}\n`);
  let block: Buffer[] = [header];
  let bytes = header.length;
  for (const record of records) {
    const line = encodeLine(record);
    block.push(line);
    bytes += line.length;
    if (bytes < bytesPerWrite) continue;
    yield Buffer.concat(block);
    block = [];
    bytes = 0;
  }
  yield Buffer.concat(block);
}

function encodeLine(record: object): Buffer {
  const json = JSON.stringify(record);
  return Buffer.from(`${checksum(json)} ${json}\n`);
}

/** `undefined` if the line is not complete. */
function decodeLine(line: string): { readonly value: unknown } | undefined {
  const [, sum, json = ''] = /^([0-9a-f]{8}) (.+)$/s.exec(line) ?? [];
  return checksum(json) === sum ? { value: JSON.parse(json) } : undefined;
}

/** Why the records after this line can't be read, if they can't. */
function checkHeader(line: string): string | undefined {
  const [, written] = /^sluice-state (\d+)$/.exec(line) ?? [];
  if (written === version) return undefined;
  if (written === undefined) return 'is not a state of Sluice, or is damaged';
  return `was written by another version of Sluice (format ${written}, this one knows ${version})`;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}
