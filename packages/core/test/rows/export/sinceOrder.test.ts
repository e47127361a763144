import { describe, expect, test } from 'vitest';
import { Random } from '../../../../../test/kit/random.js';
import { ConfigError, exportTo, memoryState, type Source, type StateStore } from '../../../src/index.js';
import { byCursor, byOffset, byPage, bySince, listing, type SinceOptions } from '../../../src/define/index.js';
import { openListing, type Said, serve } from '../../define/servedApi.js';
import { killedAtPage } from './killedAtPage.js';
import { type Recording, recordingSink } from '../sink/recordingSink.js';

interface Row {
  readonly id: number;
  readonly text: string;
  readonly updated: string;
}

/** A table of an API with page numbers and offsets, a filter or none, and one of three orders. */
class Table {
  readonly rows = new Map<number, Row>();
  now = Date.parse('2026-01-01T00:00:00Z');
  asked: string[] = [];
  baseUrl = '';
  /** Called before each response. */
  beforeResponse = (): void => undefined;

  readonly order: 'ascending' | 'newest-first' | 'any';

  constructor(order: Table['order']) {
    this.order = order;
  }

  async listen(): Promise<this> {
    const { baseUrl, asked } = await serve(({ searchParams }) => this.#answer(searchParams));
    return Object.assign(this, { baseUrl, asked });
  }

  put(id: number, at = this.now): void {
    this.rows.set(id, { id, text: `${String(id)} at ${String(at)}`, updated: new Date(at).toISOString() });
  }

  get all(): Row[] {
    return [...this.rows.values()].sort((a, b) => a.id - b.id);
  }

  #answer(query: URLSearchParams): Said {
    this.beforeResponse();
    const from = query.get('from');
    const since = from === null ? -Infinity : Date.parse(from.length === 16 ? `${from.replace(' ', 'T')}Z` : from);
    const size = Number(query.get('n'));
    const offset = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
    const sign = { ascending: 1, 'newest-first': -1, any: 0 }[this.order];
    const listed = this.all
      .filter(({ updated }) => Date.parse(updated) >= since)
      .sort((a, b) => sign * (Date.parse(a.updated) - Date.parse(b.updated)) || a.id - b.id)
      .slice(offset, offset + size);
    return { body: listed, headers: { date: new Date(this.now).toUTCString() } };
  }
}

function openRows(table: Pick<Table, 'baseUrl'>, options: object) {
  const source = listing<Row, object>({
    path: '/rows',
    rows: '',
    columns: ['id', 'text', 'updated'],
    key: ({ id }) => id,
    pageSize: { param: 'n', default: 8, max: 8 },
    paging: bySince({ field: 'updated', type: 'instant', ...options } as SinceOptions),
  });
  return openListing(source, table)({});
}

/** A file of one partition: without that, it is empty. */
const target = (): Recording<Row> => Object.assign(recordingSink<Row>(), { withoutPartition: () => 0 });

async function increment(
  source: Source<Row>,
  state: StateStore,
  sink = target(),
  onWarning?: (message: string) => void,
): Promise<Row[]> {
  await exportTo(source, sink, { state, incremental: true, commitEvery: 1, onWarning }).run();
  return sink.rows;
}

/** What somebody keeps who merges by key. */
function kept(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()].sort((a, b) => a.id - b.id);
}

const offsets = byOffset({ param: 'offset' });
const pages = byPage({ param: 'page' });

const variants: readonly (readonly [name: string, order: Table['order'], options: object, duringWalks: number])[] = [
  ['the value of the last row', 'ascending', { param: 'from' }, 40],
  ['the minute of the last row', 'ascending', { param: 'from', write: '{minute}', zone: 'UTC' }, 40],
  ['offsets from a value on', 'ascending', { param: 'from', paging: offsets }, 3],
  ['page numbers, newest first', 'newest-first', { order: 'newest-first', paging: pages }, 40],
  [
    'page numbers, newest first, with a filter',
    'newest-first',
    { param: 'from', order: 'newest-first', paging: pages },
    40,
  ],
  ['page numbers, in any order', 'any', { order: 'any', paging: pages }, 40],
  ['offsets, in any order', 'any', { order: 'any', paging: offsets }, 40],
];

describe('R7 increments', () => {
  test.each(variants)(
    'by %s equal the table after each of 20 rounds, with changes in and between runs, and kills',
    { tags: ['slow'] },
    async (name, order, options, duringWalks) => {
      const table = await new Table(order).listen();
      const random = new Random(name);
      const change = (): void => {
        table.now += random.int(3_000, 30_000);
        // New rows come last where the API has an order of its own.
        const isNew = random.next() < 0.3;
        table.put(isNew ? table.rows.size : random.int(0, Math.max(0, table.rows.size - 1)));
      };
      for (let nth = 0; nth < 60; nth += 1) {
        table.now += 20_000;
        table.put(nth);
      }
      const source = openRows(table, options);
      const state = memoryState();
      const all: Row[] = [];
      for (let round = 0; round < 20; round += 1) {
        let left = duringWalks;
        table.beforeResponse = () => {
          if (left > 0 && random.next() < 0.5) change();
          left -= 1;
        };
        const sink = target();
        let isKilled = true;
        for (let kills = random.int(0, 3); kills > 0 && isKilled; kills -= 1)
          isKilled = await killedAtPage(sink, random.int(1, 6), () => increment(source, state, sink));
        if (isKilled) await increment(source, state, sink);
        all.push(...sink.rows);
        left = 0;
        table.now += 200_000;
        all.push(...(await increment(source, state)));
        expect(kept(all)).toEqual(table.all);
        expect(await increment(source, state)).toEqual([]);
        for (let nth = random.int(0, 12); nth > 0; nth -= 1) change();
      }
    },
  );

  test('with more rows of one value than a page has go on by the paging of the API', async () => {
    const table = await new Table('ascending').listen();
    for (let id = 0; id < 30; id += 1) table.put(id, id < 2 ? table.now : table.now + 60_000);
    table.now += 300_000;
    await expect(increment(openRows(table, { param: 'from' }), memoryState())).rejects.toThrow(
      'Raise pageSize, or give bySince the paging of the API',
    );
    const state = memoryState();
    const source = openRows(table, { param: 'from', paging: offsets });
    expect(await increment(source, state)).toHaveLength(30);
    expect(await increment(source, state)).toEqual([]);
    table.put(30);
    table.now += 100_000;
    expect(await increment(source, state)).toEqual([table.rows.get(30)]);
  });
});

describe('R7 order', () => {
  async function filled(order: Table['order']): Promise<Table> {
    const table = await new Table(order).listen();
    for (let id = 0; id < 40; id += 1) {
      table.put(id);
      table.now += 60_000;
    }
    table.now += 600_000;
    return table;
  }

  test('newest first ends at a page whose rows are all below the mark, and not at the first such row', async () => {
    const table = await filled('newest-first');
    const state = memoryState();
    const source = openRows(table, { order: 'newest-first', paging: pages });
    expect(await increment(source, state)).toHaveLength(40);
    table.put(3);
    table.now += 100_000;
    const before = table.asked.length;
    expect(await increment(source, state)).toEqual([table.rows.get(3)]);
    // The first page has new rows, those of the overlap, and one below the mark; on the second, all are below it.
    expect(table.asked.length).toBe(before + 2);
    expect(table.asked.some((url) => url.includes('from='))).toBe(false);
  });

  test('newest first leaves no mark before the end was reached', async () => {
    const table = await filled('newest-first');
    const state = memoryState();
    const source = openRows(table, { order: 'newest-first', paging: pages });
    expect(await killedAtPage(target(), 3, () => increment(source, state, undefined))).toBe(false);
    const fresh = memoryState();
    const sink = target();
    expect(await killedAtPage(sink, 3, () => increment(source, fresh, sink))).toBe(true);
    // Another target begins at the mark, of which there is none.
    expect(await increment(source, fresh, Object.assign(target(), { target: 'other' }))).toHaveLength(40);
  });

  test.each([
    ['newest-first', 'ascending', 'is after the one above it: the newest rows must come first'],
    ['ascending', 'newest-first', 'is before the one above it: rows must be in ascending order'],
  ] as const)('%s refuses rows that are %s', async (order, actual, message) => {
    const table = await filled(actual);
    const source = openRows(table, { param: 'from', order, paging: pages });
    await expect(increment(source, memoryState())).rejects.toThrow(message);
  });

  test.each<[string, number[]]>([
    ['in another order', [0, 2, 1, 3]],
    ['in the opposite order', [3, 2, 1, 0]],
  ])('newest first refuses pages that are %s among each other', async (_, order) => {
    const chunks = Array.from({ length: 4 }, (__, chunk) =>
      Array.from({ length: 8 }, (___, row) => {
        const id = chunk * 8 + row;
        return { id, text: '', updated: new Date(1e12 - id * 60_000).toISOString() };
      }),
    );
    const { baseUrl } = await serve(({ searchParams }) => ({
      body: chunks[order[Number(searchParams.get('page') ?? 1) - 1] ?? 9] ?? [],
    }));
    const source = openRows({ baseUrl }, { order: 'newest-first', paging: pages });
    await expect(increment(source, memoryState(), recordingSink<Row>())).rejects.toThrow(
      /can't continue: at page [23], most rows have a value of updated that belongs to the pages before: .* use order: 'any'/,
    );
  });

  test('newest first ends a walk at `begin`, and takes no total for short', async () => {
    const rows = Array.from({ length: 20 }, (_, id) => ({
      id,
      text: '',
      updated: new Date(1e12 - id * 60_000).toISOString(),
    }));
    const { baseUrl, asked } = await serve(({ searchParams }) => {
      const page = Number(searchParams.get('page') ?? 1);
      return { body: { items: rows.slice((page - 1) * 5, page * 5), total: 20 } };
    });
    const source = listing<Row, object>({
      path: '/rows',
      rows: 'items',
      total: 'total',
      columns: ['id'],
      paging: bySince({
        field: 'updated',
        type: 'instant',
        begin: rows[6]?.updated ?? '',
        order: 'newest-first',
        paging: pages,
      }),
    });
    const sink = recordingSink<Row>();
    const report = await exportTo(openListing(source, { baseUrl })({}), sink).run();
    expect(sink.rows).toHaveLength(7);
    expect(asked).toHaveLength(3);
    expect(report).not.toHaveProperty('shortOfTotal');
  });

  test('any walks all pages, and a night without changes has no rows', async () => {
    const table = await filled('any');
    const state = memoryState();
    const source = openRows(table, { order: 'any', paging: byOffset({ param: 'offset' }) });
    expect(await increment(source, state)).toHaveLength(40);
    expect(await increment(source, state)).toEqual([]);
    table.put(20);
    table.now += 100_000;
    expect(await increment(source, state)).toEqual([table.rows.get(20)]);
  });

  test('is refused where it does not go with paging, place or type', () => {
    const refuse = (options: object, message: string): void =>
      void expect(() => bySince({ field: 'at', type: 'instant', ...options } as SinceOptions)).toThrow(message);
    refuse({ order: 'newest' }, 'The order of bySince is "newest". Available: ascending, newest-first, any.');
    refuse({ order: 'any' }, 'bySince needs the paging of the API where the order is any');
    refuse({ order: 'any', type: 'integer', paging: pages }, "takes no order 'any' for values of type integer");
    refuse({ paging: pages }, 'in a query parameter (param), in the body (into) or in a header (header)');
    refuse({ param: 'a', paging: bySince({ param: 'b', field: 'at', type: 'instant' }) }, 'is a bySince itself');
    refuse({ param: 'a', stable: pages }, 'has no option "stable"');
    // @ts-expect-error Without a filter, the API's own paging is needed.
    expect(() => bySince({ field: 'at', type: 'instant', order: 'any' })).toThrow(ConfigError);
    // @ts-expect-error In ascending order, the value has a place.
    expect(() => bySince({ field: 'at', type: 'instant', paging: pages })).toThrow(ConfigError);
  });
});

describe('R7 offsets inside', () => {
  async function moving(moves: number) {
    const table = await new Table('ascending').listen();
    for (let id = 0; id < 40; id += 1) {
      table.put(id);
      table.now += 60_000;
    }
    table.now += 600_000;
    let left = moves;
    table.beforeResponse = () => {
      // The first row moves to the end once the second page is asked for.
      const [first] = [...table.rows.values()].sort((a, b) => a.updated.localeCompare(b.updated));
      if (left <= 0 || !first || table.asked.length < 2) return;
      left -= 1;
      table.now += 1_000;
      table.put(first.id);
    };
    return { table, source: openRows(table, { param: 'from', paging: offsets }) };
  }

  test('start over where rows have moved, with a warning, and have each row once', async () => {
    const { table, source } = await moving(1);
    const warnings: string[] = [];
    const rows = await increment(source, memoryState(), target(), (message) => warnings.push(message));
    expect(rows).toHaveLength(40);
    expect(kept(rows)).toEqual(table.all);
    expect(warnings).toEqual([expect.stringContaining('and the partition starts over')]);
  });

  test('start over three times, whatever the number of processes', async () => {
    const { source } = await moving(Infinity);
    const inner = memoryState();
    let isDead = false;
    // A process that is killed changes nothing any more.
    const state: StateStore = {
      ...inner,
      save: async (name, record) => (isDead ? undefined : inner.save(name, record)),
      remove: async (name) => (isDead ? undefined : inner.remove(name)),
    };
    const sink = target();
    const warnings: string[] = [];
    const run = (): Promise<unknown> =>
      increment(source, state, sink, (message) => {
        warnings.push(message);
        if (warnings.length < 2) return;
        isDead = warnings.length === 2;
        if (isDead) throw new Error('killed');
      });
    await expect(run()).rejects.toThrow('killed');
    isDead = false;
    await expect(run()).rejects.toMatchObject({
      message: expect.stringContaining('The partition started over 3 times, and rows moved again'),
      advice: [{ kind: 'restart' }],
    });
    expect(warnings).toHaveLength(3);
    await expect(run()).rejects.toThrow('The partition started over 3 times');
    expect(warnings).toHaveLength(3);
  });

  test('are an error where rows are out already', async () => {
    const { source } = await moving(1);
    await expect(increment(source, memoryState(), recordingSink<Row>())).rejects.toMatchObject({ code: 'rows-moved' });
  });

  test('by cursors go on where the API says', async () => {
    const rows = Array.from({ length: 9 }, (_, id) => ({ id, text: '', updated: '2026-01-01T00:00:00Z' }));
    const { baseUrl } = await serve(({ searchParams }) => {
      const at = Number(searchParams.get('cursor') ?? 0);
      return { body: { items: rows.slice(at, at + 3), ...(at + 3 < 9 && { next: String(at + 3) }) } };
    });
    const source = listing<Row, object>({
      path: '/rows',
      rows: 'items',
      columns: ['id'],
      paging: bySince({
        param: 'from',
        field: 'updated',
        type: 'instant',
        paging: byCursor({ param: 'cursor', at: 'next?' }),
      }),
    });
    const state = memoryState();
    const open = openListing(source, { baseUrl })({});
    expect(await increment(open, state)).toHaveLength(9);
    expect(await increment(open, state)).toEqual([]);
  });
});
