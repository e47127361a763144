import { ManualClock } from '@sluice/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Stopwatch } from '../../src/http/stopwatch.js';

const ms = (max: number): fc.Arbitrary<number> => fc.double({ min: 0, max, noNaN: true });

test(
  'T3 a stopwatch goes off once, when all of its budget was spent running, whatever the pauses',
  { tags: ['slow'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        ms(1e5),
        fc.array(fc.record({ running: ms(500), paused: ms(400_000) }), { maxLength: 5 }),
        async (start, legs) => {
          const clock = new ManualClock(() => Promise.resolve());
          await clock.advance(start);
          let spent = 0;
          const watch = new Stopwatch(clock, 180_000, () => (spent += 1));
          for (const { running, paused } of legs) {
            watch.run();
            await clock.advance(running);
            watch.pause();
            await clock.advance(paused);
          }
          watch.run();
          const { left } = watch;
          await clock.advance(left - 1.5);
          expect(spent).toBe(0);
          // Adding up rounds: it may go off up to a millisecond early.
          await clock.advance(1.6);
          expect(spent).toBe(1);
          watch.stop();
          await clock.advance(400_000);
          expect(spent).toBe(1);
          expect(clock.pending).toEqual([]);
        },
      ),
      { numRuns: 2_000 },
    );
  },
);
