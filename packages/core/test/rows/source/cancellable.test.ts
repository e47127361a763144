import { expect, test } from 'vitest';
import { cancellable, type PullIterator } from '../../../src/rows/source/cancellable.js';

test('steps never overlap, even if what a step calls asks for the next one', async () => {
  let running = 0;
  let most = 0;
  let steps = 0;
  const asked: Promise<unknown>[] = [];
  const iterator: PullIterator<number> = cancellable(async () => {
    running += 1;
    most = Math.max(most, running);
    if (steps === 0) asked.push(iterator.next());
    steps += 1;
    await Promise.resolve();
    running -= 1;
    return { done: false, value: steps };
  });
  expect(await iterator.next()).toMatchObject({ done: false });
  await Promise.all(asked);
  expect([steps, most]).toEqual([2, 1]);
});

test('P3 what a step calls may end it: the call that is pending resolves at once', async () => {
  const iterator: PullIterator<number> = cancellable(() => {
    void iterator.return();
    // It does not look at its signal.
    return new Promise(() => undefined);
  });
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});
