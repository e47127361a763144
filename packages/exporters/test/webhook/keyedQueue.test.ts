import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { firstValueFrom, Subject } from 'rxjs';
import { expect, test } from 'vitest';
import { KeyedQueue } from '../../src/webhook/keyedQueue.js';

test('W7 tasks that share a key run one after another in the order of coming, others side by side up to the number', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.scheduler(),
      async (keysOf, concurrency, scheduler) => {
        const begun: number[] = [];
        const running = new Set<number>();
        let max = 0;
        const queue = new KeyedQueue(concurrency);
        keysOf.forEach((keys: readonly string[], at) => {
          queue.add(new Set(keys), async () => {
            for (const other of running) expect(keysOf[other]!.some((key) => keys.includes(key))).toBe(false);
            begun.push(at);
            running.add(at);
            max = Math.max(max, running.size);
            await scheduler.schedule(Promise.resolve());
            running.delete(at);
          });
        });
        await scheduler.waitFor(queue.idle());
        expect(max).toBeLessThanOrEqual(concurrency);
        expect(begun).toHaveLength(keysOf.length);
        for (const key of ['a', 'b', 'c', 'd']) {
          const ofKey = begun.filter((at) => (keysOf[at] as readonly string[]).includes(key));
          expect(ofKey).toEqual([...ofKey].sort((x, y) => x - y));
        }
      },
    ),
  );
});

test('as many run at once as may', async () => {
  let running = 0;
  let max = 0;
  const gates: (() => void)[] = [];
  const queue = new KeyedQueue(3);
  for (let at = 0; at < 10; at += 1) {
    queue.add(new Set([String(at)]), async () => {
      running += 1;
      max = Math.max(max, running);
      await new Promise<void>((resolve) => gates.push(resolve));
      running -= 1;
    });
  }
  expect(running).toBe(3);
  while (gates.length > 0) {
    gates.shift()!();
    await new Promise(setImmediate);
  }
  await queue.idle();
  expect(max).toBe(3);
});

test('a finished task is not kept in memory', { tags: ['slow'] }, async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const queue = new KeyedQueue(1);
  const gate = new Subject<void>();
  const finished = Array.from({ length: 20 }, (_, at) => {
    const records = { at };
    queue.add(new Set(['a']), () => Promise.resolve(void records));
    return new WeakRef(records);
  });
  queue.add(new Set(['a']), () => firstValueFrom(gate));
  await new Promise(setImmediate);
  collect();
  expect(finished.filter((record) => record.deref() !== undefined)).toEqual([]);
  gate.next();
  await queue.idle();
});

test('after a failure nothing is begun, and it is told once', async () => {
  const failures: unknown[] = [];
  const begun: string[] = [];
  const queue = new KeyedQueue(2);
  queue.signal.addEventListener('abort', () => failures.push(queue.signal.reason));
  const failing = (name: string) => async () => {
    begun.push(name);
    await Promise.resolve();
    throw new Error(name);
  };
  for (const name of ['first', 'second', 'third']) queue.add(new Set(), failing(name));
  queue.add(new Set(['k']), failing('fourth'));
  await queue.idle();
  expect(begun).toEqual(['first', 'second']);
  expect(failures).toEqual([new Error('first')]);
});

test('what is done is forgotten, however many tasks there were', async () => {
  const queue = new KeyedQueue(4);
  let done = 0;
  for (let at = 0; at < 10_000; at += 1) {
    queue.add(new Set([`key ${at % 7}`]), async () => {
      await Promise.resolve();
      done += 1;
    });
  }
  await queue.idle();
  expect(done).toBe(10_000);
});
