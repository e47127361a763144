import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';

/** Compression in gzip members, each of which can be unpacked by itself, so an export can resume after any of them. */
export interface Gzip {
  /** Pages of rows in one member. */
  readonly pagesPerMember: number;
}

const gzip = promisify(gzipCallback);

/**
 * Turns text into the file's content: unchanged, or in gzip members, which may follow each other in one file (RFC
 * 1952). Members end after a number of pages, never because of a stop, so a resumed file has the same bytes.
 */
export class ByteBlocks {
  readonly #gzip: Gzip | undefined;
  /** The texts of each page that waits for its member's end. */
  #pages: (readonly string[])[] = [];
  /** The last full member, compressed while the next one is collected. */
  #compressing: Promise<Uint8Array> | undefined;

  constructor(compression: Gzip | undefined) {
    this.#gzip = compression;
  }

  /** Whether no page waits, and no member is being compressed. */
  get isEmpty(): boolean {
    return this.#pages.length === 0 && !this.#compressing;
  }

  /** The pages that wait for their member's end. */
  get waiting(): readonly string[] {
    return this.#pages.map((texts) => texts.join(''));
  }

  /** Adds one page; resolves to what can be written. With gzip that is the member before the one that is full now. */
  async add(texts: readonly string[]): Promise<readonly (string | Uint8Array)[]> {
    if (!this.#gzip) return texts;
    this.#pages.push(texts);
    return this.#pages.length >= this.#gzip.pagesPerMember ? this.#compress() : [];
  }

  /** The full member that is not written yet, if any. */
  async takeCompressed(): Promise<readonly Uint8Array[]> {
    const bytes = await this.#compressing;
    this.#compressing = undefined;
    return bytes ? [bytes] : [];
  }

  async end(): Promise<readonly Uint8Array[]> {
    const before = this.#pages.length === 0 ? [] : await this.#compress();
    return [...before, ...(await this.takeCompressed())];
  }

  /** Starts to compress the collected pages; resolves to the member before. */
  async #compress(): Promise<readonly Uint8Array[]> {
    const before = await this.takeCompressed();
    const texts = this.#pages.splice(0).flat();
    // Encoded one by one, since one text of them all would be slow to build.
    this.#compressing = gzip(Buffer.concat(texts.map((text) => Buffer.from(text))));
    // `takeCompressed` raises the error.
    this.#compressing.catch(() => undefined);
    return before;
  }
}
