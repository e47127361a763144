import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AdapterFault, codeOf } from './adapter.js';

interface IncomingOptions {
  /** The response's `Content-Encoding`. */
  readonly encoding?: string | undefined;
  readonly maxBytes: number;
  /** Called if more data may come and is not needed. */
  readonly stop?: () => void;
}

/** Bytes by which compressed data may exceed its content, if that cannot be compressed. */
const compressionOverhead = 1024 * 1024;

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
        // Some servers declare an empty body as compressed; the response still counts.
        if (this.#receivedBytes === 0) this.close();
        else this.fail(new AdapterFault('cut-body', codeOf(error)));
      });
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

function decompressor(encoding = ''): Transform | undefined {
  switch (encoding.toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
