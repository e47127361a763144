import { describe, expect, test } from 'vitest';
import { ConfigError, exportTo, memoryState, type StateStore } from '../../src/index.js';
import { byCursor, bySince, listing, type Paging, type SinceOptions } from '../../src/define/index.js';
import { type SinceWriting, writeSince } from '../../src/define/since/writeSince.js';
import { timeZone } from '../../src/define/since/timeZone.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { openListing, type Said, serve } from './servedApi.js';

interface Row {
  readonly id: number;
  readonly updated: unknown;
}

/** A table that lists rows from a value on, as `readFrom` understands it (ms), in the order of their change. */
async function openTable(
  rows: Row[],
  { msOf, readFrom }: { readonly msOf: (row: Row) => number; readonly readFrom: (from: string) => number },
) {
  return serve(({ searchParams }): Said => {
    const from = searchParams.get('from');
    const listed = rows
      .filter((row) => from === null || msOf(row) >= readFrom(from))
      .toSorted((a, b) => msOf(a) - msOf(b))
      .slice(0, Number(searchParams.get('n')));
    return { body: listed, headers: { date: new Date('2026-01-02T00:00:00Z').toUTCString() } };
  });
}

const rowsOf = (options: Partial<SinceOptions>, pageSize = 6) =>
  listing<Row, object>({
    path: '/rows',
    rows: '',
    columns: ['id', 'updated'],
    key: ({ id }) => id,
    pageSize: { param: 'n', default: pageSize, max: pageSize },
    paging: bySince({ param: 'from', field: 'updated', type: 'instant', ...options } as SinceOptions),
  });

async function exportRows(
  served: { readonly baseUrl: string },
  source: ReturnType<typeof rowsOf>,
  state: StateStore,
  incremental: { readonly from?: string; readonly full?: boolean } = {},
): Promise<number[]> {
  const sink = recordingSink<Row>();
  await exportTo(openListing(source, served)({}), sink, { state, incremental }).run();
  return sink.rows.map(({ id }) => id);
}

const sent = (asked: readonly string[]): (string | null)[] =>
  asked.map((url) => new URLSearchParams(url.split('?')[1]).get('from'));

const at = (ms: number): string => new Date(Date.parse('2026-01-01T10:00:00Z') + ms).toISOString();

const utc = timeZone('UTC');

describe('R7 write', () => {
  const value = '2026-01-31T08:30:15.5+01:00';

  test.each<[string, string, string | number, string | number]>([
    ['instant', '{instant}', '2026-01-31T07:30:15Z', '2026-01-31T07:30:16Z'],
    ['datetime', '{datetime}', '2026-01-31T07:30:15', '2026-01-31T07:30:16'],
    ['minute', 'updated >= "{minute}"', 'updated >= "2026-01-31 07:30"', 'updated >= "2026-01-31 07:31"'],
    ['date', '{date}', '2026-01-31', '2026-02-01'],
    ['epoch-seconds', '{epoch-seconds}', 1769844615, 1769844616],
    ['epoch-ms', '{epoch-ms}', 1769844615000, 1769844616000],
    ['value', 'greater-than(updated,{value})', `greater-than(updated,${value})`, `greater-than(updated,${value})`],
    ['JSON around it', '{"gte":"{date}"}', '{"gte":"2026-01-31"}', '{"gte":"2026-02-01"}'],
  ])('as %s asks for no less: a `from` is rounded down, a `to` up', (_, writing, from, to) => {
    const write = writeSince(writing as SinceWriting, 'instant', utc);
    expect([write(value, 'from'), write(value, 'to')]).toEqual([from, to]);
  });

  test('leaves a whole value as it is, also before 1970', () => {
    const write = writeSince('{date}', 'epoch-seconds', utc);
    expect([write('86400', 'to'), write('-1', 'from'), write('-1', 'to')]).toEqual([
      '1970-01-02',
      '1969-12-31',
      '1970-01-01',
    ]);
  });

  test('is refused without a format, with a misspelt one, with one of times for other values, and from a function that returns none', () => {
    const refuse = (options: Partial<SinceOptions>, message: string): void =>
      void expect(() => rowsOf(options)).toThrow(message);
    refuse({ write: 'epoch-seconds' as '{date}' }, 'which has no format in braces. Did you mean epoch-seconds?');
    refuse({ write: '{epoch-second}' as '{date}' }, 'Did you mean epoch-seconds?');
    refuse(
      { write: 'something' as '{date}' },
      'Available: value, instant, datetime, minute, date, epoch-seconds, epoch-ms.',
    );
    refuse({ type: 'integer', write: '{date}' }, 'values of type integer are not times. Use {value}.');
    refuse({ write: 5 as unknown as '{date}' }, 'bySince() is invalid at write');
    for (const returned of ['', undefined, NaN])
      expect(() => writeSince((() => returned) as () => string, 'text', utc)('a', 'from')).toThrow(ConfigError);
    // @ts-expect-error The compiler knows the formats.
    expect(() => bySince({ param: 'a', field: 'b', type: 'date', write: '{dates}' })).toThrow(ConfigError);
  });

  test('by minutes: a page brings back only known rows, and the next night none', async () => {
    const rows: Row[] = Array.from({ length: 10 }, (_, id) => ({ id, updated: at(id * 15_000) }));
    const served = await openTable(rows, {
      msOf: ({ updated }) => Date.parse(String(updated)),
      readFrom: (from) => Date.parse(`${from.replace(' ', 'T')}Z`),
    });
    const source = rowsOf({ write: '{minute}', zone: 'UTC' });
    const state = memoryState();
    expect(await exportRows(served, source, state)).toEqual(rows.map(({ id }) => id));
    expect(sent(served.asked).slice(0, 3)).toEqual([null, '2026-01-01 10:01', '2026-01-01 10:02']);
    expect(await exportRows(served, source, state)).toEqual([]);
    rows.push({ id: 10, updated: at(200_000) });
    expect(await exportRows(served, source, state)).toEqual([10]);
    expect(await exportRows(served, source, state)).toEqual([]);
  });

  test('by days leaves out the rows of the day before the value that a run starts at', async () => {
    const rows: Row[] = Array.from({ length: 5 }, (_, id) => ({ id, updated: at(id * 3_600_000) }));
    const served = await openTable(rows, {
      msOf: ({ updated }) => Date.parse(String(updated)),
      readFrom: (from) => Date.parse(from),
    });
    const from = { from: at(2 * 3_600_000) };
    expect(await exportRows(served, rowsOf({ write: '{date}', zone: 'UTC' }), memoryState(), from)).toEqual([2, 3, 4]);
    expect(sent(served.asked)[0]).toBe('2026-01-01');
  });

  test('by minutes refuses a page full of rows of one minute, since those after it cannot be requested', async () => {
    const rows: Row[] = Array.from({ length: 10 }, (_, id) => ({ id, updated: at(id * 1_000) }));
    const served = await openTable(rows, {
      msOf: ({ updated }) => Date.parse(String(updated)),
      readFrom: (from) => Date.parse(`${from.replace(' ', 'T')}Z`),
    });
    await expect(exportRows(served, rowsOf({ write: '{minute}', zone: 'UTC' }), memoryState())).rejects.toThrow(
      'updated is the same in all 6 rows of a page, as requests have it',
    );
  });

  test.each(['{minute}', '{datetime}', '{date}'] as const)(
    'as %s by an unknown zone says so where a page has only rows of the hours that are asked for in vain',
    async (write) => {
      const rows: Row[] = Array.from({ length: 10 }, (_, id) => ({ id, updated: at(id * 1_800_000) }));
      const served = await openTable(rows, {
        msOf: ({ updated }) => Date.parse(String(updated)),
        readFrom: (from) => Date.parse(`${from.replace(' ', 'T').padEnd(16, 'T00:00')}Z`),
      });
      await expect(exportRows(served, rowsOf({ write }), memoryState())).rejects.toThrow(
        "Give bySince the zone, e.g. zone: '-07:00', or raise pageSize.",
      );
      expect(await exportRows(served, rowsOf({ write }, 12), memoryState())).toEqual(rows.map(({ id }) => id));
    },
  );

  test.each<[string, (value: string) => string, string]>([
    ['a date', (value) => value.slice(0, 10), '2026-01-01'],
    ['a date for people', (value) => `since ${value.slice(0, 10).split('-').reverse().join('.')}`, 'since 01.01.2026'],
    ['a time', (value) => value.slice(0, 19), '2026-01-01T10:00:00'],
    ['an instant', (value) => value, '2026-01-01T22:00:00Z'],
    ['seconds', (value) => String(Date.parse(value) / 1_000), '1767304800'],
  ])('by a function that returns %s asks for what it is in any zone, unless the zone is known', (_, by, wanted) => {
    const value = '2026-01-01T22:00:00Z';
    expect(writeSince(by, 'instant', timeZone(undefined))(value, 'from')).toBe(wanted);
    expect(writeSince(by, 'instant', timeZone('-07:00'))(value, 'from')).toBe(by(value));
  });

  test.each<[string, SinceOptions['type'], (ms: number) => unknown, Partial<SinceOptions>, (from: string) => number]>([
    ['seconds with fractions', 'epoch-seconds', (ms) => ms / 1_000, {}, (from) => Number(from) * 1_000],
    ['milliseconds in texts', 'epoch-ms', (ms) => String(ms), {}, Number],
    [
      'a zone without a colon',
      'instant',
      (ms) => new Date(ms).toISOString().replace('Z', '+0000'),
      { write: '{epoch-ms}' },
      Number,
    ],
    [
      'no zone',
      'datetime',
      (ms) => new Date(ms).toISOString().slice(0, -1),
      { write: '{instant}' },
      (from) => Date.parse(from),
    ],
    ['days only', 'date', (ms) => new Date(ms).toISOString().slice(0, 10), {}, (from) => Date.parse(from)],
    [
      'seconds, asked for by a function',
      'epoch-seconds',
      (ms) => ms / 1_000,
      { write: (value) => `since ${value}` },
      (from) => Number(from.slice(6)) * 1_000,
    ],
  ])('with values of %s finds what is new, each row once', async (_, type, valueOf, options, readFrom) => {
    const day = 86_400_000;
    const start = Date.parse('2025-12-20T00:00:00Z');
    const ms = new Map<number, number>();
    const add = (id: number, hours: number): Row => {
      ms.set(id, type === 'date' ? start + Math.floor(hours / 24) * day : start + hours * 3_600_000 + 250);
      return { id, updated: valueOf(ms.get(id) ?? 0) };
    };
    const rows = Array.from({ length: 9 }, (__, id) => add(id, id * 12));
    const served = await openTable(rows, { msOf: ({ id }) => ms.get(id) ?? 0, readFrom });
    const source = rowsOf({ type, ...options });
    const state = memoryState();
    expect(await exportRows(served, source, state)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await exportRows(served, source, state)).toEqual([]);
    rows.push(add(9, 100), add(10, 120));
    expect(await exportRows(served, source, state)).toEqual([9, 10]);
    // A person gives a date, whatever the rows have.
    expect(await exportRows(served, source, state, { from: '2025-12-23' })).toEqual([6, 7, 8, 9, 10]);
  });

  test('in a body is a number where it is one', async () => {
    const served = await serve((_, nth) => ({ body: nth === 1 ? [{ id: 1, updated: at(500) }] : [] }));
    const source = listing<Row, object>({
      path: '/rows',
      method: 'POST',
      body: {},
      rows: '',
      columns: ['id'],
      pageSize: { param: 'n', default: 2, max: 2 },
      paging: bySince({ into: 'filter.since', field: 'updated', type: 'instant', write: '{epoch-seconds}' }),
    });
    await openListing(source, served)({}).toArray();
    expect(served.requests.map(({ body }) => body)).toEqual([{}, { filter: { since: 1767261600 } }]);
  });
});

describe('R7 a text with {since} beside parameters', () => {
  const rows: Row[] = Array.from({ length: 7 }, (_, id) => ({ id, updated: at(id * 60_000) }));
  const since = { field: 'updated', type: 'instant', write: 'updated >= {epoch-ms}', overlap: 0 } as const;
  const paged = { rows: '', columns: ['id'], pageSize: { param: 'n', default: 3, max: 3 } };
  /** Finds the rows of a channel, which is the parity of their ids. */
  const answer = (text: string | null): Said => {
    const [, channel, from] = /^channel = (\w+) AND updated >= (\d+) ORDER BY updated$/.exec(text ?? '') ?? [];
    const found = rows.filter(
      ({ id, updated }) => id % 2 === (channel === 'even' ? 0 : 1) && Date.parse(String(updated)) >= Number(from),
    );
    return channel === undefined ? { status: 400, body: text } : { body: found.slice(0, 3) };
  };

  test.each(['query', 'body'] as const)('is filled in the %s, for each partition, page and mark', async (place) => {
    const served = await serve(({ searchParams }, _nth, { body }) =>
      answer(place === 'query' ? searchParams.get('q') : String(body?.['q'])),
    );
    const text = (channel: string) => ({ q: `channel = ${channel} AND {since} ORDER BY updated` });
    const source = listing({
      ...paged,
      path: '/rows',
      partitions: { channel: ['even', 'odd'] },
      ...(place === 'query'
        ? {
            query: ({ channel }: { channel: string }) => text(channel),
            paging: bySince({ param: 'q', begin: '2026-01-01', ...since }),
          }
        : {
            method: 'POST',
            body: ({ channel }: { channel: string }) => text(channel),
            paging: bySince({ into: 'q', begin: '2026-01-01', ...since }),
          }),
    });
    const state = memoryState();
    const exported = async (): Promise<unknown[]> => {
      const sink = recordingSink<Record<string, unknown>>();
      await exportTo(openListing(source, served)({} as never), sink, { state, incremental: true }).run();
      return sink.rows.map(({ id }) => id);
    };
    expect(await exported()).toEqual([0, 2, 4, 6, 1, 3, 5]);
    rows.push({ id: 9, updated: at(9 * 60_000) });
    expect(await exported()).toEqual([9]);
    rows.pop();
  });

  test('needs begin, and another paging puts nothing there', () => {
    const define = (paging: Paging, query: object = { q: 'a AND {since}' }): unknown =>
      listing({ ...paged, path: '/rows', query, paging } as never);
    expect(() => define(bySince({ param: 'q', ...since }))).toThrow('give bySince a begin');
    expect(() => define(bySince({ param: 'q', begin: '2026-01-01', ...since }), { q: 'a' })).toThrow(
      '"q" is set twice',
    );
    expect(() => define(byCursor({ param: 'q', at: 'next?' }))).toThrow('"q" is set twice');
  });
});

describe('R7 begin', () => {
  const rows: Row[] = Array.from({ length: 8 }, (_, id) => ({ id, updated: at(id * 30_000) }));
  const open = () =>
    openTable(rows, {
      msOf: ({ updated }) => Date.parse(String(updated)),
      readFrom: (from) => Date.parse(`${from.replace(' ', 'T')}Z`),
    });

  test('is where the first run starts, the full one, and a walk that keeps nothing; then the mark counts', async () => {
    const served = await open();
    const source = rowsOf({ begin: '2026-01-01T10:01:30Z', write: '{minute}', zone: 'UTC', overlap: 0 });
    const state = memoryState();
    expect(await exportRows(served, source, state)).toEqual([3, 4, 5, 6, 7]);
    expect(sent(served.asked)[0]).toBe('2026-01-01 10:01');
    served.asked.length = 0;
    expect(await exportRows(served, source, state)).toEqual([]);
    expect(sent(served.asked)[0]).toBe('2026-01-01 10:03');
    expect(await exportRows(served, source, state, { full: true })).toEqual([3, 4, 5, 6, 7]);
    expect(await exportRows(served, source, state, { from: '2026-01-01' })).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await openListing(source, served)({}).toArray()).toHaveLength(5);
  });

  test('is given as an instant or a date for any time, and refused if it is none', () => {
    expect(() => rowsOf({ type: 'epoch-ms', begin: '2026-01-01' })).not.toThrow();
    expect(() => rowsOf({ type: 'epoch-ms', begin: 'yesterday' })).toThrow(
      'begin of bySince is "yesterday": it must be a number of milliseconds since 1970',
    );
    expect(() => rowsOf({ type: 'integer', begin: '2026-01-01' })).toThrow('it must be an integer');
  });

  test('leaves out what is before it, and takes no total for short that counts that', async () => {
    const { baseUrl } = await serve(() => ({ body: { items: rows.slice(0, 3), total: 3 } }));
    const source = listing<Row, object>({
      path: '/rows',
      rows: 'items',
      total: 'total',
      columns: ['id'],
      pageSize: { param: 'n', default: 6, max: 6 },
      paging: bySince({ param: 'from', field: 'updated', type: 'instant', begin: at(60_000), write: '{date}' }),
    });
    const report = await exportTo(openListing(source, { baseUrl })({}), recordingSink(), {}).run();
    expect(report).toMatchObject({ rows: 1 });
    expect(report).not.toHaveProperty('shortOfTotal');
  });
});

describe('R7 a mark of another type', () => {
  test('counts as the time that it is, and is refused where it is none', async () => {
    const rows: Row[] = Array.from({ length: 3 }, (_, id) => ({ id, updated: at(id * 3_600_000) }));
    const served = await openTable(rows, {
      msOf: ({ updated }) => Date.parse(String(updated)),
      readFrom: (from) => Date.parse(from),
    });
    const state = memoryState();
    await exportRows(served, rowsOf({}), state);
    const other = openListing(rowsOf({ type: 'integer' }), served)({});
    await expect(exportTo(other, recordingSink(), { state, incremental: true }).run()).rejects.toThrow(
      "The mark of the last incremental export can't be read",
    );
    const inSeconds = rows.map(({ id, updated }) => ({ id, updated: Date.parse(String(updated)) / 1_000 }));
    inSeconds.push({ id: 3, updated: Date.parse(at(4 * 3_600_000)) / 1_000 });
    const changed = await openTable(inSeconds, {
      msOf: ({ updated }) => Number(updated) * 1_000,
      readFrom: (from) => Number(from) * 1_000,
    });
    const source = openListing(rowsOf({ type: 'epoch-seconds' }), changed)({});
    const since = { from: at(3 * 3_600_000) };
    const pages = source.pages({ since })[Symbol.asyncIterator]();
    expect((await pages.next()).value).toMatchObject({ items: [{ id: 3 }] });
    await pages.return?.();
    expect(sent(changed.asked)).toEqual([String(Date.parse(since.from) / 1_000)]);
  });
});
