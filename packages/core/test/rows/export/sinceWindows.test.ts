import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../../scripts/testEffort.js';
import { onTestEnd } from '../../../../../scripts/testScope.js';
import { Random } from '../../../../../test/kit/random.js';
import {
  createClient,
  exportTo,
  memoryState,
  type Clock,
  type Json,
  type Source,
  type StateStore,
} from '../../../src/index.js';
import {
  byOffset,
  byPage,
  bySince,
  defineApi,
  listing,
  onePage,
  rowOf,
  type SinceOptions,
} from '../../../src/define/index.js';
import type { RowFormat, SinkContext, SinkPage } from '../../../src/kit.js';
import { ListingIncrement } from '../../../src/rows/export/increments/listingIncrement.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { emptyDisk } from '../../define/exportedForge.js';
import { type Said, serve } from '../../define/servedApi.js';
import type { SimulatedDisk } from '../../node/simulatedDisk.js';
import { disksBeforeCalls } from '../../node/simulatedDisk/disksBeforeCalls.js';
import { newStates } from '../../node/simulatedDisk/newStates.js';
import { newProcess } from '../../node/simulatedExport.js';
import { killedAtPage } from './killedAtPage.js';
import { type Recording, recordingSink } from '../sink/recordingSink.js';

interface Row {
  readonly group: string;
  readonly id: number;
  readonly text: string;
  readonly updated: string;
}

const day = 86_400_000;
const begin = '2026-01-01T00:00:00Z';
const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Rows of some groups, of which an API lists those between two times, at most so many of one request. */
class Archive {
  readonly rows = new Map<string, Row>();
  now = Date.parse(begin);
  asked: string[] = [];
  baseUrl = '';
  isInclusive = false;
  /** By how many ms the clock of the client is ahead. */
  clockIsOff = 0;
  order: 'ascending' | 'newest-first' = 'ascending';
  /** How many rows of a request the API lists, as HubSpot's search does. */
  limit = Infinity;
  groups: readonly string[] = ['a'];
  /** Called before each response. */
  beforeResponse = (): void => undefined;
  say: (url: URL) => Said | undefined = () => undefined;

  async listen(): Promise<this> {
    const { baseUrl, asked } = await serve((url) => this.say(url) ?? this.#answer(url));
    return Object.assign(this, { baseUrl, asked });
  }

  put(id: number, { group = 'a', at = this.now }: { readonly group?: string; readonly at?: number } = {}): void {
    const updated = new Date(at).toISOString();
    this.rows.set(`${group}/${String(id)}`, { group, id, text: `${String(id)} at ${String(at)}`, updated });
  }

  get all(): Row[] {
    return [...this.rows.values()].sort(byKey);
  }

  #answer({ pathname, searchParams: query }: URL): Said {
    const headers = { date: new Date(this.now).toUTCString() };
    if (pathname === '/api/groups') return { body: this.groups.map((name) => ({ name })), headers };
    this.beforeResponse();
    const [, from = query.get('from') ?? '', to = query.get('to') ?? ''] =
      /^at >= "(.+)" AND at < "(.+)"$/.exec(query.get('q') ?? '') ?? [];
    const [first, last] = [timeOf(from), to === '' ? Infinity : timeOf(to)];
    const size = Number(query.get('n'));
    const offset = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
    if (offset + size > this.limit) return { status: 400, body: { error: 'Too deep' }, headers };
    const group = query.get('group') ?? pathname.split('/').at(-1);
    const sign = this.order === 'ascending' ? 1 : -1;
    const listed = this.all
      .filter(({ updated, ...row }) => {
        const at = Date.parse(updated);
        return row.group === group && at >= first && (this.isInclusive ? at <= last : at < last);
      })
      .sort((a, b) => sign * (Date.parse(a.updated) - Date.parse(b.updated)) || a.id - b.id)
      .slice(offset, offset + size);
    return { body: listed.map(({ id, text, updated }) => ({ id, text, updated })), headers };
  }

  /** The windows that were requested since so many requests, each as often as it had pages. */
  windowsAfter(requests: number): string[] {
    return this.asked.slice(requests).flatMap((path) => {
      const { searchParams } = new URL(path, 'http://archive');
      return searchParams.has('from') ? [`${searchParams.get('from')!} ${searchParams.get('to')!}`] : [];
    });
  }
}

function timeOf(text: string): number {
  return Date.parse(text.length === 16 ? `${text.replace(' ', 'T')}Z` : text);
}

const byKey = (a: Row, b: Row): number => (a.group < b.group ? -1 : a.group > b.group ? 1 : a.id - b.id);

/** What somebody keeps who merges by key. */
const kept = (rows: readonly Row[]): Row[] =>
  [...new Map(rows.map((row) => [`${row.group}/${String(row.id)}`, row])).values()].sort(byKey);

interface Opening {
  readonly since?: object;
  readonly values?: boolean;
  readonly each?: boolean;
}

const offsets = byOffset({ param: 'offset' });

/** The rows of the archive, in windows of two days. */
function openRows(archive: Archive, { since = {}, values = false, each = false }: Opening = {}): Source<Row> {
  const paging = bySince({
    ...('write' in since ? {} : { param: 'from' }),
    field: 'updated',
    type: 'instant',
    begin,
    windows: { to: 'to', step: '2d' },
    ...since,
  } as SinceOptions);
  const common = {
    rows: '',
    paging,
    pageSize: { param: 'n', default: 8, max: 8 },
    columns: ['group', 'id', 'text', 'updated'],
    key: ({ group, id }: Row) => `${group}/${String(id)}`,
    version: '1',
  } as const;
  const names = archive.groups;
  const clock: Clock = {
    now: () => archive.now + archive.clockIsOff,
    monotonic: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
  const api = defineApi({
    name: 'archive',
    sources: {
      groups: listing<{ name: string }>({
        path: '/groups',
        rows: '',
        paging: onePage(),
        columns: ['name'],
        key: ({ name }) => name,
      }),
      one: listing<Row>({ ...common, path: '/rows/a', fields: { group: 'a' } }),
      values: listing<Row, object, never, { group: string }>({
        ...common,
        path: '/rows',
        query: { group: '{group}' },
        partitions: { group: names },
        fields: { group: '{group}' },
      }),
      each: listing<Row, { group: string }, object>({
        ...common,
        each: rowOf({
          source: 'groups',
          params: ({ name }: { name: string }) => ({ group: name }),
        }),
        path: '/rows/{group}',
        responses: { 404: 'skip' },
        fields: { group: '{group}' },
      }),
    },
  });
  const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 }, clock }).use(
    api({ baseUrl: archive.baseUrl }),
  );
  onTestEnd(() => client.close());
  const { archive: sources } = client;
  return each ? sources.each() : values ? sources.values() : sources.one();
}

/** A target that can take a partition back. */
function target(): Recording<Row> {
  const sink = recordingSink<Row>();
  const partitions: number[] = [];
  const open = sink.open.bind(sink);
  return Object.assign(sink, {
    async open(context: SinkContext<Row>) {
      const writer = await open(context);
      partitions.length = sink.rows.length;
      const { write } = writer;
      return Object.assign(writer, {
        async write(page: SinkPage<Row>) {
          await write(page);
          partitions.push(...page.items.map(() => page.partition));
        },
      });
    },
    withoutPartition(position: Json, partition: number) {
      const isKept = (_: unknown, nth: number): boolean => nth < Number(position) && partitions[nth] !== partition;
      sink.rows.splice(0, Infinity, ...sink.rows.filter(isKept));
      partitions.splice(0, Infinity, ...partitions.filter(isKept));
      return sink.rows.length;
    },
  });
}

const rowLines: RowFormat<Row> = {
  name: 'lines',
  identity: null,
  encoder: () => ({ header: '', encode: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('') }),
};

interface Incrementing {
  readonly sink?: Recording<Row>;
  readonly concurrency?: number;
  readonly from?: string;
  readonly full?: boolean;
}

async function increment(
  source: Source<Row>,
  state: StateStore,
  { sink = recordingSink<Row>(), concurrency = 1, ...incremental }: Incrementing = {},
): Promise<Row[]> {
  await exportTo(source, sink, { state, incremental, commitEvery: 1, concurrency }).run();
  return sink.rows;
}

/** An archive with a row for each hour of some days. */
async function filled(days: number): Promise<Archive> {
  const archive = await new Archive().listen();
  for (let hour = 0; hour < days * 24; hour += 1) {
    archive.put(hour);
    archive.now += day / 24;
  }
  archive.now += 600_000;
  return archive;
}

describe('R7 windows', () => {
  test('R7 ask for all rows from begin, step by step, and leave a mark at the end', async () => {
    const archive = await filled(5);
    const source = openRows(archive, { since: { paging: offsets } });
    const state = memoryState();
    expect(await increment(source, state)).toEqual(archive.all);
    // The last row, less the overlap, is more than half a step behind the beginning of the third one.
    const end = iso(archive.now - 60_000);
    expect([...new Set(archive.windowsAfter(0))]).toEqual([
      `${begin} 2026-01-03T00:00:00Z`,
      '2026-01-03T00:00:00Z 2026-01-05T00:00:00Z',
      `2026-01-05T00:00:00Z ${end}`,
      `${end} ${iso(archive.now - 60_000 + 2 * day)}`,
    ]);
    const before = archive.asked.length;
    expect(await increment(source, state)).toEqual([]);
    expect(archive.windowsAfter(before)).toEqual([`${end} ${iso(archive.now - 60_000 + 2 * day)}`]);
  });

  test('R7 of each parent begin at its own mark, or where all are to begin', { tags: ['slow'] }, async () => {
    const archive = await filled(5);
    archive.groups = ['a', 'b'];
    const source = openRows(archive, { each: true, since: { paging: offsets } });
    const state = memoryState();
    await increment(source, state);
    archive.groups = ['a', 'b', 'c'];
    archive.put(1, { group: 'c', at: Date.parse('2026-01-02T00:00:00Z') });
    const mark = iso(archive.now - 60_000);
    const before = archive.asked.length;
    expect(await increment(source, state)).toEqual([archive.rows.get('c/1')]);
    const begun = archive.asked
      .slice(before)
      .flatMap((each) => /rows.(\w).*from=([^&]+)/.exec(each)?.slice(1, 3).join(' ') ?? []);
    expect([...new Set(begun.map(decodeURIComponent))]).toEqual([
      `a ${mark}`,
      `b ${mark}`,
      `c ${begin}`,
      'c 2026-01-03T00:00:00Z',
      'c 2026-01-05T00:00:00Z',
      `c ${mark}`,
    ]);
    const again = await increment(source, state, { from: '2026-01-05' });
    expect(again).toEqual(archive.all.filter(({ updated }) => updated >= '2026-01-05'));
  });

  test('R7 keep each request below the rows that an API lists', { tags: ['slow'] }, async () => {
    const archive = await filled(12);
    archive.limit = 64;
    const whole = openRows(archive, { since: { paging: offsets, windows: { to: 'to', step: '30d' } } });
    await expect(increment(whole, memoryState())).rejects.toMatchObject({
      code: 'http',
      details: { parent: `the part from ${begin} to 2026-01-31T00:00:00Z` },
      message: expect.stringContaining(`It concerns the part from ${begin} to 2026-01-31T00:00:00Z.`) as unknown,
    });
    const divided = openRows(archive, { since: { paging: offsets } });
    expect(await increment(divided, memoryState())).toEqual(archive.all);
  });

  test(
    'R7 end with the open one, which has what moves out of the others, whatever the concurrency',
    { tags: ['slow'] },
    async () => {
      const archive = await filled(9);
      let responses = 0;
      archive.beforeResponse = () => {
        responses += 1;
        archive.now += 1_000;
        if (responses % 5 === 0) archive.put(responses % 200);
      };
      const source = openRows(archive, { since: { paging: byPage({ param: 'page' }), order: 'newest-first' } });
      const from = openRows(archive);
      const pages: Row[][] = [];
      for await (const { items } of from.pages({ concurrency: 4 })) pages.push([...items]);
      expect(kept(pages.flat())).toEqual(archive.all);
      archive.order = 'newest-first';
      const before = archive.asked.length;
      for await (const page of source.pages({ concurrency: 4 })) void page;
      const windows = archive.windowsAfter(before);
      const open = [...new Set(windows)].at(-1)!;
      expect(windows.slice(windows.indexOf(open)).every((each) => each === open)).toBe(true);
    },
  );

  test('R7 hold the mark at the first one that lacks rows', { tags: ['slow'] }, async () => {
    const archive = await filled(9);
    archive.put(215);
    const source = openRows(archive, { each: true });
    const state = memoryState();
    const refused = ['2026-01-05T00:00:00Z', '2026-01-03T00:00:00Z'];
    archive.say = ({ searchParams }) =>
      refused.includes(searchParams.get('from') ?? '') ? { status: 404, body: {} } : undefined;
    const first = [...(await increment(source, state, { concurrency: 2 }))];
    archive.say = () => undefined;
    const before = archive.asked.length;
    const second = await increment(source, state);
    expect(archive.windowsAfter(before)[0]).toBe('2026-01-03T00:00:00Z 2026-01-05T00:00:00Z');
    expect(kept([...first, ...second])).toEqual(archive.all);
    expect(await increment(source, state)).toEqual([]);
  });

  test.each([
    ['none where all are complete', undefined, 0],
    ['those behind the first window that lacks rows', '2026-01-01T00:00:40Z', 60],
  ])('R7 keep in memory no rows from before the mark: %s', (_, held, count) => {
    const { increment } = bySince({ param: 'since', field: 'at', type: 'instant' });
    const until = '2026-03-01T00:00:00Z';
    const listing = new ListingIncrement(increment!, { mark: undefined, from: undefined, until }, undefined);
    if (held !== undefined) listing.stay(held);
    for (let second = 0; second < 100; second += 1) {
      const value = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
      listing.add({ at: Date.parse(until), latest: value, rows: [[String(second), value]] });
    }
    expect(listing.recent).toHaveLength(count);
    expect(listing.next?.known).toHaveLength(count);
  });

  test('R7 are part of the plan by their step, and not by the moment, which the log has before the first request', async () => {
    const archive = await filled(5);
    const { identity } = openRows(archive).info;
    expect(openRows(archive, { since: { windows: { to: 'to', step: '3d' } } }).info.identity).not.toEqual(identity);
    const state = memoryState();
    const logged: unknown[] = [];
    const began = archive.now;
    const sink = target();
    await killedAtPage(sink, 2, () => increment(openRows(archive), state, { sink }));
    for await (const record of state.log('partitions').read()) logged.push(record);
    expect(logged).toMatchObject([{ began, parents: [[[], {}, { from: '2026-01-01T00:00:00Z' }]] }]);
    archive.now += 9 * day;
    expect(openRows(archive).info.identity).toEqual(identity);
    const before = archive.asked.length;
    await increment(openRows(archive), state, { sink });
    expect(archive.windowsAfter(before).at(-1)).toBe(`${iso(began - 60_000)} ${iso(began - 60_000 + 2 * day)}`);
    expect(kept(sink.rows)).toEqual(archive.all);
  });

  test('R7 the mark is the end of the last window, whether it has rows, and each open one leaves out nothing', async () => {
    const archive = await filled(1);
    const source = openRows(archive);
    const state = memoryState();
    await increment(source, state);
    archive.now += 20 * day;
    const before = archive.asked.length;
    expect(await increment(source, state)).toEqual([]);
    expect(new Set(archive.windowsAfter(before)).size).toBe(11);
    const again = archive.asked.length;
    expect(await increment(source, state)).toEqual([]);
    expect(archive.windowsAfter(again)).toEqual([
      `${iso(archive.now - 60_000)} ${iso(archive.now - 60_000 + 2 * day)}`,
    ]);
  });

  test('R7 whose ends the API takes to be inclusive, or ignores, have each row once', { tags: ['slow'] }, async () => {
    const archive = await filled(5);
    for (const isInclusive of [true, false]) {
      archive.isInclusive = isInclusive;
      expect(await increment(openRows(archive), memoryState())).toEqual(archive.all);
    }
    // The end is in a parameter that the API does not know.
    const ignored = openRows(archive, { since: { windows: { to: 'until', step: '2d' } } });
    expect(await increment(ignored, memoryState())).toEqual(archive.all);
  });

  const both = {
    param: 'q',
    write: 'at >= "{minute}" AND at < "{to:minute}"',
    zone: 'UTC',
    windows: { step: '2d' },
  } as const;

  test.each<readonly [string, Opening, number]>([
    ['the value of the last row', {}, 1],
    ['the value of the last row, two windows at a time', {}, 2],
    ['offsets', { since: { paging: offsets } }, 1],
    ['offsets, two windows at a time', { since: { paging: offsets } }, 2],
    ['a text with both ends, by minutes', { since: both }, 1],
    ['the value of the last row, with a clock that is wrong', {}, 1],
    ['the value of the last row, of each value', { values: true }, 3],
    ['the value of the last row, of each parent', { each: true }, 1],
    ['offsets, of each parent, three at a time', { each: true, since: { paging: offsets } }, 3],
  ])(
    'R7 by %s equal the table after each of 20 rounds, with changes in and between runs, and kills',
    { tags: ['slow'] },
    async (name, opening, concurrency) => {
      const random = new Random(name);
      const archive = await new Archive().listen();
      archive.isInclusive = random.chance(0.5);
      if (opening.each || opening.values) archive.groups = ['a', 'b', 'c'];
      const group = (): string => archive.groups[random.int(0, archive.groups.length - 1)]!;
      const change = (): void => {
        archive.now += random.int(20_000, 90_000);
        archive.put(random.int(0, 79), { group: group() });
      };
      for (let id = 0; id < 80; id += 1) {
        archive.now += random.int(60_000, day / 4);
        archive.put(id, { group: group() });
      }
      const source = openRows(archive, opening);
      const state = memoryState();
      const all: Row[] = [];
      for (let round = 0; round < 20; round += 1) {
        let left = 3;
        archive.beforeResponse = () => {
          if (left > 0 && random.next() < 0.3) change();
          left -= 1;
        };
        const sink = target();
        if (name.includes('clock')) archive.clockIsOff = random.int(-day / 2, day / 2);
        let isKilled = true;
        for (let kills = random.int(0, 3); kills > 0 && isKilled; kills -= 1) {
          isKilled = await killedAtPage(sink, random.int(1, 6), () => increment(source, state, { sink, concurrency }));
          // A run that resumes later has the same windows.
          if (isKilled) archive.now += random.int(0, day);
        }
        if (isKilled) await increment(source, state, { sink, concurrency });
        all.push(...sink.rows);
        left = 0;
        archive.now += 200_000;
        all.push(...(await increment(source, state, { concurrency })));
        expect(kept(all)).toEqual(archive.all);
        expect(await increment(source, state, { concurrency })).toEqual([]);
        for (let nth = random.int(0, 12); nth > 0; nth -= 1) change();
        archive.now += random.int(0, 5 * day);
      }
    },
  );

  test.each<[string, Opening]>([
    ['one listing', {}],
    ['two parents', { each: true, since: { paging: offsets } }],
    ['two values', { values: true }],
  ])('R7 of %s killed at any call of the disk resume with the same bytes', { tags: ['slow'] }, async (_, opening) => {
    const archive = await filled(opening.each || opening.values ? 1 : 2);
    if (opening.each || opening.values) archive.groups = ['a', 'b'];
    for (let id = 0; id < 10; id += 1)
      archive.put(id, { group: archive.groups.at(-1)!, at: Date.parse(begin) + id * 6_000_000 });
    const { now } = archive;
    const run = (disk: SimulatedDisk, later = 0): Promise<unknown> => {
      archive.now = now + later;
      const state = fileState('/data/state', { fileSystem: disk, claims: newProcess() });
      const sink = fileSink(rowLines, { path: '/data/rows', fileSystem: disk });
      return exportTo(openRows(archive, opening), sink, {
        state,
        incremental: true,
        commitEvery: 1,
        concurrency: 2,
      }).run();
    };
    const disks = await disksBeforeCalls(emptyDisk(), run);
    const whole = disks.at(-1)!.text('/data/rows') ?? '';
    const lines = whole.split('\n').slice(0, -1);
    expect(kept(lines.map((line) => JSON.parse(line) as Row))).toEqual(archive.all);
    expect(lines).toHaveLength(archive.all.length);
    const isNew = newStates();
    for (const [nth, disk] of someOf(disks).entries()) {
      for (const mode of someOf(['killed', 'dropped', { seed: nth }] as const, nth)) {
        const left = disk.restart(mode);
        if (!isNew(left)) continue;
        // Behind its checkpoint the run has ended, and the next one would be another increment.
        const hasEnded = left.text('/data/rows') !== undefined && left.text('/data/state/checkpoint') === undefined;
        if (!hasEnded) await run(left, 3_600_000);
        expect(left.text('/data/rows'), `disk ${String(nth)}, ${JSON.stringify(mode)}`).toBe(whole);
        if (!hasEnded) expect(left.paths().filter((path) => path.endsWith('partitions.log'))).toEqual([]);
      }
    }
  });
});
