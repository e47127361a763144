import { createHash } from 'node:crypto';

/** One thing that happened in a world. */
export interface TraceEntry {
  /** Virtual ms since the world began. */
  readonly at: number;
  /** The process whose event it was; empty for the world's own. */
  readonly process: string;
  readonly event: string;
}

/** All events of a world, in order: as a hash, and on request as a list. */
export class Trace {
  readonly entries: TraceEntry[] | undefined;
  readonly #hash = createHash('sha256');

  constructor({ keep }: { readonly keep: boolean }) {
    this.entries = keep ? [] : undefined;
  }

  add(at: number, process: string, event: string): void {
    this.#hash.update(`${at} ${process} ${event}\n`);
    this.entries?.push({ at, process, event });
  }

  /** Two worlds with the same digest were the same, event by event. To be asked once, at the end. */
  digest(): string {
    return this.#hash.digest('hex').slice(0, 16);
  }
}
