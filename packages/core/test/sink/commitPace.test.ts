import { describe, expect, test } from 'vitest';
import { createSource, exportTo, memoryState, type ExportOptions, type Source } from '../../src/index.js';
import { FakeClock } from '../fakeClock.js';
import { recordingSink } from './recordingSink.js';

interface Row {
  readonly id: number;
}

/** Pages of one row each, which ask for no commit. `onFetch` may let them wait. */
function pagesOf(count: number, onFetch: (page: number) => Promise<void> = () => Promise.resolve()): Source<Row> {
  return createSource({
    name: 'paced',
    identity: count,
    schema: { columns: ['id'] },
    async fetch({ at }) {
      const id = at && 'cursor' in at ? Number(at.cursor) : 0;
      await onFetch(id);
      return { rows: [{ id }], next: id + 1 < count ? { cursor: String(id + 1) } : 'end' };
    },
  });
}

interface Pace extends ExportOptions {
  /** Ms that each write takes by the export's clock. */
  readonly writeTakes: number;
  /** Ms that it takes to save a checkpoint. Default 0. */
  readonly saveTakes?: number;
  /** After how many pages the sink allows a commit. Default: each one. */
  readonly allowedEvery?: number;
}

/** An export by a clock that only its writes and saves move. */
function paced(source: Source<Row>, { writeTakes, saveTakes = 0, allowedEvery = 1, ...options }: Pace) {
  const clock = new FakeClock();
  const sink = recordingSink<Row>();
  /** How many pages had been written at each save. */
  const saves: number[] = [];
  sink.beforeWrite = () => clock.advance(writeTakes);
  sink.isCommittable = () => sink.rows.length % allowedEvery === 0;
  const store = memoryState();
  const state: typeof store = {
    ...store,
    save: async (name, value) => {
      saves.push(sink.rows.length);
      await clock.advance(saveTakes);
      await store.save(name, value);
    },
  };
  const ended = exportTo(source, sink, { state, clock, ...options }).run();
  return { ended, clock, sink, saves };
}

/** How many pages had been written at each commit. */
async function commitsOf(pages: number, pace: Pace): Promise<number[]> {
  const { ended, clock, saves } = paced(pagesOf(pages), pace);
  await ended;
  expect(clock.pending).toEqual([]);
  // The first is the checkpoint before all rows, the last one the seal.
  return saves.slice(1, -1);
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

  test('less often where commits take long, so that they take less than a twentieth of the time', async () => {
    expect(await commitsOf(400, { writeTakes: 100, saveTakes: 50 })).toEqual(
      Array.from({ length: 40 }, (_, nth) => 10 * (nth + 1)),
    );
    expect(await commitsOf(400, { writeTakes: 100, saveTakes: 300 })).toEqual([10, 70, 130, 190, 250, 310, 370]);
    expect(await commitsOf(400, { writeTakes: 10, saveTakes: 3_000 })).toEqual([100, 300]);
  });

  test('while the next page is waited for', async () => {
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    const source = pagesOf(6, async (page) => {
      if (page === 5) await asked;
    });
    const { ended, clock, sink, saves } = paced(source, { writeTakes: 10 });
    await clock.asked(950);
    expect(sink.rows).toHaveLength(5);
    await clock.advance(949);
    expect(saves).toEqual([0]);
    await clock.advance(1);
    expect(saves).toEqual([0, 5]);
    // There is nothing more to commit.
    expect(clock.pending).toEqual([]);
    answer();
    await ended;
    expect(saves).toEqual([0, 5, 6]);
  });

  test('and an export that is stopped while it waits leaves no timer behind', async () => {
    const stop = new AbortController();
    const source = pagesOf(6, (page) => (page === 5 ? new Promise(() => undefined) : Promise.resolve()));
    const clock = new FakeClock();
    const running = exportTo(source, recordingSink<Row>(), { state: memoryState(), clock });
    const ended = running.run({ signal: stop.signal });
    await clock.asked(1_000);
    stop.abort('enough');
    await expect(ended).rejects.toBe('enough');
    expect(clock.pending).toEqual([]);
  });
});

test('commitEvery is followed to the page, however long pages take', async () => {
  expect(await commitsOf(7, { writeTakes: 60_000, commitEvery: 3 })).toEqual([3, 6]);
  expect(await commitsOf(500, { writeTakes: 0, commitEvery: 300 })).toEqual([300]);
});
