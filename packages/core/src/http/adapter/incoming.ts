import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { AdapterFault } from './adapter.js';

interface IncomingOptions {
  readonly maxBytes: number;
  /** Ends it at once, whatever undici is doing: it takes an abort to heart only once it is connected. */
  readonly signal: AbortSignal | undefined;
}

export interface Connection {
  begin(): void;
  /** Whether it has carried a request before, and no byte has come for this one. */
  readonly isUnanswered: boolean;
}

type Headers = Parameters<Required<Dispatcher.DispatchHandler>['onResponseStart']>[2];

/** Bytes by which packed data may be longer than what it holds, where nothing in it could be packed. */
const packingOverhead = 1024 * 1024;

const notWanted = 'The answer is not wanted any more.';

/**
 * An answer on its way in: first its status, then its body, decompressed, which stops at the first byte beyond `maxBytes`.
 *
 * A handler of undici's own, and not what its `request` answers: a stream for each body, which nobody reads as one, takes more of the
 * processor than all else that undici does.
 */
export class Incoming implements Dispatcher.DispatchHandler {
  status = 0;
  headers: Headers = {};
  readonly chunks: Buffer[] = [];
  /** Resolves with the status; rejects with what went wrong before it came, or with the signal's reason. */
  readonly answered: Promise<void>;
  /** Resolves with the end of the body. @throws AdapterFault if there are too many bytes, or the body breaks off. */
  readonly complete: Promise<void>;
  /** Finds what it comes over, in the moment in which its request is sent. */
  findConnection: () => Connection | undefined = () => undefined;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  #answer: () => void = () => undefined;
  #refuse: (reason: unknown) => void = () => undefined;
  #finish: () => void = () => undefined;
  #fail: (reason: unknown) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #connection: Connection | undefined;
  #decompress: Transform | undefined;
  #bytes = 0;
  #received = 0;
  #isOver = false;

  constructor({ maxBytes, signal }: IncomingOptions) {
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    this.answered = new Promise((resolve, reject) => {
      [this.#answer, this.#refuse] = [resolve, reject];
    });
    this.complete = new Promise((resolve, reject) => {
      [this.#finish, this.#fail] = [resolve, reject];
    });
    // Whoever could not ask waits for neither, and whoever was refused an answer not for its body.
    this.answered.catch(() => undefined);
    this.complete.catch(() => undefined);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  drop(): void {
    this.#end(new AdapterFault('cut-body'));
  }

  /** Whether it was to come over a connection that has carried others, and not a byte of it did. */
  get isUnanswered(): boolean {
    return this.#connection?.isUnanswered === true;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#connection = this.findConnection();
    this.#connection?.begin();
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error(notWanted));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200 || this.#isOver) return;
    this.status = status;
    this.headers = headers;
    this.#decompress = decompressor(headers['content-encoding']);
    this.#decompress
      ?.on('data', (chunk: Buffer) => this.#take(chunk))
      // Packed data says by itself where it ends. What comes behind that is nothing, and might never end.
      .on('end', () => {
        this.#done();
        this.#controller?.abort(new Error(notWanted));
      })
      .on('error', (error) => {
        // Some servers call nothing at all packed: a refusal without a body is still a refusal.
        if (this.#received === 0) this.#done();
        else this.#end(new AdapterFault('cut-body', codeOf(error)));
      });
    this.#answer();
  }

  /**
   * It is never paused, which undici takes for a fault of its own where the connection ends meanwhile. So what waits to be unpacked is
   * bounded here: packed data that is longer than what it may become is nothing that packing makes.
   */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#received += chunk.length;
    if (!this.#decompress) this.#take(chunk);
    else if (this.#received > this.#maxBytes + packingOverhead) this.#end(new AdapterFault('too-large'));
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
    this.#leave();
    this.#finish();
  }

  #end(reason: unknown): void {
    if (this.#isOver) return;
    this.#leave();
    this.#fail(reason);
    this.#controller?.abort(new Error(notWanted));
    this.#decompress?.destroy();
  }

  #leave(): void {
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
