import { decodeRecords } from '../../packages/sandbox/src/receiver/decodeRecords.js';
import type { Answered, Service } from './network.js';
import { Random } from '../../test/kit/random.js';

/** A service that takes webhooks and remembers their ids. */
export class Receiver {
  /** What the records were about, in the order of their first arrival. */
  readonly data: unknown[] = [];
  /** What no receiver must see. */
  readonly wrong: string[] = [];
  readonly #bodies = new Map<string, string>();
  readonly #refused: number;
  #isMended = false;
  #exports = 1;

  /** @param refused the share of records that it refuses for what they are, until it is mended. */
  constructor(refused: number) {
    this.#refused = refused;
  }

  /** Takes everything from now on. */
  mend(): void {
    this.#isMended = true;
  }

  /** An export has come to its end: the next one is another, whose records have times of their own. */
  startOver(): void {
    this.#exports += 1;
    this.#bodies.clear();
  }

  readonly answer: Service = ({ headers, body }): Answered => {
    const records = decodeRecords(headers['webhook-id'] ?? '', body);
    if (!this.#isMended && records.some(({ id }) => new Random(id).chance(this.#refused)))
      return { status: 422, body: '{"message":"no"}' };
    for (const record of records) {
      const before = this.#bodies.get(record.id);
      if (before === undefined) this.data.push(dataOf(record.value));
      // Dead letters of two exports are of two times.
      else if (before !== record.body && (!this.#isMended || this.#exports === 1))
        this.wrong.push(`The record ${record.id} came again with other bytes.`);
      this.#bodies.set(record.id, record.body);
    }
    return { status: 204, body: '' };
  };
}

function dataOf(envelope: unknown): unknown {
  return typeof envelope === 'object' && envelope !== null && 'data' in envelope ? envelope.data : undefined;
}
