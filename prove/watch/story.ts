import assert from 'node:assert/strict';
import type { Change } from '@sluice/core';
import { FoldedChanges } from '../../packages/core/test/watch/foldedChanges.js';
import type { Row } from '../../packages/core/test/watch/listing.js';

/** What has arrived at a target, looked at after each round. */
export class Story {
  readonly #mayRepeat: boolean;
  readonly #bodies = new Map<string, string>();
  /** By generation and key. */
  readonly #ids = new Map<string, string>();

  constructor(mayRepeat: boolean) {
    this.#mayRepeat = mayRepeat;
  }

  /**
   * The rows that all changes so far add up to.
   *
   * @throws AssertionError if one does not begin where the one before it of the same key ended, came twice where it may not, or had
   * another body or another id before, in this round or in an earlier one.
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

  /** Different changes that were ever seen, those included that a kill took back. */
  get seen(): number {
    return this.#bodies.size;
  }
}
