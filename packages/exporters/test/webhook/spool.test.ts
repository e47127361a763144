import { memoryState, type StateStore } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import type { Outgoing } from '../../src/webhook/outgoing.js';
import { RecentIds, Spool, startOfTarget } from '../../src/webhook/spool.js';
import { decodeWebhookPosition, type SpooledPage, type WebhookPosition } from '../../src/webhook/decodeSpool.js';

const placeAt = (settled: number, end = settled): WebhookPosition => ({ ...startOfTarget, settled, end });
const at = '2026-01-02T03:04:05.678Z';

function pageOf(first: number, count: number, bytes = 2): SpooledPage {
  const records: Outgoing[] = Array.from({ length: count }, (_, index) => ({
    id: `id${first + index}`,
    key: 'k',
    body: JSON.stringify('x'.repeat(bytes)),
  }));
  return { at, first, records };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The spool as the next run finds it. */
async function reopen(state: StateStore, committed: WebhookPosition, maxBytes?: number) {
  const spool = new Spool((name) => state.log(name), maxBytes);
  const found = await spool.read(committed);
  const pages = await all(spool.pagesFrom(found.sinkPosition.settled));
  return { ...found, spool, pages };
}

const ids = (recent: RecentIds): readonly string[] => recent.before(Infinity).recent;
const idsTo = (last: number): string[] => Array.from({ length: last }, (_, index) => `id${index + 1}`);

/** Which segments a state has. */
async function segmentsIn(state: StateStore): Promise<number[]> {
  const found: number[] = [];
  for (let number = 0; number < 30; number += 1) {
    const log = state.log(number === 0 ? 'spool' : `spool-${number}`);
    if ((await all(log.read())).length > 0) found.push(number);
  }
  return found;
}

describe('W1 the spool', () => {
  test('gives back the pages that are not settled as they were, and how far they had come', async () => {
    const state = memoryState();
    const spool = new Spool((name) => state.log(name));
    await spool.append([pageOf(1, 3)], placeAt(1));
    await spool.append([pageOf(4, 3), pageOf(7, 3)], placeAt(2, 4));
    await spool.append([], placeAt(5, 4));
    const left = await reopen(state, placeAt(1, 4));
    expect(left.pages).toEqual([pageOf(4, 3), pageOf(7, 3)]);
    expect(left.sinkPosition).toEqual(placeAt(5, 4));
    expect([left.end, ids(left.recent)]).toEqual([10, idsTo(9)]);
  });

  test('never goes back behind what is committed', async () => {
    const state = memoryState();
    await new Spool((name) => state.log(name)).append([pageOf(1, 3)], placeAt(1));
    expect(await reopen(state, placeAt(4))).toMatchObject({ sinkPosition: placeAt(4), pages: [] });
  });

  test('is read while pages are added, in their order, and to the last one that is there then', async () => {
    const state = memoryState();
    const spool = new Spool((name) => state.log(name), 4_000);
    for (let nth = 0; nth < 5; nth += 1) await spool.append([pageOf(3 * nth + 1, 3, 300)], placeAt(1));
    const firsts: number[] = [];
    for await (const { first } of spool.pagesFrom(1)) {
      firsts.push(first);
      if (firsts.length <= 4) await spool.append([pageOf(3 * (firsts.length + 4) + 1, 3, 300)], placeAt(1));
    }
    expect(firsts).toEqual([1, 4, 7, 10, 13, 16, 19, 22, 25]);
    expect((await reopen(state, placeAt(1, 28))).pages.map(({ first }) => first)).toEqual(firsts);
  });

  test.each([1, 7, 20])(
    'removes segments that are settled up to record %i, and still knows the ids',
    async (settled) => {
      const state = memoryState();
      const spool = new Spool((name) => state.log(name), 4_000);
      const recent = new RecentIds();
      for (let nth = 0; nth < 10; nth += 1) {
        const page = pageOf(2 * nth + 1, 2, 600);
        page.records.forEach(({ id }, index) => recent.add(id, page.first + index));
        await spool.append([page], placeAt(1));
      }
      // Of a page that is not stored yet.
      recent.add('id21', 21);
      expect(await segmentsIn(state)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(spool.waiting(settled)).toBeGreaterThan(0);
      await spool.compact(placeAt(settled, 21), recent);
      expect(await segmentsIn(state)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].slice(Math.floor((settled - 1) / 2)));
      const left = await reopen(state, placeAt(1, 21));
      expect(left.pages.flatMap(({ records }) => records.map(({ id }) => id))).toEqual(
        idsTo(20).slice(2 * Math.floor((settled - 1) / 2)),
      );
      expect(ids(left.recent)).toEqual(idsTo(20));
      await left.spool.append([pageOf(21, 1)], placeAt(settled, 21));
      expect((await segmentsIn(state)).at(-1)).toBe(10);
      await left.spool.removeSettled(placeAt(22), left.recent);
      expect(await segmentsIn(state)).toEqual([]);
      expect(ids((await reopen(state, placeAt(22))).recent)).toEqual(idsTo(20));
      await left.spool.remove();
      expect(ids((await reopen(state, startOfTarget)).recent)).toEqual([]);
    },
  );

  test.each([
    ['its first segment', 'spool'],
    ['one in the middle', 'spool-2'],
    ['its last one', 'spool-4'],
  ])('that lost %s is refused, since its rows are not fetched again', async (_, name) => {
    const state = memoryState();
    const spool = new Spool((each) => state.log(each), 4_000);
    for (let nth = 0; nth < 5; nth += 1) await spool.append([pageOf(2 * nth + 1, 2, 600)], placeAt(1));
    await state.log(name).remove();
    await expect(reopen(state, placeAt(1, 11))).rejects.toMatchObject({ code: 'checkpoint' });
  });

  test.each([
    ['one segment', undefined],
    ['several segments', 4_000],
  ])('of %s is not read to its end once the run is stopped', async (_, maxBytes) => {
    const state = memoryState();
    const spool = new Spool((name) => state.log(name), maxBytes);
    for (let nth = 0; nth < 9; nth += 1) await spool.append([pageOf(3 * nth + 1, 3, 300)], placeAt(1));
    const stop = new AbortController();
    const reason = new Error('stopped');
    let pages = 0;
    const stopping = new Spool((name) => {
      const log = state.log(name);
      const read = log.read.bind(log);
      return Object.assign(log, {
        async *read() {
          for await (const record of read()) {
            if (name !== 'spool-index') pages += 1;
            if (pages === 4) stop.abort(reason);
            yield record;
          }
        },
      });
    }, maxBytes);
    await expect(stopping.read(placeAt(1), stop.signal)).rejects.toBe(reason);
    expect(pages).toBe(4);
    expect((await reopen(state, placeAt(1), maxBytes)).pages).toHaveLength(9);
  });

  test('of a version that committed what was delivered is gone on with', async () => {
    const state = memoryState();
    const sinkPosition = { next: 4, dead: 0, letters: null };
    await state.log('spool').append({ v: 2, sinkPosition, pages: [pageOf(1, 3), pageOf(4, 3)], recent: ['old'] });
    const left = await reopen(state, decodeWebhookPosition(sinkPosition));
    expect(left).toMatchObject({ pages: [pageOf(4, 3)], sinkPosition: placeAt(4), end: 7 });
    expect(ids(left.recent)).toEqual(['old', ...idsTo(6)]);
  });

  test('of another version is refused', async () => {
    const state = memoryState();
    await state.log('spool').append({ v: 1 });
    await expect(reopen(state, placeAt(1))).rejects.toMatchObject({ code: 'checkpoint' });
  });

  test('without a log keeps nothing', async () => {
    const spool = new Spool(undefined);
    await spool.append([pageOf(1, 3)], placeAt(1));
    await spool.compact(placeAt(4), new RecentIds());
    expect(await spool.read(placeAt(4))).toMatchObject({ sinkPosition: placeAt(4), end: 4 });
    await spool.remove();
    await spool.close();
  });
});

describe('the ids of what was on its way lately', () => {
  const filled = (count: number): RecentIds => {
    const recent = new RecentIds();
    for (let number = 1; number <= count; number += 1) recent.add(`id${number}`, number);
    return recent;
  };

  test('are 20,000 at least', () => {
    const recent = filled(25_000);
    recent.forget(25_001);
    expect([recent.has('id5000'), recent.has('id5001')]).toEqual([false, true]);
    recent.forget(25_001);
    expect(ids(recent)).toHaveLength(20_000);
  });

  test('are never fewer than what is not committed', () => {
    const recent = filled(25_000);
    recent.forget(101);
    expect([recent.has('id100'), recent.has('id101')]).toEqual([false, true]);
  });
});
