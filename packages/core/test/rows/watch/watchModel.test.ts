// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HttpError, memoryState, watch, type Change } from '../../../src/index.js';
import { FoldedChanges } from './foldedChanges.js';
import { Listing, row, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

/** What happens before a page is answered. */
type Event =
  | { readonly kind: 'set' | 'add' | 'remove'; readonly id: string; readonly status: string }
  | { readonly kind: 'rotate'; readonly by: number }
  | { readonly kind: 'fail' | 'hide' | 'empty' };

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '10', '2', '__proto__', 'constructor');
const status = fc.constantFrom('active', 'paused', 'error');
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constantFrom('set', 'add', 'remove'), id, status }),
  fc.record({ kind: fc.constant('rotate' as const), by: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constantFrom('fail', 'hide', 'empty') }),
);
/** One run of the program: so many polls, and whether the last page that it was given is taken before it is killed. */
const run = fc.record({
  polls: fc.integer({ min: 1, max: 5 }),
  isTaken: fc.boolean(),
  acceptRemovals: fc.boolean(),
  events: fc.dictionary(fc.nat({ max: 25 }).map(String), event, { maxKeys: 8 }),
});
const scenario = fc.record({
  ids: fc.uniqueArray(id, { maxLength: 8 }),
  pageSize: fc.integer({ min: 1, max: 4 }),
  confirmations: fc.integer({ min: 1, max: 3 }),
  runs: fc.array(run, { minLength: 1, maxLength: 5 }),
});

test('C5 folding the changes gives the accepted snapshot, then the listing, whatever it did and however often it was restarted', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ ids, pageSize, confirmations, runs }) => {
      const listing = new Listing(
        ids.map((each) => row(each)),
        pageSize,
      );
      const state = memoryState();
      const clock = new SkippingClock();
      const options = { every: 1_000, clock, state, confirmations };
      const taken = new Map<number, readonly Change<Row>[]>();
      for (const { polls, isTaken, acceptRemovals, events } of runs) {
        let fetches = 0;
        let isHiding = false;
        let isEmpty = false;
        listing.onFetch = ({ page }) => {
          if (page === 0) isHiding = isEmpty = false;
          const due = events[String((fetches += 1))];
          if (due) happen(listing, due);
          isHiding ||= due?.kind === 'hide';
          isEmpty ||= due?.kind === 'empty';
          if (due?.kind === 'fail') throw new HttpError('503', { status: 503, excerpt: '' });
        };
        listing.seenAs = (rows) => (isEmpty ? [] : isHiding ? rows.slice(1) : rows);
        const watched = watch(listing.source(), { ...options, acceptRemovals, polls });
        let left = polls;
        for await (const { items, health, position } of watched.pages()) {
          if (items.length > 0) {
            const { generation } = items[0]!;
            // What comes again is what came before, word for word.
            if (taken.has(generation)) expect(items).toEqual(taken.get(generation));
            taken.set(generation, items);
            expect(position.begun['0']).toMatchObject({ next: { cursor: String(generation) } });
          }
          const folded = fold(taken);
          expect(health?.rows).toBe(folded.size);
          left -= health?.outcome === 'replayed' ? 0 : 1;
          if (!isTaken && left === 0) break;
        }
      }
      // After quiet, it is what the server has.
      listing.onFetch = () => undefined;
      listing.seenAs = (rows) => rows;
      const last = watch(listing.source(), { ...options, polls: 8 });
      for await (const { items } of last.pages()) if (items.length > 0) taken.set(items[0]!.generation, items);
      const listed = new Map(listing.rows.map((each) => [each.id, each]));
      expect(fold(taken)).toEqual(listed);
      expect([...taken.keys()].sort((a, b) => a - b)).toEqual(
        Array.from({ length: taken.size }, (_, at) => at + (taken.has(1) ? 1 : 2)),
      );
    }),
    { numRuns: 400 },
  );
});

function fold(taken: ReadonlyMap<number, readonly Change<Row>[]>): ReadonlyMap<string, Row> {
  const inOrder = [...taken].sort(([one], [other]) => one - other).flatMap(([, changes]) => changes);
  return new FoldedChanges<Row>().take(inOrder).rows;
}

function happen(listing: Listing, event: Event): void {
  switch (event.kind) {
    case 'set':
      listing.set(event.id, event.status);
      break;
    case 'add':
      listing.remove(event.id);
      listing.add(event.id, event.status);
      break;
    case 'remove':
      listing.remove(event.id);
      break;
    case 'rotate':
      listing.rows = [...listing.rows.slice(event.by), ...listing.rows.slice(0, event.by)];
  }
}
