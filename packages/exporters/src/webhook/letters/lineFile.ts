import { dirname } from 'node:path';
import { SinkError, SluiceError } from '@sluice/core';
import { AppendFile, withPath, type FilePosition, type FileSystem } from '@sluice/core/node';

/**
 * A file that is appended to by lines, readable by its owner only, created with its first line. A line and the file's
 * name are durable when `append` resolves and before the next line is written, so at most the last line can be torn.
 */
export class LineFile {
  readonly path: string;
  readonly #fs: FileSystem;
  #file: AppendFile | undefined;
  #position: FilePosition;
  #last: Promise<unknown> = Promise.resolve();
  #isBroken = false;

  private constructor(fileSystem: FileSystem, path: string, position: FilePosition, file?: AppendFile) {
    this.#fs = fileSystem;
    this.path = path;
    this.#position = position;
    this.#file = file;
  }

  /**
   * Truncates a file to a position. The content is durable when it resolves; the caller has made the name durable.
   *
   * @param isEnded whether the position is after a line end; if not, a line end is added.
   */
  static async open(fileSystem: FileSystem, path: string, position: FilePosition, isEnded: boolean): Promise<LineFile> {
    if ((await withPath(fileSystem.kind(path), path, 'inspected')) === 'absent')
      return new LineFile(fileSystem, path, { bytes: 0, crc32: 0 });
    const file = await AppendFile.reopen(fileSystem, path, position);
    try {
      await file.cut();
      if (!isEnded) await file.append(Buffer.from('\n'));
      return new LineFile(fileSystem, path, await file.flush(), file);
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  /** After the last durable line. */
  get position(): FilePosition {
    return this.#position;
  }

  /** Lines are in the order of calls. @throws SinkError if a write fails; then all later calls fail too. */
  append(line: string): Promise<void> {
    const written = this.#last.then(() => this.#write(line));
    this.#last = written.catch(() => undefined);
    return written;
  }

  /** Removes the file durably. Later appends fail. */
  async remove(): Promise<void> {
    this.#isBroken = true;
    await this.close();
    await withPath(this.#fs.unlink(this.path), this.path, 'removed');
    await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'removed');
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
    // After a failure the file may end with a partial line, so no line may follow.
    this.#isBroken = true;
    const isNew = this.#file === undefined;
    const file = (this.#file ??= await AppendFile.create(this.#fs, this.path, 'private'));
    try {
      await file.append(Buffer.from(`${line}\n`));
      const position = await file.flush();
      await file.syncName();
      await this.#checkName(file);
      this.#position = position;
      this.#isBroken = false;
    } catch (error) {
      // None of its lines was reported as durable.
      if (isNew) await this.#fs.unlink(this.path).catch(() => undefined);
      if (SluiceError.is(error) && error.details['damaged'] !== undefined)
        // Its advice is for a file that can't be written again.
        throw new SinkError(
          `${this.path} was emptied or changed while it was written to. Find out by whom, then run it again: the line is written again.`,
          { details: { path: this.path }, cause: error },
        );
      throw error;
    }
  }

  /** Lines in a file that no longer has its name would be lost. */
  async #checkName(file: AppendFile): Promise<void> {
    if ((await file.whatHasItsName()) === 'this') return;
    throw new SinkError(
      `${this.path} was removed or replaced while it was written to. Find out by whom, then run it again.`,
    );
  }
}
