import { dirname, join } from 'node:path';
import { AppendFile, explained, type FilePosition } from './appendFile.js';
import { unlinkIfThere, type FileSystem } from './fileSystem.js';

const prefix = 'rows-';

/** The folder beside a file where rows wait that can't go into the file yet. It is made when the first ones come. */
export class SegmentFolder {
  readonly path: string;
  readonly #fs: FileSystem;
  #isMade = false;
  #hasNewNames = false;

  constructor(fileSystem: FileSystem, path: string) {
    this.#fs = fileSystem;
    this.path = path;
  }

  async create(name: string): Promise<AppendFile> {
    if (!this.#isMade) {
      if (await explained(this.#fs.makeFolder(this.path), this.path, 'created'))
        await explained(this.#fs.syncFolder(dirname(this.path)), this.path, 'created');
      this.#isMade = true;
    }
    const file = await AppendFile.create(this.#fs, join(this.path, prefix + name), 'private');
    this.#hasNewNames = true;
    return file;
  }

  reopen(name: string, sinkPosition: FilePosition): Promise<AppendFile> {
    this.#isMade = true;
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
      const partitions: Uint8Array[] = [];
      for await (const piece of file.read()) partitions.push(piece.slice());
      return Buffer.concat(partitions).toString();
    } finally {
      await file.close();
    }
  }

  /** Gives a file another name, for good; answers that. */
  setAside(file: AppendFile): Promise<string | undefined> {
    return file.setAside(this.#fs);
  }

  async sync(): Promise<void> {
    if (!this.#hasNewNames) return;
    await explained(this.#fs.syncFolder(this.path), this.path, 'written');
    this.#hasNewNames = false;
  }

  /** Whether this run made something in it, or found something to go on with. */
  get isUsed(): boolean {
    return this.#isMade;
  }

  /** What somebody else has removed by then is none the worse for it: nothing needs it any more. */
  async remove(name: string): Promise<void> {
    await explained(unlinkIfThere(this.#fs, join(this.path, prefix + name)), this.path, 'cleared');
  }

  /** Clears away all rows but those in `kept` files, and the folder with them if nothing else is in it. */
  async clear(kept: readonly string[] = []): Promise<void> {
    if ((await explained(this.#fs.kind(this.path), this.path, 'looked at')) !== 'folder') return;
    const names = await explained(this.#fs.list(this.path), this.path, 'looked at');
    const ended = names.filter(
      (name) => name.startsWith(prefix) && !isSetAside(name) && !kept.some((each) => name === prefix + each),
    );
    for (const name of ended) await this.remove(name.slice(prefix.length));
    if (kept.length > 0) return;
    this.#isMade = false;
    // Somebody else's things may be in it, as a checkpoint is: then it stays.
    const isGone = await this.#fs.removeFolder(this.path).then(
      () => true,
      () => false,
    );
    // The rows are gone durably before the checkpoint is, which may be elsewhere: nobody would clear them away any more.
    if (isGone) await explained(this.#fs.syncFolder(dirname(this.path)), this.path, 'cleared');
    else if (ended.length > 0) await explained(this.#fs.syncFolder(this.path), this.path, 'cleared');
  }
}

/** Rows that somebody else has changed: they are kept for people to look at. */
function isSetAside(name: string): boolean {
  return /\.damaged(-\d+)?$/.test(name);
}
