import { describe, expect, test } from 'vitest';
import { createSource, DecodeError, type Page, type Source } from '../../../src/index.js';
import type { SourceEvent } from '../../../src/rows/source/sourceEvent.js';
import type { UndecodedPage } from '../../../src/rows/source/definition.js';

interface Row {
  readonly id: string;
}

/** A source of these pages, whose rows are numbers that become text; what happens is written down. */
function sourceOf(pages: readonly (readonly unknown[])[], happened: string[] = [], decode = decodeRow): Source<Row> {
  let asked = 0;
  return createSource<Row>({
    name: 'test.late',
    identity: null,
    schema: { columns: ['id'] },
    endpoint: {
      observe(event: SourceEvent) {
        if (event.type === 'page') happened.push(`page ${event.page}`);
        if (event.type === 'error') happened.push(`error ${event.name}`);
      },
    },
    fetch({ at }): Promise<UndecodedPage<Row>> {
      const nth = at && 'cursor' in at ? Number(at.cursor.split(' ')[0]) : 0;
      asked += 1;
      happened.push(`asked for ${nth}`);
      const received = structuredClone(pages[nth] ?? []);
      return Promise.resolve({
        received,
        // A new cursor each time, so that only the rows can tell a circle.
        next: nth + 1 < pages.length ? { cursor: `${nth + 1} ${asked}` } : 'end',
        decode() {
          happened.push(`made ${nth}`);
          return received.map(decode);
        },
      });
    },
  });
}

function decodeRow(value: unknown): Row {
  if (typeof value !== 'object' || value === null || !('id' in value))
    throw new DecodeError('It is no row.', { path: 'result[0]' });
  return { id: String(value.id) };
}

async function listed<T>(items: AsyncIterable<T>): Promise<{ readonly items: T[]; readonly error?: unknown }> {
  const taken: T[] = [];
  try {
    for await (const item of items) taken.push(item);
    return { items: taken };
  } catch (error) {
    return { items: taken, error };
  }
}

describe('rows that are made of what came', () => {
  test('are made once the next page was asked for, and as they are wanted', async () => {
    const happened: string[] = [];
    for await (const page of sourceOf([[{ id: 1 }], [{ id: 2 }], [{ id: 3 }]], happened).pages()) {
      happened.push(`got ${page.items.map(({ id }) => id).join()}`);
    }
    expect(happened.filter((what) => !what.startsWith('page'))).toEqual([
      'asked for 0',
      'asked for 1',
      'made 0',
      'got 1',
      'asked for 2',
      'made 1',
      'got 2',
      'made 2',
      'got 3',
    ]);
  });

  test('are made one by one where nothing may be fetched ahead', async () => {
    const happened: string[] = [];
    for await (const page of sourceOf([[{ id: 1 }], [{ id: 2 }]], happened).pages({ prefetch: 0 }))
      happened.push(`got ${page.items.length}`);
    expect(happened.filter((what) => !what.startsWith('page'))).toEqual([
      'asked for 0',
      'made 0',
      'got 1',
      'asked for 1',
      'made 1',
      'got 1',
    ]);
  });

  test('P6 are an error at their page where they are none: the rows before come, and the walk ends', async () => {
    const happened: string[] = [];
    const pages = [[{ id: 1 }], ['no row'], [{ id: 3 }], [{ id: 4 }]];
    const walk = sourceOf(pages, happened).pages();
    const { items, error } = await listed(walk);
    expect(items.map((page: Page<Row>) => page.items)).toEqual([[{ id: '1' }]]);
    expect(error).toMatchObject({ code: 'decode', position: { rows: 1, pages: 1 } });
    expect(happened.filter((what) => /asked|error/.test(what))).toEqual([
      'asked for 0',
      'asked for 1',
      'asked for 2',
      'error test.late',
    ]);
    const position = (error as DecodeError).position;
    expect(position).toEqual(items.at(-1)?.position);
  });

  test('are made once, whoever asks: what is wrong with one stays where it was', async () => {
    const changing = (value: unknown): Row => {
      const row = value as { id: unknown };
      if (typeof row.id !== 'number') throw new DecodeError('It is no number.', { path: String(row.id) });
      row.id = `#${row.id}`;
      return row as Row;
    };
    // The first page, and the one that is compared with later ones, are looked at again before they are given out.
    for (const bad of [0, 1, 2, 3, 4]) {
      const happened: string[] = [];
      const pages = Array.from({ length: 7 }, (_, page) => [{ id: page }, { id: page === bad ? 'bad' : page + 100 }]);
      const { items, error } = await listed(sourceOf(pages, happened, changing).pages({ prefetch: 6 }));
      expect(items).toHaveLength(bad);
      expect(error).toMatchObject({ details: { path: 'bad' }, position: { pages: bad } });
      expect(happened.filter((what) => what === `made ${bad}`)).toHaveLength(1);
    }
  });

  test('may be made by a method of the page', async () => {
    const page = {
      received: [{ id: '1' }],
      next: 'end' as const,
      decode(): readonly Row[] {
        return this.received;
      },
    };
    const fetch = (): Promise<typeof page> => Promise.resolve(page);
    const own = createSource<Row>({ name: 'test.own', identity: null, schema: { columns: ['id'] }, fetch });
    expect(await own.toArray()).toEqual([{ id: '1' }]);
  });

  test('have to be as many as came: positions count those', async () => {
    const fewer = createSource<Row>({
      name: 'test.fewer',
      identity: null,
      schema: { columns: ['id'] },
      fetch: () => Promise.resolve({ received: [{ id: 1 }, { id: 2 }], next: 'end', decode: () => [{ id: '1' }] }),
    });
    await expect(fewer.toArray()).rejects.toMatchObject({
      code: 'config',
      message: 'test.fewer received 2 row(s) and returned 1. Return one row for each: positions count received rows.',
    });
  });

  test('P4 are told apart by what came, also where they were made at once', async () => {
    let made = 0;
    const source = createSource<Row>({
      name: 'test.made',
      identity: null,
      schema: { columns: ['id'] },
      fetch: () =>
        Promise.resolve({ received: [{ id: 1 }], rows: [{ id: `row ${(made += 1)}` }], next: { cursor: `${made}` } }),
    });
    await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
    expect(made).toBe(2);
  });

  test('P4 are told apart although making them changes what came, wherever a circle begins', async () => {
    const changing = (value: unknown): Row => {
      const row = value as { id: unknown; seen?: true };
      // The second time something else would come out.
      row.id = row.seen ? 'twice' : `#${String(row.id)}`;
      row.seen = true;
      return row as Row;
    };
    const pages = [
      [{ id: 1 }, { id: 2 }],
      [{ id: 3 }, { id: 4 }],
      [{ id: 5 }, { id: 6 }],
    ];
    for (const again of [0, 1, 2]) {
      const circling = [...pages, pages[again] ?? []];
      for (const prefetch of [0, 1, 3]) {
        const { error, items } = await listed(sourceOf(circling, [], changing).pages({ prefetch }));
        expect(error, `page ${again}, ${prefetch} ahead`).toMatchObject({ code: 'no-progress' });
        expect(items.flatMap((page) => page.items.map(({ id }) => id))).toEqual(['#1', '#2', '#3', '#4', '#5', '#6']);
      }
    }
  });

  test('P4 are told apart also by a walk that goes on from a position', async () => {
    const pages = [[{ id: 1 }], [{ id: 2 }], [{ id: 2 }]];
    const [, second] = (await listed(sourceOf(pages).pages())).items;
    const startAt = structuredClone(second?.position);
    const { error } = await listed(sourceOf(pages).pages({ ...(startAt && { startAt }) }));
    expect(error).toMatchObject({ code: 'no-progress', message: expect.stringContaining('the page before') });
  });

  test('P3 are not made when the walk is stopped before they come', async () => {
    const happened: string[] = [];
    let respond: () => void = () => undefined;
    const source = createSource<Row>({
      name: 'test.stopped',
      identity: null,
      schema: { columns: ['id'] },
      fetch() {
        happened.push('asked');
        const decode = (): Row[] => {
          happened.push('made');
          return [{ id: '1' }];
        };
        return new Promise((resolve) => {
          respond = () => resolve({ received: [{ id: 1 }], next: { cursor: '2' }, decode });
        });
      },
    });
    const pages = source.pages()[Symbol.asyncIterator]();
    const first = pages.next();
    while (happened.length === 0) await Promise.resolve();
    await pages.return();
    respond();
    expect(await first).toEqual({ done: true, value: undefined });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(happened).toEqual(['asked']);
  });

  test('are not made of what nobody takes any more', async () => {
    const happened: string[] = [];
    for await (const page of sourceOf([[{ id: 1 }], ['no row'], ['none either'], ['none']], happened).pages())
      if (page.items.length > 0) break;
    expect(happened).toContain('asked for 1');
    expect(happened.filter((what) => what.startsWith('made'))).toEqual(['made 0']);
  });
});
