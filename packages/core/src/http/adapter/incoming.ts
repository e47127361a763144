import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { platformCode } from '../../values.js';
import { AdapterFault } from './adapter.js';

interface IncomingOptions {
  /** The response's `Content-Encoding`. */
  readonly encoding?: string | undefined;
  readonly maxBytes: number;
  /** Called if more data may come and is not needed. */
  readonly stop?: () => void;
}

/** Bytes by which compressed data may exceed its content, if that cannot be compressed. */
const compressionOverhead = 1024 * 1024;

/** The code of zlib for compressed data that is cut. */
const endsEarly = 'Z_BUF_ERROR';

/** The body of a response while it arrives: decompressed, up to the first byte beyond `maxBytes`. */
export class Incoming {
  readonly chunks: Buffer[] = [];
  /** Resolves at the end of the body. @throws AdapterFault if it is too large or breaks off. */
  readonly complete: Promise<void>;
  readonly #maxBytes: number;
  readonly #stop: () => void;
  readonly #decompress: Transform | undefined;
  #resolve: () => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #bytes = 0;
  #receivedBytes = 0;
  #isOver = false;

  constructor({ encoding, maxBytes, stop = () => undefined }: IncomingOptions) {
    this.#maxBytes = maxBytes;
    this.#stop = stop;
    this.complete = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody may be waiting for it any more.
    this.complete.catch(() => undefined);
    this.#decompress = decompressor(encoding);
    this.#decompress
      ?.on('data', (chunk: Buffer) => this.#keep(chunk))
      // Compressed data marks its own end. Anything after that is ignored, and might never end.
      .on('end', () => {
        this.close();
        stop();
      })
      .on('error', (error) => {
        const code = platformCode(error);
        // Some servers declare an empty body as compressed; the response still counts.
        if (this.#receivedBytes === 0) this.close();
        // Nothing of it could be decompressed, so it is something else, e.g. not compressed at all.
        else if (this.#bytes === 0 && code !== endsEarly) this.fail(new AdapterFault('encoding', encoding));
        else this.fail(new AdapterFault('cut-body', code));
      });
  }

  /** Whether it is complete, or failed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Takes what has arrived. It never asks to wait for the decompression, but limits the data that waits for it:
   * compression cannot produce more than that from `maxBytes`.
   */
  take(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#receivedBytes += chunk.length;
    if (!this.#decompress) this.#keep(chunk);
    else if (this.#receivedBytes > this.#maxBytes + compressionOverhead) this.fail(new AdapterFault('too-large'));
    else this.#decompress.write(chunk);
  }

  /** All has arrived. */
  end(): void {
    if (!this.#decompress) this.close();
    else if (!this.#isOver) this.#decompress.end();
  }

  /** Completes it with what there is. */
  close(): void {
    this.#isOver = true;
    this.#decompress?.destroy();
    this.#resolve();
  }

  /** Ends it although it is not complete. */
  drop(): void {
    this.fail(new AdapterFault('cut-body'));
  }

  fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reject(reason);
    this.#decompress?.destroy();
    this.#stop();
  }

  #keep(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    this.chunks.push(chunk);
    if (this.#bytes > this.#maxBytes) this.fail(new AdapterFault('too-large'));
  }
}

/** What decompresses a body. Gzip that was applied twice leaves a gzip file, which is unpacked like others. */
function decompressor(encoding = ''): Transform | undefined {
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim().replace(/^x-gzip$/, 'gzip'));
  const applied = new Set(codings.filter((coding) => coding !== 'identity'));
  if (applied.size !== 1) return undefined;
  if (applied.has('gzip')) return createGunzip();
  if (applied.has('deflate')) return createInflate();
  return applied.has('br') ? createBrotliDecompress() : undefined;
}
