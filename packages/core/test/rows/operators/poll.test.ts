import { defer, firstValueFrom, map, retry, take, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { ConfigError, HttpError, poll, watch, type SluiceError, type Snapshot } from '../../../src/index.js';
import { FakeClock } from '../../fakeClock.js';
import { Listing, rowsOf, type Row } from '../watch/listing.js';
import { SkippingClock } from '../watch/skippingClock.js';

const idsOf = ({ rows }: Snapshot<Row>): string => rows.map(({ id }) => id).join('');

describe('poll', () => {
  test('gives each complete walk as one snapshot, with the time of its end', async () => {
    const clock = new SkippingClock();
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    listing.onFetch = ({ walk, page }) => {
      if (page === 1) clock.time += 30;
      if (walk === 2 && page === 0) listing.add('d');
    };
    const snapshots: Snapshot<Row>[] = [];
    for await (const snapshot of poll(listing.source(), { every: 1_000, clock })) {
      snapshots.push(snapshot);
      if (snapshots.length === 3) break;
    }
    expect(snapshots.map(idsOf)).toEqual(['abc', 'abcd', 'abcd']);
    expect(snapshots.map(({ observedAt }) => observedAt.slice(11))).toEqual([
      '00:00:00.030Z',
      '00:00:01.030Z',
      '00:00:02.030Z',
    ]);
  });

  test('C9 keeps its rate over 1,000 polls, skips what it misses, and never overlaps', { tags: ['slow'] }, async () => {
    const clock = new SkippingClock();
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    const begun: number[] = [];
    let max = 0;
    listing.onFetch = async ({ walk, page }) => {
      if (page === 0) begun.push(clock.time);
      max = Math.max(max, listing.open);
      await Promise.resolve();
      // Every tenth walk takes two and a half times as long as there is; meanwhile somebody sets the clock.
      clock.time += walk % 10 === 0 ? 1_250 : 100;
      clock.offset += walk % 2 === 0 ? 86_400_000 : -86_400_000;
    };
    const counted = poll(listing.source(), { every: 1_000, clock }).pipe(take(1_000), toArray());
    expect(await firstValueFrom(counted)).toHaveLength(1_000);
    expect(max).toBe(1);
    const expected: number[] = [];
    for (let tick = 0; expected.length < 1_000; tick += expected.length % 10 === 0 ? 3 : 1) expected.push(tick * 1_000);
    expect(begun).toEqual(expected);
  });

  test('C9 does not overlap where a walk takes longer than the time there is', async () => {
    const clock = new FakeClock();
    const listing = new Listing(rowsOf('a'));
    const gates: (() => void)[] = [];
    listing.onFetch = () => new Promise((resolve) => gates.push(resolve));
    const times: number[] = [];
    const subscription = poll(listing.source(), { every: 1_000, clock }).subscribe(() => times.push(clock.monotonic()));
    await clock.advance(3_400);
    expect([listing.fetches, times]).toEqual([1, []]);
    gates.shift()?.();
    await clock.advance(599);
    expect([listing.fetches, times]).toEqual([1, [3_400]]);
    await clock.advance(1);
    expect(listing.fetches).toBe(2);
    subscription.unsubscribe();
  });

  test('C11 nothing is polled ahead of whoever pulls', async () => {
    const clock = new FakeClock();
    const listing = new Listing(rowsOf('a'));
    const snapshots = poll(listing.source(), { every: 1_000, clock })[Symbol.asyncIterator]();
    expect(listing.fetches).toBe(0);
    await snapshots.next();
    await clock.advance(10_000);
    expect([listing.fetches, clock.pending]).toEqual([1, []]);
    await snapshots.next();
    expect(listing.fetches).toBe(2);
    await snapshots.return();
  });

  test('T4 unsubscribing stops it, in a wait and in a walk', async () => {
    const clock = new FakeClock();
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    const waiting = poll(listing.source(), { every: 1_000, clock }).subscribe();
    await clock.asked(1_000);
    waiting.unsubscribe();
    await clock.advance(5_000);
    expect([listing.fetches, clock.pending]).toEqual([2, []]);
    listing.onFetch = () => new Promise(() => undefined);
    const walking = poll(listing.source(), { every: 1_000, clock }).subscribe();
    while (listing.fetches < 3) await clock.advance(0);
    walking.unsubscribe();
    await clock.advance(5_000);
    expect([listing.fetches, clock.pending]).toEqual([3, []]);
  });

  test('ends with the error of a walk, and goes on with retry', async () => {
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    const failing = ({ walk, page }: { walk: number; page: number }): void => {
      if (walk === 2 && page === 1) throw new HttpError('503', { status: 503, excerpt: '' });
    };
    listing.onFetch = failing;
    const polled = defer(() => poll(listing.source(), { every: 1_000, clock: new SkippingClock() }));
    await expect(firstValueFrom(polled.pipe(toArray()))).rejects.toThrow(HttpError);
    listing.walks = 0;
    const ids = firstValueFrom(polled.pipe(retry(1), map(idsOf), take(3), toArray()));
    expect(await ids).toEqual(['abc', 'abc', 'abc']);
  });

  test('C9 goes on after failures that may pass, at its rate, and tells of each with the number of those in a row', async () => {
    const clock = new SkippingClock();
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    listing.onFetch = ({ walk, page }) => {
      if ([2, 3, 5].includes(walk) && page === 1) throw new HttpError(`${walk}`, { status: 503, excerpt: '' });
    };
    const told: string[] = [];
    const onFailure = (error: SluiceError, failures: number): void => void told.push(`${error.message}: ${failures}`);
    const polled = poll(listing.source(), { every: 1_000, clock, onFailure });
    const times = await firstValueFrom(
      polled.pipe(
        take(3),
        map(({ observedAt }) => observedAt.slice(17, 19)),
        toArray(),
      ),
    );
    expect(told).toEqual(['2: 1', '3: 2', '5: 1']);
    expect(times).toEqual(['00', '03', '05']);
  });

  test('ends with an error that stays, and with what the function for failures throws', async () => {
    const listing = new Listing(rowsOf('a'));
    const statuses = [503, 503, 401];
    listing.onFetch = ({ walk }) => {
      const status = statuses[walk - 1];
      if (status !== undefined) throw new HttpError('', { status, excerpt: '' });
    };
    const clock = new SkippingClock();
    const told: number[] = [];
    const patient = poll(listing.source(), { every: 1_000, clock, onFailure: (_, failures) => told.push(failures) });
    await expect(firstValueFrom(patient)).rejects.toMatchObject({ status: 401 });
    expect(told).toEqual([1, 2]);
    listing.walks = 0;
    const impatient = poll(listing.source(), {
      every: 1_000,
      clock,
      onFailure(error, failures) {
        if (failures === 2) throw error;
      },
    });
    await expect(firstValueFrom(impatient)).rejects.toMatchObject({ status: 503 });
    expect(listing.walks).toBe(2);
  });

  test('is cold: each subscription polls for itself', async () => {
    const listing = new Listing(rowsOf('a'));
    const polled = poll(listing.source(), { every: 1_000, clock: new SkippingClock() });
    await firstValueFrom(polled);
    await firstValueFrom(polled);
    expect(listing.walks).toBe(2);
  });

  test('refuses at once what makes no sense', () => {
    for (const options of [{ every: 0 }, { every: NaN }, { every: 1, jitter: 2 }])
      expect(() => poll(new Listing([]).source(), options)).toThrow(ConfigError);
  });
});

test('P3 a row that nobody can take stops the walk: nothing is fetched for nobody', async () => {
  const listing = new Listing(rowsOf('a', 'b', 'c', 'd', 'e', 'f', 'g'), 1);
  let isStopped = false;
  const source = listing.source();
  const watched = {
    info: source.info,
    pages: () => {
      const pages = source.pages({ prefetch: 0 })[Symbol.asyncIterator]();
      const stop = pages.return.bind(pages);
      return Object.assign(pages, {
        return: () => {
          isStopped = true;
          return stop();
        },
      });
    },
  };
  const broken = watch(watched, {
    every: 1_000,
    key: () => {
      throw new TypeError('broken');
    },
  });
  await expect(broken.toArray()).rejects.toThrow('broken');
  expect([isStopped, listing.fetches]).toEqual([true, 1]);
});
