import type { Open } from '../serverLog.js';
import type { DeliveredRecord } from './decodeRecords.js';

/** A record that was accepted at least once. */
export interface AcceptedRecord {
  /** How often it was accepted. */
  readonly count: number;
  /** Its exact text when it was first accepted; in a batch, the text of its element. */
  readonly body: string;
}

/** The received records by id, and whether their texts were always the same. */
export class AcceptedRecords {
  /** In the order of first acceptance. */
  readonly byId: ReadonlyMap<string, AcceptedRecord>;
  /** Repeated acceptances of an id. */
  doubled = 0;
  /** Deliveries, accepted or not, with another text than the one before with the same id. */
  differing = 0;
  readonly #byId = new Map<string, Open<AcceptedRecord>>();
  /** Texts of records that were received but not accepted yet. */
  readonly #failed = new Map<string, string>();

  constructor() {
    this.byId = this.#byId;
  }

  /** Adds a received record, accepted or not. */
  add({ id, body }: DeliveredRecord, isAccepted: boolean): void {
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
    this.#byId.set(id, { count: 1, body });
  }
}
