import type { DeliveredRecord } from './decodeRecords.js';

/** A record that was accepted at least once. */
export interface AcceptedRecord {
  /** How often it was accepted. */
  readonly count: number;
  /** Its exact text when it was first accepted; in a batch, the text of its element. */
  readonly body: string;
  /** When it was first accepted, in ms of the receiver's clock. */
  readonly firstAt: number;
  /** Its index in the order of first acceptance, from 0. */
  readonly index: number;
}

/** The received records by id, and whether their texts were always the same. */
export class AcceptedRecords {
  readonly byId: ReadonlyMap<string, AcceptedRecord>;
  readonly order: readonly string[];
  /** Repeated acceptances of an id. */
  doubled = 0;
  /** Deliveries, accepted or not, with another text than the one before with the same id. */
  differing = 0;
  readonly #byId = new Map<string, { -readonly [field in keyof AcceptedRecord]: AcceptedRecord[field] }>();
  readonly #order: string[] = [];
  /** Texts of records that were received but not accepted yet. */
  readonly #failed = new Map<string, string>();

  constructor() {
    this.byId = this.#byId;
    this.order = this.#order;
  }

  /** Adds a received record, accepted or not. */
  add({ id, body }: DeliveredRecord, isAccepted: boolean, now: number): void {
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

  /** The given ids that were never accepted, in order. */
  missing(ids: Iterable<string>): readonly string[] {
    return Array.from(ids).filter((id) => !this.#byId.has(id));
  }
}
