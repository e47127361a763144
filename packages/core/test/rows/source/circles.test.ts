// @module-tag slow
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSource, SluiceError, type Page, type Position, type Source } from '../../../src/index.js';
import { byCursor, byLink, byOffset, byPage, listing, type Paging } from '../../../src/define/index.js';
import { openListing, serve, type Said } from '../../define/servedApi.js';
import { startHoldings } from '../../sandboxSource.js';

interface Row {
  readonly id: number;
  readonly seen?: number;
}

/** A listing whose pages `lead`, `lead + 1` … `lead + length - 1` come round again and again, counted from 0. */
interface Circle {
  readonly lead: number;
  readonly length: number;
}

/** The first page has no cursor by which it could be known: where its rows change, only the second one is. */
const circles = fc.record({ lead: fc.integer({ min: 1, max: 300 }), length: fc.integer({ min: 2, max: 500 }) });
const pipePages = 12;

/** Which page stands at a place of a listing that would never end. */
function pageAt(place: number, { lead, length }: Circle): number {
  return place < lead ? place : lead + ((place - lead) % length);
}

function rowsOf(page: number): Row[] {
  return Array.from({ length: pipePages }, (_, nth) => ({ id: page * pipePages + nth }));
}

/** What an API that goes round may do, from the first request to the last. */
const ways: Record<string, (circle: Circle) => Source<Row>> = {
  'the cursors come again': (circle) =>
    circling(({ page }) => ({ rows: rowsOf(page), next: { cursor: `page ${pageAt(page + 1, circle)}` } })),
  'the cursors come again, and the rows have changed meanwhile': (circle) =>
    circling(({ page, asked }) => ({
      rows: rowsOf(page).map((row) => ({ ...row, seen: asked })),
      next: { cursor: `page ${pageAt(page + 1, circle)}` },
    })),
  'each cursor is a new one': (circle) =>
    circling(({ page, asked }) => ({
      rows: rowsOf(page),
      next: { cursor: `page ${pageAt(page + 1, circle)} ${asked}` },
    })),
  'each cursor is a new one, and some pages are empty': (circle) =>
    circling(({ page, asked }) => ({
      // The first page of the circle has rows, or there would be nothing to tell it by.
      rows: page > circle.lead && page % 3 === 0 ? [] : rowsOf(page),
      next: { cursor: `page ${pageAt(page + 1, circle)} ${asked}` },
    })),
  'it has one cursor, which it moves on by itself': (circle) => {
    let place = -1;
    return circling(() => ({ rows: rowsOf(pageAt((place += 1), circle)), next: { cursor: 'the scroll' } }));
  },
};

function circling(
  answer: (asked: { readonly page: number; readonly asked: number }) => { rows: Row[]; next: { cursor: string } },
): Source<Row> {
  let asked = 0;
  return createSource<Row>({
    name: 'circling',
    identity: null,
    schema: { columns: ['id'] },
    fetch({ at }) {
      asked += 1;
      const page = at && 'cursor' in at ? Number(at.cursor.split(' ')[1]) : 0;
      return Promise.resolve(answer({ page, asked }));
    },
  });
}

/** What was given out, and why no more was. */
async function taken(pages: AsyncIterable<Page<Row>>) {
  const ids: number[] = [];
  const positions: Position[] = [];
  try {
    for await (const page of pages) {
      ids.push(...page.items.map(({ id }) => id));
      positions.push(structuredClone(page.position));
    }
  } catch (error) {
    return { ids, positions, error };
  }
  throw new Error('A walk in a circle came to an end.');
}

describe('P4 a listing that goes round in a circle', () => {
  test.each(Object.keys(ways))('gives each row once, wherever the circle begins, where %s', async (way) => {
    await fc.assert(
      fc.asyncProperty(circles, fc.constantFrom(0, 1, 3), async (circle, prefetch) => {
        const { ids, error } = await taken(ways[way]!(circle).pages({ prefetch }));
        expect(error).toMatchObject({ code: 'no-progress', position: { rows: ids.length } });
        // And nothing is held back that is no repetition.
        const places = Array.from({ length: circle.lead + circle.length }, (_, page) => page);
        const isEmpty = (page: number): boolean => way.endsWith('empty') && page > circle.lead && page % 3 === 0;
        expect(ids).toEqual(places.flatMap((page) => (isEmpty(page) ? [] : rowsOf(page).map(({ id }) => id))));
      }),
      { numRuns: 15 },
    );
  });

  test.each(Object.keys(ways))('gives nothing to a walk that goes on where it was refused, where %s', async (way) => {
    const circle = { lead: 20, length: 30 };
    const { error } = await taken(ways[way]!(circle).pages());
    const startAt = throughJson(positionOf(error));
    // Also where the API begins its scroll again: then the first page comes.
    const { ids, error: again } = await taken(ways[way]!(circle).pages({ startAt }));
    expect(ids).toEqual([]);
    expect(again).toMatchObject({ code: 'no-progress', position: startAt });
  });

  test('is left after three rounds at most by a walk that is interrupted again and again', async () => {
    await fc.assert(
      fc.asyncProperty(circles, fc.integer({ min: 1, max: 40 }), async (circle, pagesARun) => {
        const source = ways['each cursor is a new one']!(circle);
        const bound = 2 * Math.max(circle.lead + 1, circle.length) + circle.length;
        let position: Position | undefined;
        let error: unknown;
        while (error === undefined) {
          let pages = 0;
          const walk = source.pages({ prefetch: 0, ...(position && { startAt: position }) });
          try {
            for await (const page of walk) {
              position = throughJson(page.position);
              expect(position.pages).toBeLessThanOrEqual(bound);
              if ((pages += 1) === pagesARun) break;
            }
          } catch (fault) {
            error = fault;
          }
        }
        expect(error).toMatchObject({ code: 'no-progress', position: { pages: position?.pages } });
      }),
      { numRuns: 15 },
    );
  });

  test.each([
    { lead: 5, length: 3 },
    { lead: 50, length: 100 },
  ])('gives each row once to whoever pulls and whoever is pushed to: %j', async ({ lead, length }) => {
    const size = 10;
    for (const isPushed of [false, true]) {
      const { list, sandbox } = await startHoldings({
        holdings: 5_000,
        script: ({ n }) =>
          n >= lead + length && (n - lead) % length === 0
            ? { kind: 'lead-back', rows: (length - 1) * size, minted: isPushed }
            : undefined,
      });
      const rows: unknown[] = [];
      const source = list({ pageSize: size });
      const pull = async (): Promise<void> => {
        for await (const row of source) rows.push(row);
      };
      const walk = isPushed ? source.forEach((row) => void rows.push(row)) : pull();
      await expect(walk).rejects.toMatchObject({ code: 'no-progress' });
      expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)].slice(0, (lead + length) * size));
    }
  });
});

describe('P4 a server that goes round in a circle is refused before a row comes twice, paged', () => {
  const size = 10;
  const number = (url: URL, name: string, otherwise: number): number => Number(url.searchParams.get(name) ?? otherwise);

  const kinds: Record<string, { readonly paging: Paging; readonly answer: (url: URL, circle: Circle) => Said }> = {
    'by cursor': {
      paging: byCursor({ param: 'after', at: 'next' }),
      answer(url, circle) {
        const page = number(url, 'after', 0);
        return { body: { items: itemsOf(page), next: String(pageAt(page + 1, circle)) } };
      },
    },
    'by the number of the page': {
      paging: byPage({ param: 'p', first: 0 }),
      answer: (url, circle) => ({ body: { items: itemsOf(pageAt(number(url, 'p', 0), circle)) } }),
    },
    'by a link to the next one': {
      paging: byLink(),
      answer(url, circle) {
        const page = number(url, 'p', 0);
        const link = `</api/items?p=${String(pageAt(page + 1, circle))}>; rel="next"`;
        return { body: { items: itemsOf(page) }, headers: { Link: link } };
      },
    },
    'by a link that is a new one each time': {
      paging: byLink({ at: 'next' }),
      answer(url, circle) {
        const page = number(url, 'p', 0);
        const turn = number(url, 'turn', 0) + 1;
        return { body: { items: itemsOf(page), next: `?p=${String(pageAt(page + 1, circle))}&turn=${turn}` } };
      },
    },
    'by offset': {
      paging: byOffset({ param: 'skip' }),
      answer(url, circle) {
        // Each page but the first begins with the row before it.
        const skip = number(url, 'skip', 0);
        const rowAt = (nth: number): number =>
          nth === 0
            ? 0
            : 1 + pageAt(Math.floor((nth - 1) / (size - 1)), circle) * (size - 1) + ((nth - 1) % (size - 1));
        return { body: { items: Array.from({ length: size }, (_, nth) => ({ id: rowAt(skip + nth) })) } };
      },
    },
  };

  function itemsOf(page: number): Row[] {
    return Array.from({ length: size }, (_, nth) => ({ id: page * size + nth }));
  }

  test.each(Object.keys(kinds))('%s', async (kind) => {
    const { paging, answer } = kinds[kind]!;
    for (const circle of [
      { lead: 1, length: 2 },
      { lead: 4, length: 3 },
      { lead: 50, length: 100 },
    ]) {
      const server = await serve((url) => answer(url, circle));
      const source = openListing(listing({ path: '/items', paging, rows: 'items', columns: ['id'] }), server)();
      const ids: unknown[] = [];
      const walk = async (): Promise<void> => {
        for await (const { id } of source) ids.push(id);
      };
      await expect(walk()).rejects.toMatchObject({ code: 'no-progress' });
      expect(new Set(ids).size, JSON.stringify(circle)).toBe(ids.length);
      expect(ids.length).toBeGreaterThanOrEqual((circle.lead + circle.length) * (size - 1));
      expect(server.asked.length).toBeLessThanOrEqual(circle.lead + circle.length + 2);
    }
  });
});

test('a cursor that the API moves on by itself, and renews now and then, is no circle', async () => {
  const scrolls = ['first', 'first', 'second', 'second', 'second', 'third'];
  let asked = 0;
  const source = createSource<Row>({
    name: 'scrolling',
    identity: null,
    schema: { columns: ['id'] },
    fetch() {
      const page = asked;
      asked += 1;
      const cursor = scrolls[page];
      return Promise.resolve({ rows: rowsOf(page), next: cursor === undefined ? 'end' : { cursor } });
    },
  });
  const ids: number[] = [];
  for await (const { id } of source) ids.push(id);
  expect(ids).toEqual(Array.from({ length: 7 * pipePages }, (_, id) => id));
});

function positionOf(error: unknown): Position {
  if (SluiceError.is(error) && error.position) return error.position;
  throw new Error('The error has no position.');
}

/** What a checkpoint does to a position. */
function throughJson(position: Position): Position {
  return JSON.parse(JSON.stringify(position)) as Position;
}
