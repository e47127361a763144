// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { casesOf } from '../../../../../scripts/testEffort.js';
import { memoryState, watch } from '../../../src/index.js';
import type { Rule } from '../../../src/kit.js';
import { Listing, row, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

const hour = 3_600_000;
const ids = Array.from({ length: 100 }, (_, nth) => `stream-${nth}`);

/** A row that fails and recovers: each number is so many polls, first of the one, then of the other. */
const story = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 4 });
/** One life of the watch. */
const life = fc.record({
  polls: fc.integer({ min: 1, max: 12 }),
  /** After so many pages it is killed, the last of which is not taken. */
  killedAfter: fc.option(fc.integer({ min: 1, max: 12 })),
  /** Hours in which nobody looks, and whether the machine starts anew in them. */
  pause: fc.integer({ min: 0, max: 30 }),
  isReboot: fc.boolean(),
  /** By how many hours the clock is set, before which poll. At the first poll of a boot, nothing could tell. */
  step: fc.record({ hours: fc.integer({ min: -500, max: 500 }), poll: fc.integer({ min: 1, max: 12 }) }),
});
const scenario = fc.record({
  stories: fc.array(story, { minLength: 30, maxLength: 30 }),
  /** Polls that do not list a row. */
  hidden: fc.array(fc.record({ id: fc.constantFrom(...ids), poll: fc.nat({ max: 100 }) }), { maxLength: 30 }),
  lives: fc.array(life, { minLength: 20, maxLength: 20 }),
  for: fc.integer({ min: 0, max: 20 }),
  again: fc.option(fc.integer({ min: 1, max: 10 })),
});

/** A walk, by the time that has really passed. */
interface Walk {
  readonly at: number;
  readonly observedAt: string;
  /** The rows that it has listed, and whether they fail. */
  readonly failing: ReadonlyMap<string, boolean>;
}

/** What must have been told, by the whole history of each row. */
function expected(walks: readonly Walk[], rule: { readonly for: number; readonly again: number | null }): string[] {
  const told: string[] = [];
  for (const id of ids) {
    let lastWell: number | undefined;
    let since: number | undefined;
    let lastDue: number | undefined;
    for (const { at, observedAt, failing } of walks) {
      const isFailing = failing.get(id);
      if (isFailing === undefined) continue;
      if (isFailing) {
        since ??= lastWell ?? at;
        const isDue = lastDue === undefined || (rule.again !== null && at - lastDue >= rule.again * hour);
        if (at - since < rule.for * hour || !isDue) continue;
        lastDue = at;
        told.push(`${observedAt} ${id} due`);
      } else {
        if (lastDue !== undefined) told.push(`${observedAt} ${id} resolved`);
        lastWell = at;
        since = lastDue = undefined;
      }
    }
  }
  return told.sort();
}

test('C13 each row is due when its rule says, and resolved once, through kills, steps of the clock, reboots and hours in which nobody looked', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ stories, hidden, lives, ...given }) => {
      const listing = new Listing([], 1_000);
      const clock = new SkippingClock();
      const state = memoryState();
      const rules: Record<string, Rule<Row>> = {
        dying: {
          when: ({ status }) => status === 'error',
          for: given.for * hour,
          ...(given.again !== null && { again: given.again * hour }),
        },
      };
      const walks = new Map<number, Walk>();
      const told = new Map<string, string>();
      let poll = 0;
      let bootedAt = 0;
      let boot = 0;
      const statusOf = (nth: number): string => {
        let left = poll;
        for (const [part, polls] of (stories[nth] ?? []).entries()) {
          if (left < polls) return part % 2 === 0 ? 'active' : 'error';
          left -= polls;
        }
        return (stories[nth]?.length ?? 0) % 2 === 0 ? 'active' : 'error';
      };
      for (const { polls, killedAfter, pause, isReboot, step } of lives) {
        const first = poll;
        listing.onFetch = () => {
          if (poll - first === step.poll && !walks.has(poll)) clock.offset += step.hours * hour;
          // A row that is hidden for two polls in a row could count as removed.
          const away = (at: number, id: string): boolean => hidden.some((each) => each.poll === at && each.id === id);
          const isHidden = (id: string): boolean => poll > 0 && away(poll, id) && !away(poll - 1, id);
          listing.rows = ids.flatMap((id, nth) => (isHidden(id) ? [] : [row(id, statusOf(nth))]));
          const failing = new Map(listing.rows.map(({ id, status }) => [id, status === 'error']));
          walks.set(poll, { at: clock.time, observedAt: new Date(clock.now()).toISOString(), failing });
        };
        const machine = { id: () => Promise.resolve(String(boot)), now: () => clock.time - bootedAt };
        const flow = watch(listing.source(), { every: hour, clock, state, rules, boot: machine, polls });
        let pages = 0;
        for await (const { items, health } of flow.pages({ prefetch: 0 })) {
          pages += 1;
          if (health?.outcome === 'polled') poll += 1;
          for (const item of items)
            if (item.type === 'due' || item.type === 'resolved') {
              const text = `${item.observedAt} ${item.key} ${item.type}`;
              // What comes again is what came before.
              expect(told.get(item.id) ?? text).toBe(text);
              told.set(item.id, text);
            }
          if (pages === killedAfter) break;
        }
        clock.time += pause * hour;
        if (!isReboot) continue;
        boot += 1;
        bootedAt = clock.time;
      }
      expect([...told.values()].sort()).toEqual(expected([...walks.values()], given));
    }),
    { numRuns: casesOf(60) },
  );
});
