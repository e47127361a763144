import type { EventOf } from '@sluice/core';
import { first } from './fit.js';
import type { Snapshot } from './snapshot.js';

const maxPartitions = 8;

/** How far a walk is: its partitions, and the rows that the API expects of it. */
export class Walked {
  /** As the API told last. */
  total: number | undefined;
  #begun = 0;
  #done = 0;
  #latest: Snapshot['partitions']['latest'] = [];

  add({ total, partition, page, endsPartition }: EventOf<'page'>, now: number): void {
    if (total !== undefined) this.total = total;
    this.#begun = Math.max(this.#begun, partition + 1);
    if (endsPartition) this.#done += 1;
    const others = this.#latest.filter(([each]) => each !== partition);
    this.#latest = first([partition, page, now] as const, others, maxPartitions);
  }

  /** @param resumed partitions that an earlier run has done */
  partitions(resumed: number, of: number | undefined): Snapshot['partitions'] {
    return { begun: this.#begun, done: this.#done + resumed, of: of ?? null, latest: this.#latest };
  }
}
