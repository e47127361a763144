import { createRequire } from 'node:module';
import type * as rxjs from 'rxjs';
import {
  filter,
  firstValueFrom,
  lastValueFrom,
  map,
  mergeMap,
  NEVER,
  Observable,
  take,
  tap,
  timer,
  toArray,
} from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  createSource,
  ConfigError,
  NetworkError,
  PaginationError,
  SluiceError,
  type Page,
  type Position,
} from '../../../src/index.js';
import { startHoldings, type Row } from '../../sandboxSource.js';

describe('a walk', () => {
  test('P1 makes no request before someone subscribes, and walks anew for each subscriber', async () => {
    const { sandbox, list } = await startHoldings({ holdings: 250 });
    const source = list();
    source.pipe(map((row) => row));
    expect(sandbox.counts.requests).toBe(0);
    const [first, second] = await Promise.all([
      lastValueFrom(source.pipe(toArray())),
      lastValueFrom(source.pipe(toArray())),
    ]);
    expect(first).toHaveLength(250);
    expect(second).toEqual(first);
    expect(sandbox.counts.requests).toBe(6);
  });

  test('gives every row once and in order, pushed and pulled', async () => {
    const { sandbox, list } = await startHoldings({ holdings: 1234 });
    const sent = [...sandbox.holdingsOf(sandbox.owners)];
    expect(await lastValueFrom(list().pipe(toArray()))).toEqual(sent);
    const pulled: Row[] = [];
    for await (const row of list()) pulled.push(row);
    expect(pulled).toEqual(sent);
  });

  test('says when each page was received, if it has a clock', async () => {
    let time = 0;
    const source = createSource<number>({
      name: 'numbers',
      identity: null,
      schema: { columns: [] },
      fetch({ walked: { pages } }) {
        time = 1_000 * (pages + 1);
        return Promise.resolve({ rows: [pages], next: pages < 2 ? { cursor: String(pages) } : 'end' });
      },
    });
    const times: (number | undefined)[] = [];
    // The next page is received while the consumer has this one.
    for await (const { receivedAt } of source.pages({ clock: { now: () => time } })) {
      await new Promise(setImmediate);
      times.push(receivedAt);
    }
    for await (const { receivedAt } of source.pages()) times.push(receivedAt);
    expect(times).toEqual([1_000, 2_000, 3_000, undefined, undefined, undefined]);
  });

  test('P3 take(150) at 100 a page makes 2 requests when pushed', async () => {
    const { sandbox, list } = await startHoldings({ holdings: 5000 });
    expect(await lastValueFrom(list().pipe(take(150), toArray()))).toHaveLength(150);
    expect(sandbox.counts.requests).toBe(2);
  });

  test('P3 150 rows pulled at 100 a page make 3 requests, and the last one is aborted at once', async () => {
    const { sandbox, list } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n === 3 ? { kind: 'never' } : undefined),
    });
    let rows = 0;
    for await (const row of list()) {
      expect(row).toBeDefined();
      if ((rows += 1) < 150) continue;
      await expect.poll(() => sandbox.counts.requests).toBe(3);
      break;
    }
    await expect.poll(() => sandbox.counts.aborted).toBe(1);
    expect(sandbox.counts.requests).toBe(3);
  });

  test('P3 leaving a loop does not wait for the request under way', async () => {
    const { sandbox, list } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n === 2 ? { kind: 'never' } : undefined),
    });
    const rows = list()[Symbol.asyncIterator]();
    for (let i = 0; i < 100; i += 1) await rows.next();
    const pending = rows.next();
    await expect.poll(() => sandbox.counts.requests).toBe(2);
    await rows.return();
    expect(await pending).toEqual({ done: true, value: undefined });
    await expect.poll(() => sandbox.counts.aborted).toBe(1);
  });

  test('P3 unsubscribing aborts the open request and starts no other', async () => {
    const { sandbox, list } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n === 2 ? { kind: 'never' } : undefined),
    });
    const subscription = list().subscribe();
    await expect.poll(() => sandbox.counts.requests).toBe(2);
    subscription.unsubscribe();
    await expect.poll(() => sandbox.counts.aborted).toBe(1);
    expect(sandbox.counts.requests).toBe(2);
  });

  test(
    'P2 a puller never has more than concurrency + prefetch pages, requests under way included',
    { tags: ['slow'] },
    async () => {
      for (const { concurrency, prefetch } of [
        { concurrency: 1, prefetch: 0 },
        { concurrency: 1, prefetch: 1 },
        { concurrency: 1, prefetch: 4 },
        { concurrency: 4, prefetch: 0 },
        { concurrency: 4, prefetch: 1 },
        { concurrency: 4, prefetch: 6 },
        // One more for each partition, where nothing is said.
        { concurrency: 1 },
        { concurrency: 4 },
      ]) {
        const room = concurrency + (prefetch ?? concurrency);
        let started = 0;
        let taken = 0;
        let max = 0;
        const source = createSource({
          name: 'counted',
          identity: null,
          schema: { columns: ['row'] },
          partitions: 12,
          fetch({ partition, at }) {
            started += 1;
            max = Math.max(max, started - taken);
            const from = at && 'offset' in at ? at.offset : 0;
            // A row is read again at each step by offset.
            const rows = [from, from + 1, from + 2].map((row) => ({ row: `${partition}.${row}` }));
            return Promise.resolve({ rows, next: from < 12 ? 'by-offset' : 'end' });
          },
        });
        for await (const page of source.pages({ concurrency, ...(prefetch !== undefined && { prefetch }) })) {
          expect(page.items.length).toBeGreaterThan(0);
          await firstValueFrom(timer(0));
          expect(started - taken, `concurrency ${concurrency}, prefetch ${prefetch}`).toBeLessThanOrEqual(room);
          taken += 1;
        }
        expect(max).toBe(room);
        expect(taken).toBe(started);
      }
    },
  );

  test('P4 a server that ignores the cursor and mints a new one is noticed before its rows are given out', async () => {
    const { list } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n >= 4 ? { kind: 'ignore-cursor' } : undefined),
    });
    const rows: Row[] = [];
    const error = await lastValueFrom(list().pipe(tap((row) => rows.push(row)))).catch((fault: unknown) => fault);
    expect(SluiceError.is(error, 'no-progress')).toBe(true);
    expect(rows).toHaveLength(300);
    expect(error).toMatchObject({ message: expect.stringContaining('first page'), position: { rows: 300, pages: 3 } });
  });

  test('P4 a cursor that stays the same for ever is noticed', async () => {
    const { list, sandbox } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n >= 3 ? { kind: 'repeat-cursor' } : undefined),
    });
    const rows: Row[] = [];
    const error = await lastValueFrom(list().pipe(tap((row) => rows.push(row)))).catch((fault: unknown) => fault);
    expect(SluiceError.is(error, 'no-progress')).toBe(true);
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)].slice(0, 300));
  });

  test('P4 page 1 again is noticed also by a walk that went on from a position', async () => {
    const { list } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n >= 4 ? { kind: 'ignore-cursor' } : undefined),
    });
    const position = await positionAfter(list().pages(), 3);
    const error = await lastValueFrom(list().pages({ startAt: position })).catch((fault: unknown) => fault);
    expect(error).toMatchObject({ code: 'no-progress', position });
  });

  test('P4 rows may have bigints, by which pages differ', async () => {
    const amounts = (from: bigint): { amount: bigint }[] => [0n, 1n, 2n].map((nth) => ({ amount: from + nth }));
    const pages = [amounts(2n ** 64n), amounts(2n ** 65n), amounts(2n ** 64n)];
    const walked = (all: typeof pages) =>
      createSource({
        name: 'amounts',
        identity: null,
        schema: { columns: ['amount'] },
        fetch({ at }) {
          const nth = at && 'cursor' in at ? Number(at.cursor) : 0;
          const next = nth + 1 < all.length ? { cursor: String(nth + 1) } : ('end' as const);
          return Promise.resolve({ rows: all[nth] ?? [], next });
        },
      });
    expect(await lastValueFrom(walked(pages.slice(0, 2)).pipe(toArray()))).toEqual(pages.slice(0, 2).flat());
    await expect(lastValueFrom(walked(pages))).rejects.toMatchObject({ code: 'no-progress' });
  });

  test('P4 a server that goes round in a circle is noticed, wherever the circle begins and however long it is', async () => {
    for (const [lead, circle] of [
      [1, 2],
      [3, 2],
      [5, 7],
      [100, 60],
    ] as const) {
      let fetches = 0;
      const source = createSource({
        name: 'circling',
        identity: null,
        schema: { columns: ['id'] },
        fetch() {
          const page = fetches < lead ? fetches : lead + ((fetches - lead) % circle);
          fetches += 1;
          return Promise.resolve({ rows: [{ id: page }], next: { cursor: `fresh ${fetches}` } });
        },
      });
      await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
      expect(fetches).toBeLessThanOrEqual(2 * lead + 3 * circle + 2);
    }
  });

  test('P4 a walk that goes on remembers the page before, and how many were empty', async () => {
    const pages = [[1], [2], ...Array.from({ length: 90 }, () => []), [3]];
    const source = (last: readonly number[][]) =>
      createSource({
        name: 'remembering',
        identity: null,
        schema: { columns: ['id'] },
        fetch({ at }) {
          const page = at && 'cursor' in at ? Number(at.cursor) : 0;
          const rows = ([...pages.slice(0, -1), ...last][page] ?? []).map((id) => ({ id }));
          return Promise.resolve({ rows, next: { cursor: String(page + 1) } });
        },
      });
    const again = await positionAfter(source([[3]]).pages(), 2);
    await expect(lastValueFrom(source([]).pages({ startAt: again }))).rejects.toMatchObject({
      code: 'no-progress',
      position: { pages: 102 },
    });
    // The page after a resume is compared with the one before it.
    const repeating = createSource({
      name: 'remembering',
      identity: null,
      schema: { columns: ['id'] },
      fetch: ({ at }) =>
        Promise.resolve({ rows: [{ id: at && 'cursor' in at ? 2 : 1 }], next: { cursor: String(Math.random()) } }),
    });
    const second = await positionAfter(repeating.pages(), 2);
    await expect(lastValueFrom(repeating.pages({ startAt: second }))).rejects.toMatchObject({
      code: 'no-progress',
      message: expect.stringContaining('the page before'),
      position: { pages: 2 },
    });
    const inTheMiddle = await positionAfter(source([[3]]).pages(), 50);
    await expect(lastValueFrom(source([]).pages({ startAt: inTheMiddle }))).rejects.toMatchObject({
      position: { pages: 102 },
    });
  });

  test('P4 pages without rows are followed up to a hundred times', async () => {
    const endless = emptyPages(Infinity);
    await expect(endless.toArray()).rejects.toMatchObject({
      code: 'no-progress',
      message: expect.stringContaining('101 pages without rows'),
    });
    await expect(emptyPages(100).toArray()).resolves.toEqual([{ id: 1 }]);
  });

  test('P4 more pages than maxPages are an error', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    expect(await list({ maxPages: 5 }).toArray()).toHaveLength(500);
    await expect(list({ maxPages: 4 }).toArray()).rejects.toMatchObject({
      code: 'too-many-pages',
      position: { rows: 400 },
    });
  });

  test('P4 a step by offset that moves nothing is an error', async () => {
    const source = createSource({
      name: 'stuck',
      identity: null,
      schema: { columns: ['id'] },
      fetch: ({ at }) => Promise.resolve({ rows: at ? [{ id: 2 }] : [{ id: 1 }, { id: 2 }], next: 'by-offset' }),
    });
    await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress', position: { rows: 2 } });
  });

  test('P5 an empty page in the middle is followed', async () => {
    const { list, sandbox } = await startHoldings({
      holdings: 500,
      script: ({ n }) => (n === 3 ? { kind: 'empty-page' } : undefined),
    });
    const pages: number[] = [];
    for await (const page of list().pages()) pages.push(page.items.length);
    expect(pages).toEqual([100, 100, 0, 100, 100, 100]);
    expect(sandbox.counts.requests).toBe(6);
  });

  test('P6 a fault in the middle comes after all earlier rows, with the position from which a walk goes on', async () => {
    const { sandbox, list } = await startHoldings({
      holdings: 1000,
      script: ({ n }) => (n === 6 ? { kind: 'status', status: 403 } : undefined),
    });
    const rows: Row[] = [];
    let position: Position | undefined;
    await expect(
      lastValueFrom(list().pipe(tap((row) => rows.push(row)))).catch((error: unknown) => {
        if (SluiceError.is(error)) position = error.position;
        throw error;
      }),
    ).rejects.toMatchObject({ code: 'http', status: 403 });
    expect(rows).toHaveLength(500);
    for await (const page of list().pages({ startAt: throughJson(position) })) rows.push(...page.items);
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
  });

  test("P7 a walk begins at a cursor of the API's own", async () => {
    const { list, sandbox } = await startHoldings({ holdings: 300 });
    const position = await positionAfter(list().pages(), 1);
    const begun = position.begun['0'];
    if (!begun || !('cursor' in begun.next)) throw new Error('The walk should stand at a cursor.');
    const rows: Row[] = [];
    for await (const page of list().pages({ startAt: begun.next.cursor })) rows.push(...page.items);
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)].slice(100));
  });

  test('P7 going on by offset reads the last row again, and gives each row once', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 1234, shape: { next: 'offset' } });
    expect(await list().toArray()).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    const offsets = sandbox.requests.map(({ query }) => new URLSearchParams(query).get('offset'));
    expect(offsets.slice(0, 3)).toEqual([null, '99', '198']);
    expect(await list({ pageSize: 1, maxRows: 5 }).toArray()).toEqual(
      [...sandbox.holdingsOf(sandbox.owners)].slice(0, 5),
    );
  });

  test('P7 rows that moved between two pages by offset are an error, not a loss', async () => {
    const { list } = await startHoldings({
      holdings: 1234,
      shape: { next: 'offset' },
      script: ({ n }) => (n === 4 ? { kind: 'moved-rows' } : undefined),
    });
    await expect(list().toArray()).rejects.toMatchObject({ code: 'rows-moved', position: { pages: 3 } });
  });

  test('P7 an offset given by the user skips rows', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 300 });
    expect(await list({ offset: 130 }).toArray()).toEqual([...sandbox.holdingsOf(sandbox.owners)].slice(130));
  });

  test('P8 many parts are one source: every row once, at any concurrency', { tags: ['slow'] }, async () => {
    const { list, sandbox } = await startHoldings({ holdings: 3000, owners: 9 });
    const partitions = sandbox.owners.map((owner) => [owner]);
    for (const concurrency of [1, 3, 8]) {
      const byPart = new Map<number, Row[]>();
      for await (const page of list({ partitions }).pages({ concurrency }))
        byPart.set(page.partition, [...(byPart.get(page.partition) ?? []), ...page.items]);
      partitions.forEach((owners, partition) => {
        expect(byPart.get(partition), `part ${partition}`).toEqual([...sandbox.holdingsOf(owners)]);
      });
    }
  });

  /** The first partition is as slow as can be: it ends only when no other one can. `ahead` counts those before it. */
  async function walkBesideSlowOne(rowsOf: (partition: number) => { row: string }[]) {
    let isHeld = true;
    let finished = 0;
    let ahead = 0;
    const sizes: number[] = [];
    const source = createSource({
      name: 'uneven',
      identity: null,
      schema: { columns: ['row'] },
      partitions: 200,
      async fetch({ partition, at }) {
        for (let turn = 0; partition === 0 && isHeld && turn < 500; turn += 1)
          await new Promise((resolve) => setImmediate(resolve));
        const page = at && 'cursor' in at ? Number(at.cursor) : 1;
        const isLast = partition !== 0 || page === 3;
        if (isLast && partition !== 0) finished += 1;
        const rows = partition === 0 ? [{ row: `0.${page}` }] : rowsOf(partition);
        return { rows, next: isLast ? 'end' : { cursor: String(page + 1) } };
      },
    });
    const partitions: number[] = [];
    for await (const page of source.pages({ concurrency: 4 })) {
      sizes.push(JSON.stringify(page.position).length);
      if (page.endsPartition) partitions.push(page.partition);
      if (page.position.before === 0) ahead = Math.max(ahead, finished);
      if (page.partition === 0) isHeld = page.index < 190;
    }
    expect(partitions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, partition) => partition));
    return { ahead, largest: Math.max(...sizes) };
  }

  test('P8 a partition that is much longer holds no other one up, and the position stays small', async () => {
    const { ahead, largest } = await walkBesideSlowOne((partition) => [{ row: `${partition}.1` }]);
    expect(ahead).toBe(199);
    expect(largest).toBeLessThan(400);
  });

  test(
    'P8 a partition waits for a much longer one once what is done before takes a gibibyte',
    { tags: ['slow'] },
    async () => {
      const text = 'x'.repeat(20_000);
      const { ahead } = await walkBesideSlowOne((partition) =>
        Array.from({ length: 2_000 }, (_, row) => ({ row: `${partition}.${row} ${text}` })),
      );
      expect(ahead).toBeGreaterThan(25);
      expect(ahead).toBeLessThan(25 + 4 * 4);
    },
  );

  test(
    'P8 a walk with concurrency that is cut anywhere goes on from its position without losing or doubling a row',
    { tags: ['slow'] },
    async () => {
      const { list, sandbox } = await startHoldings({ holdings: 900, owners: 6 });
      const partitions = sandbox.owners.map((owner) => [owner]);
      const all = sorted([...sandbox.holdingsOf(sandbox.owners)]);
      for (let cut = 1; cut <= 12; cut += 1) {
        const rows: Row[] = [];
        let position: Position | undefined;
        for await (const page of list({ partitions, pageSize: 50 }).pages({ concurrency: 3 })) {
          rows.push(...page.items);
          position = throughJson(page.position);
          if (page.index + 1 === cut) break;
        }
        for await (const page of list({ partitions, pageSize: 50 }).pages({
          concurrency: 2,
          startAt: throughJson(position),
        }))
          rows.push(...page.items);
        expect(sorted(rows)).toEqual(all);
      }
    },
  );

  test('R11 an expired cursor is an error of its own, with what the API said as its cause', async () => {
    const { list } = await startHoldings({ holdings: 500, cursorUses: 0 });
    await expect(list().toArray()).rejects.toMatchObject({
      code: 'cursor-refused',
      cause: { code: 'http', status: 400 },
      position: { rows: 100 },
    });
  });

  test.each([404, 422])(
    'R11 a later page that is answered with %i is what the API says, and no expired cursor',
    async (status) => {
      const { list } = await startHoldings({
        holdings: 500,
        script: ({ query }) => (query.has('cursor') ? { kind: 'status', status } : undefined),
      });
      await expect(list().toArray()).rejects.toMatchObject({
        code: 'http',
        message: expect.stringContaining('That is page 2, at a cursor of the API: it may list no more') as string,
        details: { partition: 0, page: 2, status },
        position: { rows: 100 },
      });
    },
  );

  test.each([400, 410])('R11 E7 a saved cursor that is answered with %i is refused', async (status) => {
    const { list } = await startHoldings({
      holdings: 500,
      script: ({ query }) => (query.has('cursor') ? { kind: 'status', status } : undefined),
    });
    const startAt = await positionAfter(list().pages(), 1);
    await expect(lastValueFrom(list().pages({ startAt }))).rejects.toMatchObject({
      code: 'cursor-refused',
      details: { partition: 0, status },
      position: startAt,
    });
  });

  test('E7 a cursor that is refused is known by an error of another copy of this package, too', async () => {
    // A plugin that the installed command loads brings its own copy along, so no class of its errors is one of ours.
    const refused = Object.assign(new Error('gone'), { code: 'http', details: { status: 410 } });
    Object.defineProperty(refused, Symbol.for('sluice.error'), { value: true });
    const source = createSource<{ id: number }>({
      name: 'foreign',
      identity: null,
      schema: { columns: ['id'] },
      fetch: ({ at }) =>
        at
          ? Promise.reject(refused)
          : Promise.resolve({ rows: [{ id: 1 }], next: { cursor: 'a cursor that expires' } }),
    });
    await expect(lastValueFrom(source.pages())).rejects.toMatchObject({
      code: 'cursor-refused',
      details: { status: 410 },
      position: { rows: 1 },
    });
  });

  test('an error of another copy of this package says where to go on, too', async () => {
    const failed = Object.assign(new Error('down'), { code: 'network', details: {} });
    Object.defineProperty(failed, Symbol.for('sluice.error'), { value: true });
    const source = createSource<{ id: number }>({
      name: 'foreign',
      identity: null,
      schema: { columns: ['id'] },
      fetch: ({ at }) =>
        at ? Promise.reject(failed) : Promise.resolve({ rows: [{ id: 1 }], next: { cursor: 'the next page' } }),
    });
    await expect(lastValueFrom(source.pages())).rejects.toMatchObject({ code: 'network', position: { rows: 1 } });
  });

  test.each([401, 403, 405])('a saved cursor that is answered with %i may be a good one', async (status) => {
    const { list } = await startHoldings({
      holdings: 500,
      script: ({ query }) => (query.has('cursor') ? { kind: 'status', status } : undefined),
    });
    const startAt = await positionAfter(list().pages(), 1);
    await expect(lastValueFrom(list().pages({ startAt }))).rejects.toMatchObject({ code: 'http', status });
  });

  test('P3 what a stop brings about is told nobody as an error', async () => {
    const told: string[] = [];
    let stopped = 0;
    const source = createSource({
      name: 'stopped',
      identity: null,
      schema: { columns: ['id'] },
      endpoint: { observe: ({ type }) => void told.push(type) },
      fetch: ({ at, signal }) =>
        at === undefined
          ? Promise.resolve({ rows: [{ id: 1 }], next: { cursor: '2' } })
          : new Promise<never>((_, reject) => {
              signal.addEventListener('abort', () => {
                stopped += 1;
                reject(new NetworkError('The connection was closed.'));
              });
            }),
    });
    for (const concurrency of [1, 2]) {
      const pages = source.pages({ concurrency })[Symbol.asyncIterator]();
      await pages.next();
      const pending = pages.next();
      // By then the walk waits for the second page.
      await new Promise((resolve) => setImmediate(resolve));
      await pages.return();
      expect(await pending).toEqual({ done: true, value: undefined });
    }
    // Whatever is still to be told has its turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(2);
    expect(told).toEqual(['page', 'page']);
  });

  test('maxRows ends a walk at a row, and a position counts towards it', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 500 });
    expect(await list({ maxRows: 150 }).toArray()).toHaveLength(150);
    expect(sandbox.counts.requests).toBe(2);
    const position = await positionAfter(list().pages(), 1);
    const rows: Row[] = [];
    for await (const page of list({ maxRows: 150 }).pages({ startAt: position })) rows.push(...page.items);
    expect(rows).toHaveLength(50);
    const before = sandbox.counts.requests;
    for await (const page of list({ maxRows: 150 }).pages({ prefetch: 3 })) expect(page.items.length).toBeLessThan(101);
    expect(sandbox.counts.requests - before).toBe(2);
    expect(() =>
      list({ maxRows: 150, partitions: sandbox.owners.map((owner) => [owner]) }).pages({ concurrency: 2 }),
    ).toThrow(ConfigError);
  });

  test.each([
    { concurrency: 0 },
    { concurrency: 1.5 },
    { prefetch: -1 },
    { startAt: { before: 9, begun: {}, rows: 0, pages: 0 } },
    { startAt: { before: 0, begun: {}, done: [[7, 7, 0] as const], rows: 0, pages: 0 } },
  ])('refuses %j before any request', async (options) => {
    const { list, sandbox } = await startHoldings({ holdings: 10 });
    expect(() => list().pages(options)).toThrow(ConfigError);
    expect(sandbox.counts.requests).toBe(0);
  });
});

describe('pipePages', () => {
  test('runs any operator on each page and keeps pages and positions', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 250 });
    const names = list().pipePages(map((row) => ({ name: row['name'] })));
    const plain: Page<Row>[] = [];
    for await (const page of list().pages()) plain.push(page);
    let index = 0;
    for await (const page of names.pages()) {
      expect(page.position).toEqual(plain[index]?.position);
      index += 1;
    }
    expect(await names.toArray()).toEqual([...sandbox.holdingsOf(sandbox.owners)].map((row) => ({ name: row.name })));
  });

  test('says nothing of how many rows there will be, only of how many the listing has', async () => {
    const source = createSource({
      name: 'counted',
      identity: null,
      schema: { columns: ['id'] },
      fetch: ({ at }) =>
        Promise.resolve(
          at
            ? { rows: [{ id: 2 }, { id: 3 }], next: 'end', total: 3 }
            : { rows: [{ id: 1 }, { id: 2 }], next: 'by-offset', total: 3 },
        ),
    });
    const totals = async (pages: AsyncIterable<Page<unknown>>): Promise<unknown[]> => {
      const found = [];
      for await (const { total, listed } of pages) found.push([total, listed]);
      return found;
    };
    const isOdd = filter(({ id }: { id: number }) => id % 2 === 1);
    const [first] = await totals(source.pages());
    expect(first).toEqual([3, 3]);
    expect((await totals(source.pipePages(isOdd).pages()))[0]).toEqual([undefined, 3]);
    expect((await totals(source.pipePages(isOdd).pipePages(isOdd).pages()))[0]).toEqual([undefined, 3]);
  });

  test(
    'waits for operators that take their time, and stops them when the walk is stopped',
    { tags: ['slow'] },
    async () => {
      const { list } = await startHoldings({ holdings: 250 });
      const slow = list().pipePages(mergeMap((row) => timer(1).pipe(map(() => row))));
      expect(await slow.toArray()).toHaveLength(250);
      let isRunning = false;
      const endless = list().pipePages(
        mergeMap(() =>
          NEVER.pipe(
            tap({
              subscribe: () => {
                isRunning = true;
              },
              unsubscribe: () => {
                isRunning = false;
              },
            }),
          ),
        ),
      );
      const pages = endless.pages()[Symbol.asyncIterator]();
      const pending = pages.next();
      await expect.poll(() => isRunning).toBe(true);
      await pages.return();
      expect(await pending).toEqual({ done: true, value: undefined });
      expect(isRunning).toBe(false);
      // Nor does one begin for a page that comes at the moment of the stop.
      for (let turns = 0; turns < 40; turns += 1) {
        const stopped = endless.pages()[Symbol.asyncIterator]();
        void stopped.next();
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        await stopped.return();
        await new Promise((resolve) => setImmediate(resolve));
        expect(isRunning).toBe(false);
      }
    },
  );
});

describe('a flow', () => {
  test('P9 is an Observable to another copy of RxJS too', async () => {
    const { list } = await startHoldings({ holdings: 120 });
    const other = secondCopyOfRxjs();
    expect(other.Observable).not.toBe(Observable);
    const source = list();
    expect(other.isObservable(source)).toBe(true);
    expect(await other.lastValueFrom(other.from(source).pipe(other.take(3), other.toArray()))).toHaveLength(3);
  });

  test('becomes a web stream that asks for no more than its reader does', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 1000 });
    const reader = list().toReadableStream().getReader();
    for (let i = 0; i < 5; i += 1) expect((await reader.read()).done).toBe(false);
    await reader.cancel();
    expect(sandbox.counts.requests).toBeLessThanOrEqual(2);
  });

  test('toArray refuses more rows than it may hold', async () => {
    const { list } = await startHoldings({ holdings: 1000 });
    await expect(list().toArray({ max: 250 })).rejects.toThrow(ConfigError);
  });
});

function secondCopyOfRxjs(): typeof rxjs {
  const require = createRequire(import.meta.url);
  for (const path of Object.keys(require.cache)) if (path.includes('rxjs')) Reflect.deleteProperty(require.cache, path);
  return require('rxjs') as typeof rxjs;
}

function emptyPages(count: number) {
  return createSource({
    name: 'sparse',
    identity: null,
    schema: { columns: ['id'] },
    fetch({ at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      return Promise.resolve(
        page < count ? { rows: [], next: { cursor: String(page + 1) } } : { rows: [{ id: 1 }], next: 'end' as const },
      );
    },
  });
}

async function positionAfter(pages: AsyncIterable<Page<Row>>, count: number): Promise<Position> {
  for await (const page of pages) if (page.index + 1 === count) return throughJson(page.position);
  throw new PaginationError('no-progress', 'The walk is too short.');
}

/** What a checkpoint does to a position. */
function throughJson(position: Position | undefined): Position {
  if (!position) throw new Error('There is no position.');
  return JSON.parse(JSON.stringify(position)) as Position;
}

function sorted(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}
