import assert from 'node:assert/strict';
import type { Change } from '@sluice/core';
import { FoldedChanges } from '../../packages/core/test/rows/watch/foldedChanges.js';
import type { Row } from '../../packages/core/test/rows/watch/listing.js';

/** The arrivals at a target, checked after each round. */
export class Story {
  readonly #mayRepeat: boolean;
  readonly #bodies = new Map<string, string>();
  /** By generation and key. */
  readonly #ids = new Map<string, string>();

  constructor(mayRepeat: boolean) {
    this.#mayRepeat = mayRepeat;
  }

  /**
   * The rows that result from all changes so far.
   *
   * @throws AssertionError if a change does not start where the previous one of its key ended, arrived twice although
   * it must not, or had another body or id before, in this round or an earlier one.
   */
  told(arrived: readonly Change<Row>[]): ReadonlyMap<string, Row> {
    for (const change of arrived) {
      const body = JSON.stringify(change);
      assert.equal(body, this.#bodies.get(change.id) ?? body, `${change.id} has another body than before`);
      this.#bodies.set(change.id, body);
      const place = `${change.generation} ${change.key}`;
      assert.equal(change.id, this.#ids.get(place) ?? change.id, `The change of ${place} had another id before`);
      this.#ids.set(place, change.id);
    }
    const once = this.#mayRepeat ? new Map(arrived.map((change) => [change.id, change])).values() : arrived;
    return new FoldedChanges<Row>().take(once).rows;
  }

  /** Different changes so far, including those that a kill undid. */
  get seen(): number {
    return this.#bodies.size;
  }
}
