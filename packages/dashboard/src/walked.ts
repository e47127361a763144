import type { EventOf } from '@sluice/core';
import { first } from './fit.js';
import type { Snapshot } from './snapshot.js';

const maxPartitions = 8;

/** How far a walk is: its partitions, and the rows that the API expects of it. */
export class Walked {
  /** As the API told last. */
  total: number | undefined;
  #begun = 0;
  #latest: Snapshot['partitions']['latest'] = [];

  add({ total, partition, page }: EventOf<'page'>, now: number): void {
    if (total !== undefined) this.total = total;
    this.#begun = Math.max(this.#begun, partition + 1);
    const others = this.#latest.filter(([each]) => each !== partition);
    this.#latest = first([partition, page, now] as const, others, maxPartitions);
  }

  /** @param done partitions, with those of an earlier run */
  partitions(done: number, of: number | undefined): Snapshot['partitions'] {
    return { begun: this.#begun, done, of: of ?? null, latest: this.#latest };
  }
}
