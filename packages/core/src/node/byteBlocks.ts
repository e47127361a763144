import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';

/** How a file is compressed: in members that each can be unpacked by itself, so that an export can go on behind any of them. */
export interface Gzip {
  /** Pages of rows in one member. */
  readonly pagesPerMember: number;
}

const gzip = promisify(gzipCallback);

/**
 * Turns text into what a file is made of: as it is, or collected into gzip members (RFC 1952 lets members follow each other
 * in one file). Members end after a number of pages and never because of a stop, so that a resumed file has the same bytes.
 */
export class ByteBlocks {
  readonly #gzip: Gzip | undefined;
  /** The texts of each page that waits. */
  #pages: (readonly string[])[] = [];
  /** The last full member, which is compressed while the next one is collected. */
  #compressing: Promise<Uint8Array> | undefined;

  constructor(compression: Gzip | undefined) {
    this.#gzip = compression;
  }

  /** Whether nothing waits: neither for its member's end, nor to be compressed. */
  get isEmpty(): boolean {
    return this.#pages.length === 0 && !this.#compressing;
  }

  /** The pages that wait for their member's end. */
  get waiting(): readonly string[] {
    return this.#pages.map((texts) => texts.join(''));
  }

  /** Takes the texts of one page; answers what is ready to be written: of members, the one before the last full one. */
  async add(texts: readonly string[]): Promise<readonly (string | Uint8Array)[]> {
    if (!this.#gzip) return texts;
    this.#pages.push(texts);
    return this.#pages.length >= this.#gzip.pagesPerMember ? this.#compress() : [];
  }

  /** The bytes of the full member that is not written yet, if there is one. */
  async settled(): Promise<readonly Uint8Array[]> {
    const bytes = await this.#compressing;
    this.#compressing = undefined;
    return bytes ? [bytes] : [];
  }

  async end(): Promise<readonly Uint8Array[]> {
    const before = this.#pages.length === 0 ? [] : await this.#compress();
    return [...before, ...(await this.settled())];
  }

  /** Begins with what was collected; answers the member before. */
  async #compress(): Promise<readonly Uint8Array[]> {
    const before = await this.settled();
    const texts = this.#pages.splice(0).flat();
    // Bytes of each text: one text of them all is too large to be made fast.
    this.#compressing = gzip(Buffer.concat(texts.map((text) => Buffer.from(text))));
    // Told to whoever asks for it.
    this.#compressing.catch(() => undefined);
    return before;
  }
}
