import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../../../scripts/testEffort.js';
import { onTestEnd } from '../../../../../scripts/testScope.js';
import { Random } from '../../../../../test/kit/random.js';
import {
  createClient,
  createSource,
  exportTo,
  memoryState,
  systemClock,
  type ExportOptions,
  type Sink,
  type Source,
  type StateStore,
} from '../../../src/index.js';
import { byOffset, bySince, defineApi, listing, onePage, rowOf, type SinceOptions } from '../../../src/define/index.js';
import { nameMark } from '../../../src/rows/export/increments/increments.js';
import { serve } from '../../define/servedApi.js';
import { recordingSink, type Recording } from '../sink/recordingSink.js';
import { killedAtPage } from './killedAtPage.js';

interface Row {
  readonly group: string;
  readonly id: number;
  readonly at: string;
}

type Order = NonNullable<SinceOptions['order']>;

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const begin = Date.parse('2026-01-01T00:00:00Z');
const iso = (ms: number): string => new Date(ms).toISOString();

/** Rows of two groups that change, and some are seen only a while after that. */
class Rows {
  readonly random: Random;
  readonly #rows = new Map<string, Row & { readonly visible: number }>();
  now = begin + 9 * day;
  baseUrl = '';

  constructor(seed: number | string) {
    this.random = new Random(`backfill ${String(seed)}`);
    for (let id = 0; id < 40; id += 1) this.put('ab'[id % 2] ?? '', id, begin + this.random.int(0, 9 * day));
  }

  put(group: string, id: number, at: number, visible = at): void {
    this.#rows.set(`${group}/${String(id)}`, { group, id, at: iso(at), visible });
  }

  change(): void {
    for (let nth = this.random.int(0, 9); nth > 0; nth -= 1) {
      this.now += this.random.int(1, hour);
      const late = this.random.chance(0.3) ? this.random.int(0, minute - 1_000) : 0;
      this.put(this.random.pick(['a', 'b']), this.random.int(0, 60), this.now, this.now + late);
    }
  }

  /** What requests can see. */
  get all(): Row[] {
    const seen = [...this.#rows.values()].filter(({ visible }) => visible <= this.now);
    return seen.map(({ group, id, at }) => ({ group, id, at })).sort(byKey);
  }

  /** A bound of a range: any time, or that of a row, or of a mark. */
  bound(marks: unknown): number {
    const { random } = this;
    const [first, ...others] = JSON.stringify(marks).match(/20\d\d-[^"]+Z/g) ?? [];
    if (first !== undefined && random.chance(0.3)) return Date.parse(random.pick([first, ...others]));
    const { at } = random.pick(this.all as [Row, ...Row[]]);
    return random.chance(0.5) ? Date.parse(at) : random.int(begin - day, this.now + day);
  }

  async listen(): Promise<this> {
    const { baseUrl } = await serve(({ pathname, searchParams: query }) => {
      const headers = { date: new Date(this.now).toUTCString() };
      if (pathname === '/api/groups') return { body: [{ name: 'a' }, { name: 'b' }], headers };
      const [from, to] = [query.get('from') ?? iso(0), query.get('to') ?? '9'];
      const isListed = ({ id, at }: Row): boolean => (id % 2 === 0 ? at <= to : at < to);
      const rows = this.all.filter((row) => row.at >= from && isListed(row));
      const sign = query.get('order') === 'newest-first' ? -1 : 1;
      if (query.get('order') !== 'any')
        rows.sort((a, b) => sign * (Date.parse(a.at) - Date.parse(b.at)) || a.id - b.id);
      const listed = query.has('group') ? rows.filter(({ group }) => group === query.get('group')) : rows;
      const first = Number(query.get('offset') ?? 0);
      return { body: listed.slice(first, first + Number(query.get('n'))), headers };
    });
    return Object.assign(this, { baseUrl });
  }

  source(kind: Kind): Source<Row> {
    const { order = 'ascending', isOfGroups = false, paging } = kind;
    const common = {
      rows: '',
      columns: ['group', 'id', 'at'],
      key: ['group', 'id'],
      version: '1',
      pageSize: { param: 'n', default: 8, max: 8 },
      paging: bySince({ field: 'at', type: 'instant', overlap: minute, ...paging } as SinceOptions),
      decode: (row: unknown) => row as Row,
    } as const;
    const sources = {
      groups: listing<{ name: string }>({
        path: '/groups',
        rows: '',
        columns: ['name'],
        key: 'name',
        paging: onePage(),
      }),
      rows: isOfGroups
        ? listing<Row, { group: string }, object>({
            ...common,
            each: rowOf({ source: 'groups', params: { group: '{name}' } }),
            path: '/rows',
            query: { group: '{group}', order },
          })
        : listing<Row>({ ...common, path: '/rows', query: { order } }),
    };
    const clock = { ...systemClock, now: () => this.now };
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 }, clock });
    onTestEnd(() => client.close());
    return client
      .use(defineApi({ name: 'changing', sources })({ baseUrl: this.baseUrl }))
      .changing.rows() as Source<Row>;
  }
}

const byKey = (a: Row, b: Row): number => (a.group < b.group ? -1 : a.group > b.group ? 1 : a.id - b.id);

interface Kind {
  readonly order?: Order;
  readonly isOfGroups?: boolean;
  readonly paging: Partial<SinceOptions>;
}

const offsets = byOffset({ param: 'offset' });
const windows = { param: 'from', begin: iso(begin), windows: { to: 'to', step: '1d' } } as const;
const kinds: Readonly<Record<string, Kind>> = {
  'from value to value': { paging: { param: 'from' } },
  'in ascending order, by offsets': { paging: { param: 'from', paging: offsets } },
  'the newest first, without a filter': { order: 'newest-first', paging: { order: 'newest-first', paging: offsets } },
  'in any order, without a filter': { order: 'any', paging: { order: 'any', paging: offsets } },
  'in windows': { paging: windows },
  'in windows, the newest first': {
    order: 'newest-first',
    paging: { ...windows, order: 'newest-first', paging: offsets },
  },
  'of each group': { isOfGroups: true, paging: { param: 'from' } },
  'of each group, in windows': { isOfGroups: true, paging: windows },
};

/** An export that is killed up to three times; returns the rows of its target. */
async function exported(
  rows: Pick<Rows, 'random'>,
  source: Source<Row>,
  state: StateStore,
  incremental: ExportOptions['incremental'],
): Promise<Row[]> {
  const sink = recordingSink<Row>();
  const run = (): Promise<unknown> =>
    exportTo(source, sink, { state, incremental, commitEvery: 1, concurrency: rows.random.int(1, 2) }).run();
  let isKilled = true;
  for (let left = rows.random.int(0, 3); left > 0 && isKilled; left -= 1)
    isKilled = await killedAtPage(sink, rows.random.int(1, 4), run);
  if (isKilled) await run();
  return sink.rows;
}

/** All that the state has of marks. */
async function marksOf(state: StateStore, source: Source<Row>): Promise<unknown> {
  const name = nameMark(source.info as never);
  const log = state.log(name);
  const records: unknown[] = [];
  for await (const record of log.read()) records.push(record);
  await log.close();
  return structuredClone([await state.load(name), records]);
}

const cases = Object.entries(kinds).flatMap(([name, kind]) =>
  Array.from({ length: casesOf(8) }, (_, seed) => [name, seed, kind] as const),
);

describe('A5 an export of a range', () => {
  test.each(cases)(
    '%s has its rows once and moves no mark, whatever marks and ranges there are (seed %i)',
    { tags: ['slow'] },
    async (name, seed, kind) => {
      const rows = await new Rows(`${name} ${String(seed)}`).listen();
      const { random } = rows;
      const source = rows.source(kind);
      const state = memoryState();
      const kept = new Map<string, Row>();
      const keep = (found: readonly Row[]): void => {
        for (const row of found) kept.set(`${row.group}/${String(row.id)}`, row);
      };
      for (let step = 0; step < 12; step += 1) {
        rows.change();
        const what = random.pick(['night', 'until', 'backfill', 'backfill']);
        if (what === 'night') keep(await exported(rows, source, state, true));
        if (what === 'until') {
          const until = iso(rows.bound(await marksOf(state, source)));
          const found = await exported(rows, source, state, { until });
          expect(found.filter(({ at }) => at >= until)).toEqual([]);
          keep(found);
        }
        if (what === 'backfill') {
          const before = await marksOf(state, source);
          const [from = 0, middle = 0, until = 0] = [
            rows.bound(before),
            rows.bound(before),
            rows.bound(before),
          ].toSorted((a, b) => a - b);
          const found: Row[] = [];
          for (const [a, b] of [[from, middle] as const, [middle, until] as const])
            if (a < b) found.push(...(await exported(rows, source, state, { from: iso(a), until: iso(b) })));
          expect(found.toSorted(byKey)).toEqual(rows.all.filter(({ at }) => at >= iso(from) && at < iso(until)));
          expect(await marksOf(state, source)).toEqual(before);
        }
        expect(await state.load('checkpoint')).toBeUndefined();
      }
      rows.now += 2 * minute;
      keep(await exported(rows, source, state, true));
      expect([...kept.values()].sort(byKey)).toEqual(rows.all);
    },
  );

  test('up to a value moves the mark there at most, and the next increment has what is behind it', async () => {
    const rows = await new Rows(1).listen();
    const source = rows.source({ paging: { param: 'from' } });
    const state = memoryState();
    const until = iso(begin + 5 * day);
    const first = await exported(rows, source, state, { until });
    expect(first.toSorted(byKey)).toEqual(rows.all.filter(({ at }) => at < until));
    const again = await exported(rows, source, state, { until });
    expect(again).toEqual([]);
    const rest = await exported(rows, source, state, true);
    expect([...first, ...rest].sort(byKey)).toEqual(rows.all);
    // The mark is behind it, and stays there.
    expect(await exported(rows, source, state, { until })).toEqual([]);
    expect(await exported(rows, source, state, true)).toEqual([]);
  });

  test.each(Object.entries(kinds))(
    '%s that ends before the marks has nothing, and keeps them',
    { tags: ['slow'] },
    async (name, kind) => {
      const rows = await new Rows(name).listen();
      const source = rows.source(kind);
      const state = memoryState();
      rows.now += hour;
      expect((await exported(rows, source, state, true)).sort(byKey)).toEqual(rows.all);
      expect(await exported(rows, source, state, { until: iso(begin + 5 * day) })).toEqual([]);
      expect(await exported(rows, source, state, true)).toEqual([]);
    },
  );

  test('is not requested any further than it needs', async () => {
    const rows = await new Rows(2).listen();
    const pages: Row[][] = [];
    const source = rows.source({ paging: { param: 'from' } });
    const sink = Object.assign(recordingSink<Row>(), {
      beforeWrite: ({ items }: { items: readonly Row[] }) => void pages.push([...items]),
    });
    const until = rows.all.map(({ at }) => at).toSorted()[5];
    await exportTo(source, sink, { state: memoryState(), incremental: { until } }).run();
    expect(pages.map(({ length }) => length)).toEqual([5]);
  });

  const from = iso(begin);
  const until = iso(begin + 6 * day);
  const range = { from, until };

  /** A state with an unfinished export. */
  async function interrupted(
    incremental: ExportOptions['incremental'],
    sink: Recording<Row> = recordingSink(),
  ): Promise<{
    run: (wanted: ExportOptions['incremental'], more?: ExportOptions, to?: Sink<Row>) => Promise<Row[]>;
    state: StateStore;
  }> {
    const rows = await new Rows(3).listen();
    const source = rows.source({ paging: { param: 'from' } });
    const state = memoryState();
    const run = async (
      wanted: ExportOptions['incremental'],
      more?: ExportOptions,
      to: Sink<Row> = sink,
    ): Promise<Row[]> => {
      await exportTo(source, to, { state, incremental: wanted, commitEvery: 1, ...more }).run();
      return sink.rows;
    };
    expect(await killedAtPage(sink, 2, () => run(incremental))).toBe(true);
    return { run, state };
  }

  const later = { clock: { ...systemClock, now: () => Date.now() + 13 * hour } };

  test.each<[string, ExportOptions | undefined, Partial<Sink<Row>>]>([
    ['into the same target', undefined, {}],
    ['into another target', undefined, { target: 'elsewhere' }],
    ['after half a day', later, {}],
    ['after half a day, into a table that it brings up to date', later, { isRefreshed: true }],
  ])('is refused while an increment has not finished, %s, and that is resumed then', async (_, more, other) => {
    const { run, state } = await interrupted(true);
    const before = await state.load('checkpoint');
    await expect(run(range, more, { ...recordingSink<Row>(), ...other })).rejects.toThrow(
      'An export of what is new has not finished, and its checkpoint would be lost: run it again first.',
    );
    expect(await state.load('checkpoint')).toEqual(before);
    expect(await run(true)).toHaveLength(40);
  });

  test('keeps an increment and another range out until it has finished, or was given up', async () => {
    const { run, state } = await interrupted(range);
    const before = await state.load('checkpoint');
    const sentence = `An export of the rows from ${from} until ${until} has not finished, and its checkpoint would be lost`;
    for (const wanted of [true, { from }, { until }, { full: true }, { from, until: iso(begin + 7 * day) }] as const)
      await expect(run(wanted)).rejects.toThrow(sentence);
    expect(await state.load('checkpoint')).toEqual(before);
    const found = await run(range);
    expect(found.every(({ at }) => at >= from && at < until)).toBe(true);
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    const second = await interrupted(range);
    expect(await second.run(true, { restart: true })).toHaveLength(40);
  });

  test('that was left for half a day gives way to an increment, unless a service has some of its rows', async () => {
    const { run } = await interrupted(range);
    const warnings: string[] = [];
    expect(await run(true, { ...later, onWarning: (text) => warnings.push(text) })).toHaveLength(40);
    expect(warnings).toEqual([expect.stringContaining('too old to resume after')]);
    const service = Object.assign(recordingSink<Row>(), { delivery: 'at-least-once' as const });
    const second = await interrupted(range, service);
    await expect(second.run(true, later)).rejects.toThrow('has not finished');
  });

  test('up to another value is not resumed', async () => {
    const { run } = await interrupted({ until });
    await expect(run(true)).rejects.toThrow('written by an incremental export that ends elsewhere than this one');
    const found = await run({ until });
    expect(found.every(({ at }) => at < until)).toBe(true);
  });

  test('is refused where it has no rows, or where rows behind its end would come', async () => {
    const rows = await new Rows(4).listen();
    const source = rows.source({ paging: { param: 'from' } });
    const run = (incremental: ExportOptions['incremental'], of: Source<Row> = source): Promise<unknown> =>
      exportTo(of, recordingSink<Row>(), { state: memoryState(), incremental }).run();
    await expect(run({ from: until, until })).rejects.toThrow(
      'from must be before until: there are no rows between them.',
    );
    await expect(run({ until: 'tomorrow' })).rejects.toThrow('until is "tomorrow": it must be a date with a time');
    await expect(run({ until, full: true })).rejects.toThrow('until and full exclude each other.');
    const { increment } = source.info;
    const unable = createSource<Row>({
      name: 'unable',
      identity: null,
      schema: { columns: [] },
      fetch: () => Promise.resolve({ rows: [], next: 'end' }),
      ...(increment && { increment: { ...increment, canEnd: false } }),
    });
    await expect(run({ until }, unable)).rejects.toThrow("unable can't end at a value: nothing says that its walks");
  });
});
