import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError } from '../errors.js';
import type { StateLog } from '../sink/stateStore.js';
import { withPath } from './diskFault.js';
import { unlinkIfThere, type FileSystem, type WritableFile } from './fileSystem.js';
import { linesOf, type FileLine } from './readFile.js';
import { settleAll } from './settleAll.js';
import { unfinishedName, writeAll } from './wholeFile.js';
import { checkReplaceable } from './checkReplaceable.js';

const mark = 'sluice-log ';
const header = `${mark}1\n`;
const bytesPerWrite = 256 * 1024;

/**
 * A log in a file: a line with the format, then one line per record with its checksum. A record is durable before the
 * next one is written, so a crash tears at most the last one, which is truncated. Any other mismatch is damage.
 *
 * @example 'sluice-log 1\\n8d2f00a1 {"generation":1}\\n'
 */
export class FileLog implements StateLog {
  readonly #fs: FileSystem;
  readonly #newId: () => string;
  readonly #folder: string;
  readonly #path: string;
  readonly #name: string;
  #file: WritableFile | undefined;
  #bytes = 0;
  #isPoisoned = false;
  /** The file was ours or absent when it was checked. */
  #isReplaceable = false;

  constructor(fileSystem: FileSystem, folder: string, name: string, newId: () => string) {
    this.#newId = newId;
    this.#fs = fileSystem;
    this.#folder = folder;
    this.#path = join(folder, name);
    this.#name = name;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async *read(): AsyncGenerator<unknown, void, undefined> {
    if ((await withPath(this.#fs.kind(this.#path), this.#path, 'inspected')) === 'absent') {
      this.#isReplaceable = true;
      return;
    }
    if (!(await withPath(this.#fs.isOurs(this.#path), this.#path, 'inspected')))
      throw this.#damage('belongs to another user of this machine');
    const file = await this.#open();
    let end = 0;
    let torn: number | undefined;
    for await (const line of linesOf(file, this.#path)) {
      if (end === 0) {
        this.#checkHeader(line);
        this.#isReplaceable = true;
        ({ end } = line);
        continue;
      }
      // Only the last record can be torn.
      if (torn !== undefined) throw this.#damage(`is damaged at byte ${torn}`);
      const record = decodeLine(line);
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
    const fresh = join(this.#folder, unfinishedName(this.#name, this.#newId()));
    const file = await withPath(this.#fs.open(fresh, 'private'), this.#path, 'created');
    let at = 0;
    try {
      for (const block of blocksOf(records)) {
        await writeAll(file, this.#path, block, at);
        at += block.length;
      }
      await withPath(file.sync(), this.#path, 'written');
      await withPath(file.close(), this.#path, 'written');
      await this.close();
      // Until rename and sync succeed, either file may have the name.
      this.#isPoisoned = true;
      await withPath(this.#fs.rename(fresh, this.#path), this.#path, 'written');
    } catch (error) {
      await file.close().catch(() => undefined);
      await this.#fs.unlink(fresh).catch(() => undefined);
      throw error;
    }
    await withPath(this.#fs.syncFolder(this.#folder), this.#path, 'written');
    this.#isPoisoned = false;
    this.#bytes = at;
  }

  async remove(): Promise<void> {
    await this.checkReplaceable();
    await this.close();
    await withPath(unlinkIfThere(this.#fs, this.#path), this.#path, 'removed');
    await withPath(this.#fs.syncFolder(this.#folder), this.#path, 'written');
    this.#bytes = 0;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  async checkReplaceable(): Promise<void> {
    if (this.#isReplaceable) return;
    await withPath(checkReplaceable(this.#fs, this.#path, mark), this.#path, 'written');
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

  async #open(): Promise<WritableFile> {
    return (this.#file ??= await withPath(this.#fs.open(this.#path, 'existing'), this.#path, 'opened'));
  }

  #checkHeader({ bytes, isEnded }: FileLine): void {
    const [, version] = /^sluice-log (\d+)$/.exec(bytes.toString('latin1')) ?? [];
    if (!isEnded || version === undefined) throw this.#damage('is not a log of Sluice, or is damaged');
    if (version !== '1') throw this.#damage(`was written by another version of Sluice (format ${version})`);
  }

  #damage(what: string): CheckpointError {
    return new CheckpointError(`${this.#path} ${what}. Move it away to start over: nothing was changed.`, {
      path: this.#path,
    });
  }
}

function* blocksOf(records: Iterable<object>): Generator<Uint8Array, void, undefined> {
  let block: Buffer[] = [Buffer.from(header)];
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
function decodeLine({ bytes, isEnded }: FileLine): { readonly value: unknown } | undefined {
  const [, sum, json = ''] = /^([0-9a-f]{8}) (.*)$/s.exec(bytes.toString()) ?? [];
  if (!isEnded || checksum(json) !== sum) return undefined;
  return { value: JSON.parse(json) };
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}
