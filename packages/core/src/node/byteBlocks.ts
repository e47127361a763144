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
  #texts: string[] = [];

  constructor(compression: Gzip | undefined) {
    this.#gzip = compression;
  }

  /** Whether nothing waits for its member's end. */
  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  /** The pages that wait for their member's end. */
  get waiting(): readonly string[] {
    return this.#texts;
  }

  /** Takes one page; answers what is ready to be written, if anything is. */
  async add(text: string): Promise<string | Uint8Array | undefined> {
    if (!this.#gzip) return text;
    this.#texts.push(text);
    return this.#texts.length >= this.#gzip.pagesPerMember ? this.end() : undefined;
  }

  /** The bytes of what still waits, if anything does. */
  async end(): Promise<Uint8Array | undefined> {
    if (this.isEmpty) return undefined;
    return gzip(this.#texts.splice(0).join(''));
  }
}
