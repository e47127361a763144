import { fingerprint } from './random.js';
import { Refusal } from './refusal.js';

/** Where a page starts. `turn` tells cursors of the same place apart, where a fault has to mint another one. */
export interface PageStart {
  readonly place: number;
  readonly turn: number;
}

/**
 * Mints and reads cursors. A cursor carries its place itself, so any number of them costs no memory; a checksum with the
 * seed and a fingerprint of the query tell our own from those made up or made for another query.
 */
export class Cursors {
  readonly #seed: number;
  readonly #ttl: number;
  readonly #uses: number;
  readonly #now: () => number;
  readonly #used = new Map<string, number>();

  constructor(options: { seed: number; cursorTtl: number; cursorUses: number; now: () => number }) {
    this.#seed = options.seed;
    this.#ttl = options.cursorTtl;
    this.#uses = options.cursorUses;
    this.#now = options.now;
  }

  /** The cursor of a page. It is the same text each time, unless cursors expire: then it tells when it was minted. */
  mint(query: string, { place, turn }: PageStart): string {
    const minted = this.#ttl === Infinity ? '' : Math.floor(this.#now()).toString(36);
    const content = `${place}.${turn}.${minted}.${fingerprint(this.#seed, query)}`;
    return Buffer.from(`${content}.${this.#checksum(content)}`).toString('base64url');
  }

  /** Reads a cursor that a client sent and counts its use. Raises a `Refusal` with status 400 where it is not (or no longer) good. */
  open(query: string, cursor: string): PageStart {
    const bytes = Buffer.from(cursor, 'base64url');
    const [, content = '', place, turn, minted = '', madeFor, checksum] =
      /^((\d+)\.(\d+)\.(\w*)\.(\w+))\.(\w+)$/.exec(bytes.toString('latin1')) ?? [];
    // Decoding skips what is not base64url, so the text itself is compared too.
    if (checksum !== this.#checksum(content) || cursor !== bytes.toString('base64url')) {
      throw new Refusal(400, 'cursor: unknown; it was not issued by this service');
    }
    if (madeFor !== fingerprint(this.#seed, query)) {
      throw new Refusal(
        400,
        'cursor: it was issued for another query; send the same parameters, or start anew without it',
      );
    }
    if (this.#now() - Number.parseInt(minted, 36) > this.#ttl) {
      throw new Refusal(400, 'cursor: expired; start anew without it');
    }
    this.#count(cursor);
    return { place: Number(place), turn: Number(turn) };
  }

  #checksum(content: string): string {
    return fingerprint(this.#seed, `cursor ${content}`);
  }

  #count(cursor: string): void {
    if (this.#uses === Infinity) return;
    const used = this.#used.get(cursor) ?? 0;
    if (used >= this.#uses) throw new Refusal(400, 'cursor: it was used before; start anew without it');
    this.#used.set(cursor, used + 1);
    const [oldest] = this.#used.keys();
    if (oldest !== undefined && this.#used.size > REMEMBERED_CURSORS) this.#used.delete(oldest);
  }
}

/** Uses are counted for the latest cursors only, so that memory stays flat. */
const REMEMBERED_CURSORS = 100_000;
