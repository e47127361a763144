import type { DeliveredRecord } from './decodeRecords.js';

/** A record that was accepted at least once. */
export interface AcceptedRecord {
  /** How often it was accepted. */
  readonly count: number;
  /** Its exact text when it was first accepted; in a batch that of its element. */
  readonly body: string;
  /** When it was first accepted, in ms by the receiver's clock. */
  readonly firstAt: number;
  /** Its place in the order of first acceptance, from 0. */
  readonly index: number;
}

/** Which records came, by id, and whether they were always the same. */
export class AcceptedRecords {
  readonly byId: ReadonlyMap<string, AcceptedRecord>;
  readonly order: readonly string[];
  /** Acceptances beyond the first of an id. */
  doubled = 0;
  /** Deliveries of a record with another text than came before under its id, accepted or not. */
  differing = 0;
  readonly #byId = new Map<string, { -readonly [field in keyof AcceptedRecord]: AcceptedRecord[field] }>();
  readonly #order: string[] = [];
  /** Texts of records that came and were not accepted yet: each text is kept once. */
  readonly #failed = new Map<string, string>();

  constructor() {
    this.byId = this.#byId;
    this.order = this.#order;
  }

  /** Takes note of a record that came, accepted or not. */
  note({ id, body }: DeliveredRecord, isAccepted: boolean, now: number): void {
    const known = this.#byId.get(id);
    const before = known?.body ?? this.#failed.get(id);
    if (before !== undefined && before !== body) this.differing++;
    if (!isAccepted) {
      if (known === undefined) this.#failed.set(id, body);
      return;
    }
    if (known !== undefined) {
      known.count++;
      this.doubled++;
      return;
    }
    this.#failed.delete(id);
    this.#byId.set(id, { count: 1, body, firstAt: now, index: this.#order.length });
    this.#order.push(id);
  }

  /** Those of some ids that were never accepted, in their order. */
  missing(ids: Iterable<string>): readonly string[] {
    return Array.from(ids).filter((id) => !this.#byId.has(id));
  }
}
