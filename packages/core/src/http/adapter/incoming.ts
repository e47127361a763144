import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { AdapterFault, type AttemptRequest } from './adapter.js';

interface IncomingOptions {
  readonly maxBytes: number;
  /** Ends it at once: undici reacts to an abort only once it is connected. */
  readonly signal: AbortSignal | undefined;
  /** See {@link AttemptRequest}. */
  readonly onWrite?: AttemptRequest['onWrite'] | undefined;
}

export interface Connection {
  begin(): void;
  /** Whether it has carried a request before, and no byte of this response has arrived. */
  readonly isUnanswered: boolean;
}

type Headers = Parameters<Required<Dispatcher.DispatchHandler>['onResponseStart']>[2];

/** Bytes by which compressed data may exceed its content, if that cannot be compressed. */
const compressionOverhead = 1024 * 1024;

const noLongerNeeded = 'The response is no longer needed.';

/**
 * An incoming response: its status, then its decompressed body, which stops at the first byte beyond `maxBytes`.
 *
 * A handler for undici's `dispatch` instead of its `request`, which makes a stream of each body: that takes more CPU
 * than everything else in undici.
 */
export class Incoming implements Dispatcher.DispatchHandler {
  status = 0;
  headers: Headers = {};
  readonly chunks: Buffer[] = [];
  /** Resolves when the status arrives; rejects with an earlier error or with the signal's reason. */
  readonly answered: Promise<void>;
  /** Resolves at the end of the body. @throws AdapterFault if it is too large or breaks off. */
  readonly complete: Promise<void>;
  /** Returns the connection. Called when the request is sent. */
  findConnection: () => Connection | undefined = () => undefined;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #onWrite: () => boolean;
  #mayWrite: boolean | undefined;
  #answer: () => void = () => undefined;
  #refuse: (reason: unknown) => void = () => undefined;
  #finish: () => void = () => undefined;
  #fail: (reason: unknown) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #connection: Connection | undefined;
  #decompress: Transform | undefined;
  #bytes = 0;
  #receivedBytes = 0;
  #isOver = false;

  constructor({ maxBytes, signal, onWrite = () => true }: IncomingOptions) {
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    this.#onWrite = onWrite;
    this.answered = new Promise((resolve, reject) => {
      [this.#answer, this.#refuse] = [resolve, reject];
    });
    this.complete = new Promise((resolve, reject) => {
      [this.#finish, this.#fail] = [resolve, reject];
    });
    // Nobody may be waiting: not for either if the request could not be sent, nor for the body if there is no response.
    this.answered.catch(() => undefined);
    this.complete.catch(() => undefined);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  drop(): void {
    this.#end(new AdapterFault('cut-body'));
  }

  /** Whether a reused connection has not delivered a byte of it. */
  get isUnanswered(): boolean {
    return this.#connection?.isUnanswered === true;
  }

  /** Whether the limiter wants the request to wait again, now that it could be written: it has failed with that. */
  get isOutdated(): boolean {
    if (this.#isOver) return false;
    this.#mayWrite ??= this.#onWrite();
    if (!this.#mayWrite) this.#refuse(new AdapterFault('outdated'));
    return !this.#mayWrite;
  }

  /** Undici calls it on the open connection and then writes the request, unless it is aborted here. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#connection = this.findConnection();
    this.#connection?.begin();
    this.#controller = controller;
    if (this.#isOver || this.isOutdated) controller.abort(new Error(noLongerNeeded));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200 || this.#isOver) return;
    this.status = status;
    this.headers = headers;
    if (status === 304) {
      // It has no body, whatever its headers say. They may have the length of the one that it stands for, which undici
      // takes for an error (RFC 9110, 8.6).
      this.#done();
      this.#answer();
      return;
    }
    this.#decompress = decompressor(headers['content-encoding']);
    this.#decompress
      ?.on('data', (chunk: Buffer) => this.#take(chunk))
      // Compressed data marks its own end. Anything after that is ignored, and might never end.
      .on('end', () => {
        this.#done();
        this.#controller?.abort(new Error(noLongerNeeded));
      })
      .on('error', (error) => {
        // Some servers declare an empty body as compressed; the response still counts.
        if (this.#receivedBytes === 0) this.#done();
        else this.#end(new AdapterFault('cut-body', codeOf(error)));
      });
    this.#answer();
  }

  /**
   * Never pauses, because undici fails if a paused connection ends. Instead it limits the waiting data: compression
   * cannot produce more than that from `maxBytes`.
   */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#receivedBytes += chunk.length;
    if (!this.#decompress) this.#take(chunk);
    else if (this.#receivedBytes > this.#maxBytes + compressionOverhead) this.#end(new AdapterFault('too-large'));
    else this.#decompress.write(chunk);
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    if (this.#decompress) this.#decompress.end();
    else this.#done();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#controller = undefined;
    this.#refuse(error);
    this.#end(new AdapterFault('cut-body', codeOf(error)));
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    this.chunks.push(chunk);
    if (this.#bytes > this.#maxBytes) this.#end(new AdapterFault('too-large'));
  }

  readonly #onAbort = (): void => {
    this.#refuse(this.#signal?.reason);
    this.#end(this.#signal?.reason);
  };

  #done(): void {
    this.#release();
    this.#finish();
  }

  #end(reason: unknown): void {
    if (this.#isOver) return;
    this.#release();
    this.#fail(reason);
    this.#controller?.abort(new Error(noLongerNeeded));
    this.#decompress?.destroy();
  }

  #release(): void {
    this.#isOver = true;
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

function decompressor(encoding: string | string[] | undefined): Transform | undefined {
  switch (String(encoding ?? '').toLowerCase()) {
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

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
