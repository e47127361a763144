import { describe, expect, test } from 'vitest';
import {
  createSource,
  NetworkError,
  type FetchedPage,
  type Source,
  type SourceDefinition,
} from '../../../src/index.js';

interface Row {
  readonly id: number;
}

function sourceOf(partitions: number, fetch: SourceDefinition<Row>['fetch']): Source<Row> {
  return createSource<Row>({ name: 'failing', identity: null, schema: { columns: ['id'] }, partitions, fetch });
}

const onePage = (id: number): FetchedPage<Row> => ({ rows: [{ id }], next: { cursor: String(id) } });
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('P6 a walk with concurrency that fails', () => {
  test('tells what failed first, and not what the other partitions say of being stopped', async () => {
    let stop: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => (stop = resolve));
    const source = sourceOf(2, ({ partition, at, signal }) => {
      if (!at) return Promise.resolve(onePage(partition));
      if (partition === 0) return Promise.reject(new NetworkError('This failed first.'));
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(new NetworkError('This was stopped.'));
          stop();
        });
      });
    });
    const pages = source.pages({ concurrency: 2, prefetch: 2 })[Symbol.asyncIterator]();
    // Its consumer is busy while both of them end.
    await pages.next();
    await stopped;
    await turnOfTheLoop();
    await pages.next();
    await expect(pages.next()).rejects.toThrow('This failed first.');
  });

  test('keeps the position that an error has brought along, e.g. of a walk that its fetch has made', async () => {
    const inner = sourceOf(1, ({ at }) =>
      at ? Promise.reject(new NetworkError('The inner one.')) : Promise.resolve(onePage(1)),
    );
    const outer = sourceOf(1, async () => ({ rows: await inner.toArray(), next: 'end' }));
    await expect(outer.toArray()).rejects.toMatchObject({ message: 'The inner one.', position: { rows: 1 } });
  });

  test.each(['no more tea', undefined, 7])('says which source threw %j, which is not an Error', async (thrown) => {
    const source = sourceOf(2, ({ partition }) =>
      partition === 0 ? Promise.reject(thrown) : Promise.resolve(onePage(partition)),
    );
    await expect(source.toArray()).rejects.toMatchObject({
      code: 'plugin',
      message: 'failing, partition 1 of 2, failed: what its fetch threw is not an Error. See its cause.',
      cause: thrown ?? 'undefined',
      position: { rows: 0 },
    });
  });

  test('says which source threw a text while it made its rows', async () => {
    const decode = (): never => {
      throw 'no tea';
    };
    const source = sourceOf(1, () => Promise.resolve({ received: [1], decode, next: 'end' }));
    await expect(source.toArray()).rejects.toMatchObject({
      message: 'failing failed: what its decode threw is not an Error. See its cause.',
      cause: 'no tea',
    });
  });

  test('says which source answered nothing', async () => {
    const nothing: FetchedPage<Row> = JSON.parse('{}').page;
    const source = sourceOf(1, () => Promise.resolve(nothing));
    await expect(source.toArray()).rejects.toMatchObject({
      code: 'plugin',
      message: 'failing failed: its fetch returned nothing instead of a page.',
    });
  });

  test('passes on what is no error of ours as it is', async () => {
    const reason = Object.freeze(new RangeError('of a program'));
    const source = sourceOf(1, () => Promise.reject(reason));
    await expect(source.toArray()).rejects.toBe(reason);
  });
});

test('no other partition begins once those done ahead of the first would fill a disk', async () => {
  let release: () => void = () => undefined;
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  const begun: number[] = [];
  const long = 'x'.repeat(1_200_000);
  const received = [...Array<string>(999).fill(''), long];
  const source = createSource<string>({
    name: 'long',
    identity: null,
    schema: { columns: [] },
    partitions: 20,
    fetch: async ({ partition }) => {
      begun.push(partition);
      if (partition === 0) await isReleased;
      return { rows: received, next: 'end' };
    },
  });
  const pages = source.pages({ concurrency: 2, prefetch: 2 })[Symbol.asyncIterator]();
  for (let page = 0; page < 3; page += 1) await pages.next();
  const next = pages.next();
  for (let turn = 0; turn < 20; turn += 1) await turnOfTheLoop();
  expect(begun).toEqual([0, 1, 2, 3]);
  release();
  await next;
  await expect.poll(() => begun.length).toBeGreaterThan(4);
  await pages.return();
});

test('P2 a walk reads ahead as far as it may while its consumer is busy with the first page', async () => {
  let asked = 0;
  let answerSecond: () => void = () => undefined;
  const isBusy = new Promise<void>((resolve) => (answerSecond = resolve));
  const source = sourceOf(1, async () => {
    const page = onePage((asked += 1));
    if (asked === 2) await isBusy;
    return page;
  });
  const pages = source.pages({ prefetch: 2 })[Symbol.asyncIterator]();
  await pages.next();
  answerSecond();
  // All else answers at once, so a few turns are enough for what the walk asks for by itself.
  for (let turn = 0; turn < 20; turn += 1) await turnOfTheLoop();
  expect(asked).toBe(3);
  await pages.return();
});

test.each([
  [3, 'failing, partition 1 of 3, '],
  [Infinity, 'failing, partition 1, '],
])('an error names its partition of %d, and how many there are if they end', async (partitions, place) => {
  const half = '\ud800';
  const source = sourceOf(partitions, () => Promise.resolve({ rows: [{ id: 1 }], next: { cursor: half } }));
  await expect(source.pages()[Symbol.asyncIterator]().next()).rejects.toThrow(place);
});
