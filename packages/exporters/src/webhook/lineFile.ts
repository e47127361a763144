import { dirname } from 'node:path';
import { SinkError } from '@sluice/core';
import { AppendFile, explained, unlinkIfThere, type FilePosition, type FileSystem } from '@sluice/core/node';

/**
 * A file that grows by lines, readable by its owner only. It is made with its first line. A line is durable, and so is the file's name,
 * when `append` resolves, and before the next one is written: whatever happens, at most the last line is torn.
 */
export class LineFile {
  readonly path: string;
  readonly #fs: FileSystem;
  #file: AppendFile | undefined;
  #place: FilePosition;
  #last: Promise<unknown> = Promise.resolve();
  #isBroken = false;

  private constructor(fileSystem: FileSystem, path: string, place: FilePosition, file?: AppendFile) {
    this.#fs = fileSystem;
    this.path = path;
    this.#place = place;
    this.#file = file;
  }

  /**
   * Opens a file behind a place in it, and cuts off what follows. What is left is durable when it resolves; the caller has seen to its
   * name.
   *
   * @param isEnded whether there is a line's end before the place: if not, it is added.
   */
  static async open(fileSystem: FileSystem, path: string, place: FilePosition, isEnded: boolean): Promise<LineFile> {
    if ((await explained(fileSystem.kind(path), path, 'looked at')) === 'absent')
      return new LineFile(fileSystem, path, nowhere);
    const file = await AppendFile.reopen(fileSystem, path, place);
    try {
      await file.cut();
      if (!isEnded) await file.append(Buffer.from('\n'));
      return new LineFile(fileSystem, path, await file.flush(), file);
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  /** Behind the last line that is durable. */
  get place(): FilePosition {
    return this.#place;
  }

  /** Lines come in the order of calls. @throws SinkError if it can't be written; then nothing more is. */
  append(line: string): Promise<void> {
    const written = this.#last.then(() => this.#write(line));
    this.#last = written.catch(() => undefined);
    return written;
  }

  /** Removes it for good. Nothing is written to it afterwards. */
  async remove(): Promise<void> {
    this.#isBroken = true;
    await this.close();
    await explained(unlinkIfThere(this.#fs, this.path), this.path, 'removed');
    await this.#syncName('removed');
  }

  async close(): Promise<void> {
    await this.#last;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #write(line: string): Promise<void> {
    if (this.#isBroken)
      throw new SinkError(`${this.path} could not be written before, so nothing more is written to it. Run it again.`);
    // Half a line may be in it from here on: a further one would be glued to it.
    this.#isBroken = true;
    const isNew = this.#file === undefined;
    const file = (this.#file ??= await AppendFile.create(this.#fs, this.path, 'private'));
    try {
      await file.append(Buffer.from(`${line}\n`));
      const place = await file.flush();
      if (isNew) await this.#syncName('created');
      await this.#checkName(file);
      this.#place = place;
      this.#isBroken = false;
    } catch (error) {
      // It holds nothing that anybody was told to be there.
      if (isNew) await this.#fs.unlink(this.path).catch(() => undefined);
      throw error;
    }
  }

  /** What is written to a file that nobody can find any more is lost. */
  async #checkName(file: AppendFile): Promise<void> {
    if ((await explained(file.whatHasItsName(this.#fs), this.path, 'looked at')) === 'this') return;
    throw new SinkError(
      `${this.path} was removed or replaced while it was written to. Find out by whom, then run it again.`,
    );
  }

  #syncName(what: string): Promise<void> {
    return explained(this.#fs.syncFolder(dirname(this.path)), this.path, what);
  }
}

const nowhere: FilePosition = { bytes: 0, crc32: 0 };
