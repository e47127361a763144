import { dirname, join } from 'node:path';
import { AppendFile, type FilePosition } from './appendFile.js';
import { withPath } from './diskFault.js';
import type { FileSystem } from './fileSystem.js';
import { settleAll } from './settleAll.js';

const prefix = 'rows-';

/** The folder next to a file for rows that can't go into it yet. It is created when they come. */
export class SegmentFolder {
  readonly path: string;
  readonly #fs: FileSystem;
  #isCreated = false;
  #hasNewNames = false;

  constructor(fileSystem: FileSystem, path: string) {
    this.#fs = fileSystem;
    this.path = path;
  }

  async create(name: string): Promise<AppendFile> {
    if (!this.#isCreated) {
      if (await withPath(this.#fs.makeFolder(this.path), this.path, 'created'))
        await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'created');
      this.#isCreated = true;
    }
    const file = await AppendFile.create(this.#fs, join(this.path, prefix + name), 'private');
    this.#hasNewNames = true;
    return file;
  }

  reopen(name: string, sinkPosition: FilePosition): Promise<AppendFile> {
    this.#isCreated = true;
    return AppendFile.reopen(this.#fs, join(this.path, prefix + name), sinkPosition);
  }

  async save(name: string, text: string): Promise<FilePosition> {
    const file = await this.create(name);
    try {
      await file.append(text);
      return await file.flush();
    } finally {
      await file.close();
    }
  }

  /** @throws CheckpointError if the file is not what `save` wrote. */
  async load(name: string, sinkPosition: FilePosition): Promise<string> {
    const file = await this.reopen(name, sinkPosition);
    try {
      const pieces: Uint8Array[] = [];
      for await (const piece of file.read()) pieces.push(piece.slice());
      return Buffer.concat(pieces).toString();
    } finally {
      await file.close();
    }
  }

  async sync(): Promise<void> {
    if (!this.#hasNewNames) return;
    await withPath(this.#fs.syncFolder(this.path), this.path, 'written');
    this.#hasNewNames = false;
  }

  /** Whether this run created or resumed a file in it. */
  get isUsed(): boolean {
    return this.#isCreated;
  }

  /** Succeeds if somebody else removed it: it is not needed any more. */
  async remove(name: string): Promise<void> {
    await withPath(this.#fs.unlink(join(this.path, prefix + name)), this.path, 'cleared');
  }

  /** Removes all rows except those in `kept`, and then the folder if it is empty. */
  async clear(kept: readonly string[] = []): Promise<void> {
    if ((await withPath(this.#fs.kind(this.path), this.path, 'inspected')) !== 'folder') return;
    const names = await withPath(this.#fs.list(this.path), this.path, 'inspected');
    const ours = names.filter((name) => name.startsWith(prefix) && !isSetAside(name));
    const removed = ours.map((name) => name.slice(prefix.length)).filter((name) => !kept.includes(name));
    await settleAll(removed.map((name) => this.remove(name)));
    if (kept.length > 0) return;
    this.#isCreated = false;
    // It stays if it contains something else, e.g. a checkpoint.
    const isRemoved = await this.#fs.removeFolder(this.path).then(
      () => true,
      () => false,
    );
    // Durable before the checkpoint goes, which may be elsewhere: afterwards nobody would remove these rows.
    if (isRemoved) await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'cleared');
    else if (removed.length > 0) await withPath(this.#fs.syncFolder(this.path), this.path, 'cleared');
  }
}

/** Rows that somebody else changed are kept for inspection. */
function isSetAside(name: string): boolean {
  return /\.damaged(-\d+)?$/.test(name);
}
