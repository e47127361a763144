import { describe, expect, onTestFinished, test } from 'vitest';
import { Flow } from '../../../src/rows/source/flow.js';
import { done, cancellable, type PullIterator } from '../../../src/rows/source/cancellable.js';

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Ten chunks of three, from a source that does not stop when it is told to. */
function stubborn(): { readonly open: () => PullIterator<readonly number[]>; readonly asked: () => number } {
  let asked = 0;
  const chunks: PullIterator<readonly number[]> = {
    async next() {
      asked += 1;
      await turnOfTheLoop();
      return asked <= 10 ? { done: false, value: [1, 2, 3] } : done;
    },
    return: () => Promise.resolve(done),
    [Symbol.asyncIterator]: () => chunks,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { open: () => chunks, asked: () => asked };
}

describe('P3 a flow that nobody wants any more', () => {
  test('asks for no further chunk, also of a source that does not stop', async () => {
    const { open, asked } = stubborn();
    const seen: number[] = [];
    const subscription = new Flow(open).subscribe((item) => {
      seen.push(item);
      if (seen.length === 2) subscription.unsubscribe();
    });
    for (let turn = 0; turn < 20; turn += 1) await turnOfTheLoop();
    expect(seen).toEqual([1, 2]);
    expect(asked()).toBe(1);
  });

  test('gives a puller that has stopped nothing of the chunk that was there', async () => {
    const items = new Flow(stubborn().open)[Symbol.asyncIterator]();
    expect(await items.next()).toEqual({ done: false, value: 1 });
    await items.return();
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test('ends no process where its source fails in closing', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    onTestFinished(() => void process.off('unhandledRejection', onUnhandled));
    let closed = 0;
    const open = (): PullIterator<readonly number[]> =>
      cancellable(
        () => new Promise<never>(() => undefined),
        () => {
          closed += 1;
          throw new Error('It could not be closed.');
        },
      );
    new Flow(open).subscribe().unsubscribe();
    for (let turn = 0; turn < 3; turn += 1) await turnOfTheLoop();
    expect(closed).toBe(1);
    expect(unhandled).toEqual([]);
  });
});
