import { AdapterFault } from '../../packages/core/src/http/adapter/adapter.js';
import { Incoming } from '../../packages/core/src/http/adapter/incoming.js';
import type { Random } from '../../test/kit/random.js';
import type { Answered } from './service.js';

/** How a body arrives: its parts, each so many ms after the one before, and its end. */
export interface Arrival {
  readonly parts: readonly { readonly after: number; readonly bytes: Buffer }[];
  /** Whether the connection is reset after the last part. */
  readonly isBroken: boolean;
}

/** Ms in which some bodies arrive: a little less than an attempt may take, or more. */
const nearDeadline = [24_000, 36_000] as const;

/** Cuts a body into parts, also within characters. */
export function arrivalOf(body: string, random: Random, broken: number): Arrival {
  const whole = Buffer.from(body);
  const count = Math.max(1, Math.min(whole.length, random.int(2, 8)));
  const [from, to] = nearDeadline;
  const duration = random.chance(0.1) ? from + random.next() * (to - from) : random.skewed(2, 2_000);
  const isBroken = random.chance(broken);
  const cuts = Array.from({ length: count - 1 }, () => random.int(0, whole.length)).sort((a, b) => a - b);
  const parts = [0, ...cuts].map((start, nth) => ({
    after: duration / count,
    bytes: whole.subarray(start, cuts[nth] ?? whole.length),
  }));
  return { parts: isBroken ? parts.slice(0, -1) : parts, isBroken };
}

/** Reads a body as the adapter of Node does, without a connection. */
export class PartReader {
  readonly #incoming: Incoming;
  readonly #unlisten: () => void;

  constructor({ status, headers = {} }: Answered, signal: AbortSignal | undefined) {
    const incoming = new Incoming({ encoding: headers['content-encoding'], maxBytes: Infinity });
    const onAbort = (): void => incoming.fail(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    // All attempts of a request have one signal.
    this.#unlisten = () => signal?.removeEventListener('abort', onAbort);
    if (status === 304) incoming.close();
    this.#incoming = incoming;
  }

  take(bytes: Buffer): void {
    this.#incoming.take(bytes);
  }

  end(isBroken: boolean): void {
    if (isBroken) this.#incoming.fail(new AdapterFault('cut-body', 'ECONNRESET'));
    else this.#incoming.end();
  }

  /** The text of the body, once all of it has arrived. @throws AdapterFault if it breaks off. */
  async text(): Promise<string> {
    await this.#incoming.complete.finally(this.#unlisten);
    return Buffer.concat(this.#incoming.chunks).toString();
  }
}
