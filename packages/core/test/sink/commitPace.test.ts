import { describe, expect, test } from 'vitest';
import { createSource, exportTo, memoryState, type ExportOptions, type Source } from '../../src/index.js';
import { FakeClock } from '../fakeClock.js';
import { recordingSink } from './recordingSink.js';

interface Row {
  readonly id: number;
}

/** Pages of one row each, which ask for no commit. */
function pagesOf(count: number): Source<Row> {
  return createSource({
    name: 'paced',
    identity: count,
    schema: { columns: ['id'] },
    fetch({ at }) {
      const id = at && 'cursor' in at ? Number(at.cursor) : 0;
      return Promise.resolve({ rows: [{ id }], next: id + 1 < count ? { cursor: String(id + 1) } : 'end' });
    },
  });
}

interface Pace extends ExportOptions {
  /** Ms that each write takes by the export's clock. */
  readonly writeTakes: number;
  /** After how many pages the sink allows a commit. */
  readonly allowedEvery?: number;
}

/** How many pages had been written at each commit. */
async function commitsOf(pages: number, { writeTakes, allowedEvery = 1, ...options }: Pace): Promise<number[]> {
  const clock = new FakeClock();
  const sink = recordingSink<Row>();
  const commits: number[] = [];
  sink.beforeWrite = () => clock.advance(writeTakes);
  sink.isCommittable = () => sink.rows.length % allowedEvery === 0;
  const store = memoryState();
  const state: typeof store = {
    ...store,
    save: (name, value) => {
      commits.push(sink.rows.length);
      return store.save(name, value);
    },
  };
  await exportTo(pagesOf(pages), sink, { state, clock, ...options }).run();
  // The first is the checkpoint before all rows, the last one the seal.
  return commits.slice(1, -1);
}

describe('E4 where nobody says how often, an export commits', () => {
  test('each 200 pages, if no second passes meanwhile', async () => {
    expect(await commitsOf(199, { writeTakes: 0 })).toEqual([]);
    expect(await commitsOf(500, { writeTakes: 0 })).toEqual([200, 400]);
    expect(await commitsOf(500, { writeTakes: 4 })).toEqual([200, 400]);
  });

  test('with the first page that is written a second after the last commit', async () => {
    expect(await commitsOf(10, { writeTakes: 250 })).toEqual([4, 8]);
    expect(await commitsOf(10, { writeTakes: 400 })).toEqual([3, 6, 9]);
    expect(await commitsOf(201, { writeTakes: 10 })).toEqual([100, 200]);
  });

  test('with each page, if pages take longer than a second', async () => {
    expect(await commitsOf(3, { writeTakes: 60_000 })).toEqual([1, 2, 3]);
  });

  test('as soon as its sink allows it', async () => {
    expect(await commitsOf(9, { writeTakes: 500, allowedEvery: 4 })).toEqual([4, 8]);
    expect(await commitsOf(500, { writeTakes: 0, allowedEvery: 7 })).toEqual([203, 406]);
  });
});

test('commitEvery is followed to the page, however long pages take', async () => {
  expect(await commitsOf(7, { writeTakes: 60_000, commitEvery: 3 })).toEqual([3, 6]);
  expect(await commitsOf(500, { writeTakes: 0, commitEvery: 300 })).toEqual([300]);
});
