import { filter } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  createSource,
  DecodeError,
  HttpError,
  memoryState,
  NetworkError,
  PaginationError,
  RateLimitError,
  RequestTimeoutError,
  SluiceError,
  watch,
  type Change,
} from '../../../src/index.js';
import type { PageHealth, PageSource } from '../../../src/kit.js';
import { FakeClock } from '../../fakeClock.js';
import { FoldedChanges, inShort } from './foldedChanges.js';
import { Listing, row, rowsOf, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';
import { watchPolls } from './watchPolls.js';

const ten = rowsOf(...'abcdefghij');
const initial = ten.map(({ id }) => `initial ${id}`);
/** The walk that the n-th poll makes: the first poll makes two. */
const walkOfPoll = (poll: number): number => poll + 1;
const nothing = Array.from({ length: 9 }, (): string[] => []);
const unavailable = (): HttpError => new HttpError('503', { status: 503, excerpt: '' });

describe('a server that misbehaves makes no false change', () => {
  test('C1 where rows move between pages during the walk', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ page }) => {
      // The last row comes to the front after two pages: one row is read twice, and one is passed over.
      if (page === 2) listing.rows = [...listing.rows.slice(-1), ...listing.rows.slice(0, -1)];
    };
    const { told } = await watchPolls(listing, 10);
    expect(told).toEqual([initial, ...nothing]);
  });

  test('C1 where rows step forward between pages, so that some are passed over', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk, page }) => {
      if (page === 1 + (walk % 4)) listing.rows = [...listing.rows.slice(1), ...listing.rows.slice(0, 1)];
    };
    const { told } = await watchPolls(listing, 10);
    expect([told[0]?.toSorted(), ...told.slice(1)]).toEqual([initial, ...nothing]);
  });

  test('C1 where page 3 of 5 fails: what it did not show is not gone', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk, page }) => {
      if (walk >= walkOfPoll(3) && walk <= walkOfPoll(6) && page === 2) throw unavailable();
    };
    const { told, health } = await watchPolls(listing, 10, { confirmations: 1 });
    expect(told).toEqual([initial, ...nothing]);
    expect(health.map((each) => each?.outcome)).toEqual([
      ...Array.from({ length: 3 }, () => 'polled'),
      ...Array.from({ length: 4 }, () => 'failed'),
      ...Array.from({ length: 3 }, () => 'polled'),
    ]);
  });

  test('C1 where the first walk of all fails on its last page', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk, page }) => {
      if (walk <= 2 && page === 4) throw unavailable();
    };
    expect((await watchPolls(listing, 4)).told).toEqual([[], [], initial, []]);
  });

  test('C2 where a row is missed once, or every other time', async () => {
    const listing = new Listing(ten);
    listing.seenAs = (rows, { walk }) => rows.filter(({ id }) => !(id === 'e' && walk % 2 === 0));
    expect((await watchPolls(listing, 10)).told).toEqual([initial, ...nothing]);
    listing.seenAs = (rows, { walk }) => rows.filter(({ id }) => !(id === 'e' && walk % 2 === 1));
    listing.walks = 0;
    expect((await watchPolls(listing, 10)).told.flat().sort()).toEqual(initial);
  });

  test('C3 where the listing is empty once', async () => {
    const listing = new Listing(ten);
    listing.seenAs = (rows, { walk }) => (walk === walkOfPoll(3) ? [] : rows);
    for (const confirmations of [1, 2]) {
      listing.walks = 2 - confirmations;
      const { told, health } = await watchPolls(listing, 10, { confirmations });
      expect(told.flat()).toEqual(initial);
      expect(health.some((each) => each?.held !== undefined)).toBe(confirmations === 1);
    }
  });

  test('C3 where the last walk of the first snapshot misses a row, and as many more as it takes', async () => {
    const listing = new Listing(ten);
    listing.seenAs = (rows, { walk }) => (walk >= 3 ? rows.slice(1) : rows);
    const { told } = await watchPolls(listing, 4, { confirmations: 3 });
    expect(told.slice(1)).toEqual([[], ['removed a'], []]);
  });

  test('C3 where it shrinks by more than half, once or twice in a row', async () => {
    const listing = new Listing(ten);
    listing.seenAs = (rows, { walk }) => ([walkOfPoll(3), walkOfPoll(4)].includes(walk) ? rows.slice(0, 4) : rows);
    const { told, health } = await watchPolls(listing, 10);
    expect(told).toEqual([initial, ...nothing]);
    expect(health.map((each) => each?.held)).toEqual([
      ...Array.from({ length: 10 }, (_, at) => (at === 3 ? 6 : undefined)),
    ]);
  });

  test('C9 where it answers 429 for a minute', async () => {
    const clock = new SkippingClock();
    const listing = new Listing(ten);
    listing.onFetch = () => {
      if (clock.time >= 3_000 && clock.time < 63_000)
        throw new RateLimitError('429', { status: 429, retryAt: undefined });
    };
    const { told, health } = await watchPolls(listing, 30, { clock });
    expect(told.flat()).toEqual(initial);
    const outcomes = health.map((each) => each?.outcome);
    expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(10);
    expect(outcomes.at(-1)).toBe('polled');
    // Ticks are skipped meanwhile, 7 at most, and the rate is as before when it is over.
    const waits = clock.waits.map((ms) => ms / 1_000);
    expect(waits.slice(0, 16)).toEqual([1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8, 8, 8, 1, 1, 1]);
  });

  test('C1 where it repeats a cursor', async () => {
    const listing = new Listing(ten);
    listing.seenAs = (rows, { walk, page }) =>
      walk === walkOfPoll(2) && page >= 2 ? [...rows.slice(0, 4), ...rows.slice(0, 2), ...rows.slice(0, 4)] : rows;
    const { told, health } = await watchPolls(listing, 5, { confirmations: 2 });
    expect(told.flat()).toEqual(initial);
    expect(health[1]).toMatchObject({ outcome: 'failed', error: expect.any(PaginationError) });
  });

  test('C3 where a walk is short of rows that the listing says it has: one or two walks are not believed', async () => {
    const listing = new Listing(ten);
    listing.total = (rows) => rows.length;
    listing.seenAs = (rows, { walk }) => ([walkOfPoll(3), walkOfPoll(4)].includes(walk) ? rows.slice(0, 6) : rows);
    const { told, health } = await watchPolls(listing, 10);
    expect(told).toEqual([initial, ...nothing]);
    expect(health.map((each) => each?.held)).toEqual(Array.from({ length: 10 }, (_, at) => (at === 3 ? 4 : undefined)));
    // What the listing itself does not miss is believed, and so is what it gives no number of.
    for (const total of [(rows: readonly Row[]) => rows.length, undefined]) {
      const other = new Listing(ten);
      other.total = total;
      other.onFetch = ({ walk }) => {
        if (walk === walkOfPoll(3)) other.rows = ten.slice(0, 6);
      };
      expect((await watchPolls(other, 5)).told[3]).toEqual(ten.slice(6).map(({ id }) => `removed ${id}`));
    }
  });

  test.each([1, 2, 3])(
    'C3 where walk %i of the first poll is short of its total: the initial rows are incomplete',
    async (short) => {
      const listing = new Listing(ten);
      listing.total = (rows) => rows.length;
      listing.seenAs = (rows, { walk }) => (walk === short ? rows.slice(0, 6) : rows);
      const { told, pages } = await watchPolls(listing, 2);
      expect(told).toEqual([initial, []]);
      expect(pages.map(({ walk }) => walk?.isIncomplete)).toEqual([short <= 2 || undefined, short === 3 || undefined]);
    },
  );

  const a = ten.map(({ id }) => id).join('');
  /** What each partition sends, a page per text and a row per letter, and how many it says that there are. */
  test.each<[string, readonly [ids: string, total?: number][][], { readonly hasOperator: true }?]>([
    ['sends some rows twice instead of others', [[['abcdefabcd', 10]], [['KLMNO', 5]]]],
    ['sends rows of the first partition for the second', [[[a, 10]], [['abcde', 5]]]],
    [
      'gives a smaller total on a later page',
      [
        [
          ['abc', 10],
          ['def', 6],
        ],
        [['KLMNO', 5]],
      ],
    ],
    ['gives no total on a later page', [[['abc', 10], ['def']], [['KLMNO', 5]]]],
    ['gives a total for one partition only', [[['abcdef', 10]], [['KLMNO']]]],
    ['sends more than its total of another partition', [[['abcdef', 10]], [['KLMNO', 1]]]],
    ['sends some rows twice, and an operator follows', [[['abcdefabcd', 10]], [['KLMNO', 5]]], { hasOperator: true }],
  ])(
    'C3 where it %s: two walks are not believed',
    async (_, short, { hasOperator }: { readonly hasOperator?: true } = {}) => {
      const whole: typeof short = [[[a, 10]], [['KLMNO', 5]]];
      let polls = 0;
      let sent = whole;
      const listing = createSource<Row>({
        name: 'test.partitions',
        identity: null,
        partitions: 2,
        schema: { columns: ['id'], key: ({ id }) => id },
        fetch: async ({ partition, at }) => {
          const page = at && 'cursor' in at ? Number(at.cursor) : 0;
          const pages = sent[partition] ?? [];
          const [ids = '', total] = pages[page] ?? [];
          return {
            rows: rowsOf(...ids),
            next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end',
            ...(total !== undefined && { total }),
          };
        },
      });
      const schema = { columns: ['id'], key: ({ id }: Row) => id };
      const source = hasOperator ? listing.pipePages<Row>(filter(Boolean), { version: '1', schema }) : listing;
      const told: string[] = [];
      for await (const { items } of watch(source, { every: 1_000, clock: new SkippingClock(), polls: 6 }).pages()) {
        told.push(...items.map(inShort));
        polls += 1;
        sent = polls === 2 || polls === 3 ? short : whole;
      }
      expect(told).toEqual([...a, ...'KLMNO'].map((id) => `initial ${id}`));
    },
  );

  test('C3 but not where an operator leaves rows out, or the walk ends before the listing does', async () => {
    const listing = new Listing([...ten, row('z', 'draft')]);
    listing.total = (rows) => rows.length;
    const options = { version: '1', schema: { columns: ['id'], key: ({ id }: Row) => id } };
    const filtered = listing.source().pipePages<Row>(
      filter(({ status }) => status !== 'draft'),
      options,
    );
    const bounded = listing.source();
    const firstTen: PageSource<Row> = {
      info: { ...bounded.info, maxRows: 10 },
      async *pages(asked) {
        for await (const page of bounded.pages(asked)) {
          if (page.index === 5) return;
          yield page;
        }
      },
    };
    for (const source of [filtered, firstTen]) {
      listing.rows = [...ten, row('z', 'draft')];
      const told: string[][] = [];
      const polls = watch(source, { every: 1_000, clock: new SkippingClock(), polls: 3 });
      for await (const { items } of polls.pages()) {
        told.push(items.map(inShort));
        listing.rows = [...ten.slice(1), row('k', 'draft'), row('z', 'draft')];
      }
      expect(told.at(2)).toEqual(['removed a']);
    }
  });

  test('C2 where it lists one key with two rows, and says so', async () => {
    const listing = new Listing([...ten, row('a', 'error')], 3);
    listing.onFetch = ({ walk, page }) => {
      if (page === 0 && walk === walkOfPoll(3)) listing.rows = [row('a', 'error'), ...ten.slice(1), row('a')];
      if (page === 0 && walk === walkOfPoll(4)) listing.rows = ten;
    };
    const { told, health } = await watchPolls(listing, 4);
    expect(told.slice(1)).toEqual([[], ['changed a: error -> active'], []]);
    expect(health.map((each) => each?.repeated)).toEqual([1, 1, 1, undefined]);
  });

  test('C2 where it lists a row twice', async () => {
    const listing = new Listing([...ten, row('a')], 3);
    expect((await watchPolls(listing, 3)).told).toEqual([initial, [], []]);
  });
});

describe('every real change is told', () => {
  test('C2 an addition and another value at once, a removal by the second walk without it', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk, page }) => {
      if (walk !== walkOfPoll(3) || page !== 0) return;
      listing.set('b', 'error');
      listing.add('k');
      listing.remove('c');
    };
    const { told, changes } = await watchPolls(listing, 6);
    expect(told).toEqual([initial, [], ['changed b: active -> error', 'added k'], ['removed c'], [], []]);
    expect(changes.at(-1)).toMatchObject({ before: row('c'), after: null, fields: [], generation: 3 });
    expect(changes.at(-3)).toMatchObject({ fields: ['status'], generation: 2 });
    expect(changes.at(-2)).toMatchObject({ before: null, after: row('k'), fields: [] });
  });

  test.each([
    [1, 3],
    [2, 4],
    [3, 5],
  ])('C2 with confirmations: %i a row that goes before poll 3 is removed by poll %i', async (confirmations, by) => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk }) => {
      if (walk === confirmations + 2) listing.remove('c');
    };
    const { told } = await watchPolls(listing, 7, { confirmations });
    expect(told.findIndex((each) => each.includes('removed c')) + 1).toBe(by);
  });

  test('C3 a listing that is really empty, after three walks over twice the rate', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk }) => {
      if (walk === walkOfPoll(3)) listing.rows = [];
    };
    const { told, health } = await watchPolls(listing, 6);
    expect(told).toEqual([initial, [], [], [], ten.map(({ id }) => `removed ${id}`), []]);
    expect(health.map((each) => each?.held)).toEqual([undefined, undefined, undefined, 10, undefined, undefined]);
  });

  test('C3 but what is added or has changed is not held', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk, page }) => {
      if (walk === walkOfPoll(3) && page === 0) listing.rows = [row('a', 'error'), row('z')];
    };
    const { told } = await watchPolls(listing, 6);
    expect(told.slice(2, 5)).toEqual([
      ['changed a: active -> error', 'added z'],
      [],
      ten.slice(1).map(({ id }) => `removed ${id}`),
    ]);
  });

  test('C3 nor is anything held with acceptRemovals, or below holdAbove', async () => {
    for (const options of [{ acceptRemovals: true }, { holdAbove: 0.7 }] as const) {
      const listing = new Listing(ten);
      listing.onFetch = ({ walk }) => {
        if (walk === walkOfPoll(3)) listing.rows = ten.slice(0, 4);
      };
      const { told, health } = await watchPolls(listing, 5, options);
      expect(told[3]).toEqual(ten.slice(4).map(({ id }) => `removed ${id}`));
      expect(health.some((each) => each?.held)).toBe(false);
    }
  });

  test('C7 the first run tells initial, once and never added, and then synced', async () => {
    const state = memoryState();
    const listing = new Listing(ten);
    // Each of the first two walks misses some: the snapshot has them all.
    listing.seenAs = (rows, { walk }) => (walk > 2 ? rows : rows.filter((_, at) => at % 2 === walk % 2));
    const first = await watchPolls(listing, 3, { state });
    expect(first.told[0]?.toSorted()).toEqual(initial);
    expect(first.told.slice(1)).toEqual([[], []]);
    expect(first.health.map((each) => each?.isSynced)).toEqual([true, undefined, undefined]);
    const second = await watchPolls(listing, 3, { state });
    expect(second.told).toEqual([[], [], []]);
    expect(second.health.map((each) => each?.isSynced)).toEqual([undefined, undefined, undefined]);
  });

  test('C7 a listing without a row is synced too, and what comes later is added', async () => {
    const listing = new Listing([]);
    listing.onFetch = ({ walk }) => {
      if (walk === walkOfPoll(2)) listing.add('a');
    };
    const { told, health } = await watchPolls(listing, 3);
    expect(told).toEqual([[], ['added a'], []]);
    expect(health[0]).toEqual({ outcome: 'polled', isSynced: true, rows: 0, generation: 1 });
  });

  test('C8 a status that flaps gives another id each time', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk, page }) => {
      if (page === 0) listing.set('a', walk % 2 === 0 ? 'active' : 'error');
    };
    const { changes } = await watchPolls(listing, 20);
    const flaps = changes.filter(({ type }) => type === 'changed');
    expect(flaps.length).toBeGreaterThan(17);
    expect(new Set(flaps.map(({ id }) => id)).size).toBe(flaps.length);
    expect([...new FoldedChanges<Row>().take(changes).rows.values()].sort(byId)).toEqual([...listing.rows]);
  });

  test('C8 a watch that begins anew gives ids that no other gave', async () => {
    const listing = new Listing(ten);
    const runs = [await watchPolls(listing, 1), await watchPolls(listing, 1)];
    const ids = runs.flatMap(({ changes }) => changes.map(({ id }) => id));
    expect(new Set(ids).size).toBe(20);
  });

  test('C10 fields that always move are left out', async () => {
    const listing = new Listing(ten);
    let clicks = 0;
    listing.seenAs = (rows) =>
      rows.map((each) => ({ ...each, seen: (clicks += 1), stats: { views: clicks, kind: 1 } }));
    expect((await watchPolls(listing, 3)).told[1]).toHaveLength(10);
    const { told } = await watchPolls(listing, 3, { project: ({ id, status }) => ({ id, status }) });
    expect(told).toEqual([initial, [], []]);
    expect((await watchPolls(listing, 3, { project: ['status'] })).told).toEqual([initial, [], []]);
  });
});

const byId = (one: Row, other: Row): number => (one.id < other.id ? -1 : 1);

describe('the health of polls', () => {
  test('C9 tells failures, how many and why, then recovery; onHealth hears the same', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk }) => {
      if (walk === 3 || walk === 4) throw unavailable();
    };
    const heard: PageHealth[] = [];
    const { health } = await watchPolls(listing, 5, { onHealth: (each) => heard.push(each) });
    const whole = { rows: 10, generation: 1 };
    expect(health).toEqual([
      { outcome: 'polled', isSynced: true, ...whole },
      { outcome: 'failed', failures: 1, error: expect.any(HttpError), ...whole },
      { outcome: 'failed', failures: 2, error: expect.any(HttpError), ...whole },
      { outcome: 'polled', isRecovered: true, ...whole },
      { outcome: 'polled', ...whole },
    ]);
    expect(heard).toEqual(health);
  });

  test('G4 onHealth that throws ends nothing', async () => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk }) => {
      if (walk === 3) throw unavailable();
    };
    const onHealth = (): never => {
      throw new TypeError('broken');
    };
    const { told, health } = await watchPolls(listing, 3, { onHealth });
    expect(told).toEqual([initial, [], []]);
    expect(health.map((each) => each?.outcome)).toEqual(['polled', 'failed', 'polled']);
  });

  test('C9 polls that fail and are rare put off the next one by 5 minutes at most', async () => {
    const clock = new SkippingClock();
    const listing = new Listing(ten);
    listing.onFetch = () => {
      throw unavailable();
    };
    await watchPolls(listing, 6, { clock, every: 120_000 });
    expect(clock.waits.map((ms) => ms / 60_000)).toEqual([2, 4, 6, 6, 6]);
  });

  test('C9 a watch ends with the last error after maxFailures in a row', async () => {
    const listing = new Listing(ten);
    let asked = 0;
    listing.onFetch = ({ walk }) => {
      asked = walk;
      if (walk > 3) throw unavailable();
    };
    await expect(watchPolls(listing, 20, { maxFailures: 3 })).rejects.toThrow(HttpError);
    expect(asked).toBe(7);
    await expect(watchPolls(listing, 20, { maxFailures: 0 })).rejects.toThrow(HttpError);
    expect(asked).toBe(8);
  });

  test.each<[string, unknown]>([
    ...[400, 401, 403, 410, 422].map((status): [string, unknown] => [
      `HTTP ${status}`,
      new HttpError(String(status), { status, excerpt: '' }),
    ]),
    ['a document of another shape', new DecodeError('rows is missing')],
    ['an untrusted certificate', new NetworkError('no', { details: { platformCode: 'SELF_SIGNED_CERT_IN_CHAIN' } })],
    ['an expired certificate', new NetworkError('no', { details: { platformCode: 'CERT_HAS_EXPIRED' } })],
    [
      'another host’s certificate',
      new NetworkError('no', { details: { platformCode: 'ERR_TLS_CERT_ALTNAME_INVALID' } }),
    ],
    ['a response that is too large', new SluiceError('response-too-large', 'large')],
  ])('C9 %s ends it until a poll has succeeded, and later it does not', async (_, error) => {
    const listing = new Listing(ten);
    const refuse = (): never => {
      throw error;
    };
    listing.onFetch = refuse;
    await expect(watchPolls(listing, 5)).rejects.toBe(error);
    expect(listing.fetches).toBe(1);
    listing.onFetch = ({ walk }) => {
      throw walk === 2 ? unavailable() : error;
    };
    await expect(watchPolls(listing, 5)).rejects.toBe(error);
    expect(listing.walks).toBe(3);
    listing.walks = 0;
    listing.onFetch = ({ walk }) => {
      if (walk === 4) refuse();
    };
    expect((await watchPolls(listing, 5)).told.flat()).toEqual(initial);
  });

  test.each<[string, unknown]>([
    ...[408, 500, 503].map((status): [string, unknown] => [
      `HTTP ${status}`,
      new HttpError(String(status), { status, excerpt: '' }),
    ]),
    ['a name that does not resolve', new NetworkError('no', { details: { platformCode: 'ENOTFOUND' } })],
    ['a response that is not JSON', new DecodeError('not JSON', { excerpt: '<html>' })],
    ['a timeout', new RequestTimeoutError('late')],
    ['a cursor that leads to the same rows', new PaginationError('no-progress', 'the same rows')],
  ])('C9 %s does not end it at its first poll', async (_, error) => {
    const listing = new Listing(ten);
    listing.onFetch = ({ walk }) => {
      if (walk === 1) throw error;
    };
    expect((await watchPolls(listing, 3)).told).toEqual([[], initial, []]);
  });

  test('C9 a 404 ends it if nothing was ever listed: the address may be wrong', async () => {
    const listing = new Listing(ten);
    const notFound = new HttpError('404', { status: 404, excerpt: '' });
    listing.onFetch = () => {
      throw notFound;
    };
    await expect(watchPolls(listing, 5)).rejects.toBe(notFound);
    expect(listing.fetches).toBe(1);
  });

  test.each<[string, (at: { readonly walk: number; readonly page: number }) => boolean]>([
    ['a later page', ({ walk, page }) => walk === 1 && page === 2],
    ['a later walk', ({ walk }) => walk === 2],
  ])('C9 a 404 of %s does not end it at its first poll', async (_, isGone) => {
    const listing = new Listing(ten);
    listing.onFetch = (at) => {
      if (isGone(at)) throw new HttpError('404', { status: 404, excerpt: '' });
    };
    expect((await watchPolls(listing, 3)).told).toEqual([[], initial, []]);
  });

  test('C9 a 404 of the token server ends it at any poll before one has succeeded', async () => {
    const listing = new Listing(ten);
    const refused = new HttpError('404', { status: 404, excerpt: '', details: { means: 'renew' } });
    listing.onFetch = ({ walk }) => {
      throw walk === 1 ? unavailable() : refused;
    };
    await expect(watchPolls(listing, 5)).rejects.toBe(refused);
  });

  test('C9 a 404 does not end a watch that knows rows, nor one that failed before', async () => {
    const state = memoryState();
    const listing = new Listing(ten);
    await watchPolls(listing, 1, { state });
    listing.walks = 0;
    listing.onFetch = ({ walk }) => {
      if (walk === 1) throw new HttpError('404', { status: 404, excerpt: '' });
    };
    expect((await watchPolls(listing, 2, { state })).health.map((each) => each?.outcome)).toEqual(['failed', 'polled']);
    listing.walks = 0;
    listing.onFetch = ({ walk }) => {
      if (walk < 3) throw walk === 1 ? unavailable() : new HttpError('404', { status: 404, excerpt: '' });
    };
    expect((await watchPolls(listing, 3)).told).toEqual([[], [], initial]);
  });

  test('C9 a fault of the program ends it: a key that fails is none of the API’s, at whatever poll', async () => {
    for (const poll of [1, 3]) {
      const listing = new Listing(ten);
      const broken = ({ id }: Row): string => {
        if (listing.walks < walkOfPoll(poll)) return id;
        throw new TypeError('broken');
      };
      await expect(watchPolls(listing, 5, { key: broken })).rejects.toThrow('broken');
    }
  });
});

describe('a watch is asked and stopped', () => {
  test('P1 by several subscribers at once, each from the beginning', async () => {
    const listing = new Listing(ten);
    const source = watch(listing.source(), { every: 1_000, polls: 1, clock: new SkippingClock() });
    const both = await Promise.all([source.toArray(), source.toArray()]);
    expect(both.map((changes) => changes.map(inShort))).toEqual([initial, initial]);
  });

  test('C11 nothing is polled ahead of a consumer, whatever it wants to be read ahead', async () => {
    const clock = new FakeClock();
    const listing = new Listing(ten);
    const pages = watch(listing.source(), { every: 1_000, clock }).pages({ prefetch: 5 })[Symbol.asyncIterator]();
    await pages.next();
    expect(listing.walks).toBe(2);
    await clock.advance(10_500);
    expect([listing.walks, clock.pending]).toEqual([2, []]);
    // Ten ticks were missed meanwhile: it waits for the eleventh, and asks once.
    const next = pages.next();
    await clock.asked(500);
    await clock.advance(500);
    await next;
    expect(listing.walks).toBe(3);
    await pages.return();
    expect(clock.pending).toEqual([]);
  });

  test('T4 unsubscribing stops it at once, in a wait and in a walk', async () => {
    const clock = new FakeClock();
    const listing = new Listing(ten);
    const told: Change<Row>[] = [];
    const watched = watch(listing.source(), { every: 1_000, clock });
    const waiting = watched.subscribe((change) => told.push(change));
    await clock.asked(1_000);
    waiting.unsubscribe();
    await clock.advance(0);
    expect([told.length, clock.pending, listing.walks]).toEqual([10, [], 2]);
    listing.onFetch = ({ page }) => (page === 3 ? new Promise<void>(() => undefined) : undefined);
    const walking = watched.subscribe((change) => told.push(change));
    while (listing.fetches < 14) await clock.advance(0);
    walking.unsubscribe();
    await clock.advance(5_000);
    expect([told.length, listing.fetches, clock.pending]).toEqual([10, 14, []]);
  });

  test('P7 a position that no page of a watch had is refused, and nothing is committed by it', async () => {
    const state = memoryState();
    const listing = new Listing(ten);
    const source = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });
    expect(() => source.pages({ startAt: 'abc' })[Symbol.asyncIterator]()).toThrow(ConfigError);
    await expect(source.pages({ startAt: '7' })[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'checkpoint',
    });
    expect((await source.toArray()).map(inShort)).toEqual(initial);
  });
});
