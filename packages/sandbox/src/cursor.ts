import { fingerprint } from './served/random.js';
import { Refusal } from './refusal.js';

/** Where a page starts. `turn` distinguishes cursors of the same place, if a fault needs a new one. */
export interface PageStart {
  readonly place: number;
  readonly turn: number;
}

/**
 * Creates and reads cursors. A cursor contains its place, so it takes no memory. A checksum with the seed and a
 * fingerprint of the query reveal cursors that are forged or of another query.
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

  /** The cursor of a page: always the same text, unless cursors expire; then it contains its time. */
  mint(query: string, { place, turn }: PageStart): string {
    const minted = this.#ttl === Infinity ? '' : Math.floor(this.#now()).toString(36);
    const content = `${place}.${turn}.${minted}.${fingerprint(this.#seed, query)}`;
    return Buffer.from(`${content}.${this.#checksum(content)}`).toString('base64url');
  }

  /** Reads a cursor from a client and counts its use. Throws a `Refusal` with status 400 if it is not valid. */
  open(query: string, cursor: string): PageStart {
    const bytes = Buffer.from(cursor, 'base64url');
    const [, content = '', place, turn, minted = '', madeFor, checksum] =
      /^((\d+)\.(\d+)\.(\w*)\.(\w+))\.(\w+)$/.exec(bytes.toString('latin1')) ?? [];
    // Decoding ignores invalid characters, so the text is compared too.
    if (checksum !== this.#checksum(content) || cursor !== bytes.toString('base64url'))
      throw refusal('unknown; it was not issued by this service');
    if (madeFor !== fingerprint(this.#seed, query))
      throw refusal('it was issued for another query; send the same parameters, or start over without it');
    if (this.#now() - Number.parseInt(minted, 36) > this.#ttl) throw refusal('expired; start over without it');
    this.#count(cursor);
    return { place: Number(place), turn: Number(turn) };
  }

  #checksum(content: string): string {
    return fingerprint(this.#seed, `cursor ${content}`);
  }

  #count(cursor: string): void {
    if (this.#uses === Infinity) return;
    const used = this.#used.get(cursor) ?? 0;
    if (used >= this.#uses) throw refusal('it was used before; start over without it');
    this.#used.set(cursor, used + 1);
    const [oldest] = this.#used.keys();
    if (oldest !== undefined && this.#used.size > REMEMBERED_CURSORS) this.#used.delete(oldest);
  }
}

function refusal(reason: string): Refusal {
  return new Refusal(400, `cursor: ${reason}`);
}

/** Uses are counted only for the latest cursors, to bound memory. */
const REMEMBERED_CURSORS = 100_000;
