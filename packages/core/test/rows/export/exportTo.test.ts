import fc from 'fast-check';
import { filter, lastValueFrom, map, startWith, Subject, switchMap, take, takeWhile, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  CheckpointError,
  ConfigError,
  createSource,
  type ExportOptions,
  exportTo,
  memoryState,
  type Page,
  SinkError,
  type Source,
  type StateStore,
} from '../../../src/index.js';
import type { SinkContext } from '../../../src/kit.js';
import { decodeCheckpoint } from '../../../src/rows/export/checkpoint.js';
import { startHoldings, type Row } from '../../sandboxSource.js';
import { recordingSink } from '../sink/recordingSink.js';

describe('exportTo', () => {
  test('moves every row, in order, and reports at the end', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 1234 });
    const sink = recordingSink<Row>();
    const progress = await lastValueFrom(exportTo(list(), sink).pipe(toArray()));
    expect(sink.rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    expect(sink.isClosed).toBe(true);
    expect(progress.map(({ rows }) => rows)).toEqual([
      100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1234, 1234,
    ]);
    expect(progress.at(-1)).toEqual({
      isDone: true,
      rows: 1234,
      pages: 13,
      resumedRows: 0,
      committedRows: 0,
      target: 'memory',
    });
  });

  test('refuses an Observable and a state that is not a store, and says what to do instead', async () => {
    const { list } = await startHoldings({ holdings: 1 });
    const piped: unknown = list().pipe(take(1));
    const refused = (given: unknown, options: object) =>
      expect(() => exportTo(given as Source<Row>, recordingSink<Row>(), options));
    refused(piped, {}).toThrow('exportTo() takes a source: given is an Observable: use writeTo or pipePages.');
    refused(list(), { state: 'folder' }).toThrow('exportTo() is invalid at state: it is text, and must be an object.');
  });

  test('does nothing before it is run, and runs anew each time', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 50 });
    const sink = recordingSink<Row>();
    const flow = exportTo(list(), sink);
    expect(sink.calls).toEqual([]);
    expect(await flow.run()).toMatchObject({ isDone: true, rows: 50 });
    expect(await flow.run()).toMatchObject({ isDone: true, rows: 50 });
    expect(sandbox.counts.requests).toBe(2);
  });

  test('P9 takes any object with pages', async () => {
    const page: Page<number> = {
      items: [1, 2],
      position: { before: 1, begun: {}, rows: 2, pages: 1 },
      index: 0,
      partition: 0,
      endsPartition: true,
    };
    const source = {
      info: { name: 'mine', identity: null, partitions: 1 },
      async *pages() {
        yield await Promise.resolve(page);
      },
    };
    const sink = recordingSink<number>();
    await exportTo(source, sink).run();
    expect(sink.rows).toEqual([1, 2]);
  });

  test('P2 a sink that is slow never sees more than 2 pages ahead, over 1,000 pages', { tags: ['slow'] }, async () => {
    const { list, sandbox } = await startHoldings({ holdings: 1000 });
    const sink = recordingSink<Row>();
    let max = 0;
    sink.beforeWrite = async () => {
      // Whatever is asked for too early arrives within so many turns of the loop, in which the sandbox answers as well.
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (sink.rows.length % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      // This page is being written: what was asked for beyond the pages before it is ahead.
      max = Math.max(max, sandbox.counts.requests - sink.rows.length);
    };
    await exportTo(list({ pageSize: 1 }), sink).run();
    expect(sink.rows).toHaveLength(1000);
    expect(max).toBe(2);
  });

  test('T4 an abort stops the walk, closes the sink, and rejects with the very reason', async () => {
    let stuckAt = Infinity;
    const { list, sandbox } = await startHoldings({
      holdings: 5000,
      script: ({ n }) => (n === stuckAt ? { kind: 'never' } : undefined),
    });
    for (const reason of [new Error('enough'), 'enough']) {
      const sink = recordingSink<Row>();
      const stop = new AbortController();
      const before = sandbox.counts.requests;
      stuckAt = before + 5;
      const running = exportTo(list(), sink).run({ signal: stop.signal });
      await expect.poll(() => sandbox.counts.open + sink.rows.length).toBeGreaterThan(100);
      stop.abort(reason);
      await expect(running).rejects.toBe(reason);
      expect(sink.calls.at(-1)).toBe('abort');
      expect(sink.isClosed).toBe(false);
      await expect.poll(() => sandbox.counts.open).toBe(0);
      expect(sandbox.counts.requests - before).toBeLessThan(51);
    }
    await expect(exportTo(list(), recordingSink<Row>()).run({ signal: AbortSignal.abort('too late') })).rejects.toBe(
      'too late',
    );
  });

  test('an abort that comes when the target is in place changes nothing any more', async () => {
    const { list } = await startHoldings({ holdings: 50 });
    const sink = recordingSink<Row>();
    const stop = new AbortController();
    sink.beforeClose = () => {
      stop.abort('too late');
    };
    expect(await exportTo(list(), sink).run({ signal: stop.signal })).toMatchObject({ isDone: true, rows: 50 });
    expect(sink.calls.at(-1)).toBe('close');
  });

  test('tells its progress while it is awaited', async () => {
    const { list } = await startHoldings({ holdings: 250 });
    const rows: number[] = [];
    await exportTo(list(), recordingSink<Row>()).run({ onProgress: (progress) => rows.push(progress.rows) });
    expect(rows).toEqual([100, 200, 250]);
  });

  test('unsubscribing stops it too, and does not seal what is half-written', async () => {
    const { list } = await startHoldings({ holdings: 5000 });
    const sink = recordingSink<Row>();
    await lastValueFrom(exportTo(list(), sink).pipe(take(3)));
    await expect.poll(() => sink.calls.at(-1)).toBe('abort');
    expect(sink.calls).not.toContain('seal');
  });

  test('a sink that fails stops the walk and hears of its own error', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 5000 });
    const sink = recordingSink<Row>();
    const full = new Error('disk full');
    sink.beforeWrite = () => {
      if (sink.rows.length === 300) throw full;
    };
    await expect(exportTo(list(), sink).run()).rejects.toMatchObject({
      name: 'SinkError',
      summary: 'The sink recording failed in write: disk full.',
      cause: full,
    });
    expect(sink.aborted).toMatchObject({ reason: { cause: full }, isResumable: false });
    expect(sandbox.counts.requests).toBeLessThanOrEqual(5);
    expect(sandbox.counts.open).toBe(0);
  });

  test('a sink that can not be opened costs no request', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 5000 });
    const sink = { ...recordingSink<Row>(), open: () => Promise.reject(new Error('no such folder')) };
    await expect(exportTo(list(), sink).run()).rejects.toThrow('no such folder');
    expect(sandbox.counts.requests).toBe(0);
  });
});

describe('exportTo with state', () => {
  test('goes on where it failed, and gives each row once', async () => {
    const { list, sandbox } = await startHoldings({
      holdings: 3000,
      script: ({ n }) => (n === 17 ? { kind: 'status', status: 403 } : undefined),
    });
    const sink = recordingSink<Row>();
    const state = memoryState();
    await expect(exportTo(list(), sink, { state, commitEvery: 5 }).run()).rejects.toMatchObject({ code: 'http' });
    expect(sink.aborted).toMatchObject({ isResumable: true });
    const before = sandbox.counts.requests;
    const report = await exportTo(list(), sink, { state, commitEvery: 5 }).run();
    expect(report).toMatchObject({ rows: 3000, pages: 30, resumedRows: 1500 });
    expect(sandbox.counts.requests - before).toBe(15);
    expect(sink.rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    expect(await state.load('checkpoint')).toBeUndefined();
  });

  test('the first checkpoint stands before the sink touches its target, and each commit follows its flush', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const sink = recordingSink<Row>();
    await exportTo(list(), sink, { state: noted(memoryState(), sink.calls), commitEvery: 2 }).run();
    expect(sink.calls.join(', ')).toBe(
      'lock, load, save, open, write, write, flush, save, write, write, flush, save, write, seal, save sealed, close, remove, release',
    );
  });

  test('a new one requests its first page while the sink opens', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 5 });
    const sink = recordingSink<Row>();
    const open = async (context: SinkContext<Row>) => {
      await expect.poll(() => sandbox.counts.requests).toBe(1);
      return sink.open(context);
    };
    await exportTo(list(), { ...sink, open }, { state: memoryState() }).run();
    expect(sink.rows).toHaveLength(5);
    expect(sandbox.counts.requests).toBe(1);
  });

  test('a sink that can not be opened cancels what a new one has requested', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 5, script: () => ({ kind: 'never' }) });
    const open = async () => {
      await expect.poll(() => sandbox.counts.open).toBe(1);
      throw new Error('no such folder');
    };
    const state = memoryState();
    const sink = { ...recordingSink<Row>(), open };
    await expect(exportTo(list(), sink, { state }).run()).rejects.toThrow('no such folder');
    await expect.poll(() => sandbox.counts.open).toBe(0);
    expect(await state.load('checkpoint')).toBeUndefined();
  });

  test('an export that never began leaves no checkpoint behind', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 5 });
    const state = memoryState();
    const misspelt = {
      ...recordingSink<Row>(),
      check: () => Promise.reject(new ConfigError('There is no column "nmae".')),
    };
    await expect(exportTo(list(), misspelt, { state }).run()).rejects.toThrow('nmae');
    expect(await state.load('checkpoint')).toBeUndefined();
    expect(sandbox.counts.requests).toBe(0);
  });

  test('one that was killed before its first commit begins again, over what it left', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    // A process that is killed takes nothing back.
    const killed: StateStore = { ...state, remove: () => Promise.resolve() };
    const contexts: SinkContext<Row>[] = [];
    const sink = recordingSink<Row>();
    const watched = { ...sink, open: (context: SinkContext<Row>) => (contexts.push(context), sink.open(context)) };
    sink.beforeWrite = () => {
      throw new Error('killed');
    };
    await expect(exportTo(list(), watched, { state: killed }).run()).rejects.toThrow('killed');
    sink.beforeWrite = () => undefined;
    await exportTo(list(), watched, { state }).run();
    expect(contexts.map(({ restart }) => restart)).toEqual([false, true]);
  });

  test('one that was stopped before its first commit leaves neither rows nor a checkpoint', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const sink = recordingSink<Row>();
    sink.beforeWrite = () => {
      throw new Error('broken');
    };
    await expect(exportTo(list(), sink, { state }).run()).rejects.toThrow('broken');
    expect(sink.aborted).toMatchObject({ isResumable: false });
    expect(await state.load('checkpoint')).toBeUndefined();
  });

  test('counts the rows that the sink holds, whatever an operator made of those it was given', async () => {
    const { list } = await startHoldings({
      holdings: 1000,
      script: ({ n }) => (n === 8 ? { kind: 'status', status: 403 } : undefined),
    });
    const state = memoryState();
    const sink = recordingSink<Row>();
    const few = list().pipePages(
      filter((_row, index) => index % 10 === 0),
      { version: '1' },
    );
    await expect(exportTo(few, sink, { state, commitEvery: 1 }).run()).rejects.toMatchObject({ status: 403 });
    expect(await exportTo(few, sink, { state }).run()).toMatchObject({ rows: 100, resumedRows: 70 });
    expect(sink.rows).toHaveLength(100);
  });

  test('an error in closing does not hide the one that came first', async () => {
    const { list } = await startHoldings({ holdings: 5000 });
    const stuck: StateStore = {
      ...memoryState(),
      lock: () => Promise.resolve(() => Promise.reject(new Error('lock file gone'))),
    };
    const sink = recordingSink<Row>();
    sink.beforeWrite = () => {
      throw new Error('the real fault');
    };
    await expect(exportTo(list(), sink, { state: stuck }).run()).rejects.toThrow('the real fault');
    const stop = new AbortController();
    sink.beforeWrite = () => {
      stop.abort('enough');
    };
    await expect(exportTo(list(), sink, { state: stuck }).run({ signal: stop.signal })).rejects.toBe('enough');
  });

  test('T4 an abort does not wait for a source that takes its time', async () => {
    const source = {
      info: { name: 'slow', identity: null, partitions: 1 },
      async *pages(): AsyncGenerator<Page<number>> {
        yield await new Promise<never>(() => undefined);
      },
    };
    const stop = new AbortController();
    const running = exportTo(source, recordingSink<number>()).run({ signal: stop.signal });
    setImmediate(() => {
      stop.abort('enough');
    });
    await expect(running).rejects.toBe('enough');
  });

  test.each([
    { position: {} },
    { position: { before: 0, begun: null, rows: 0, pages: 0 } },
    { position: { before: 0, begun: { '0': {} }, rows: 1, pages: 1 } },
    { position: { before: 0, begun: { '0': 5 }, rows: 1, pages: 1 } },
    { rows: -1 },
  ])('E6 a damaged checkpoint is refused: %j', async (damage) => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const sink = recordingSink<Row>();
    await interrupted(list(), sink, state);
    const record = await state.load('checkpoint');
    await state.save('checkpoint', { ...(record as object), ...damage });
    await expect(exportTo(list(), sink, { state }).run()).rejects.toThrow(CheckpointError);
  });

  test('commits fall where the sink allows them, and where a page asks for one', async () => {
    const { list } = await startHoldings({ holdings: 600 });
    const sink = recordingSink<Row>();
    sink.isCommittable = () => sink.rows.length % 300 === 0;
    await exportTo(list(), sink, { state: memoryState(), commitEvery: 2 }).run();
    expect(sink.calls.filter((call) => call === 'flush')).toHaveLength(2);

    const asking = createSource({
      name: 'asking',
      identity: null,
      schema: { columns: ['id'] },
      fetch: () => Promise.resolve({ rows: [{ id: 1 }], next: 'end' }),
    });
    const withCommit = {
      info: asking.info,
      async *pages() {
        for await (const page of asking.pages()) yield { ...page, commit: true as const };
      },
    };
    const other = recordingSink<{ id: number }>();
    await exportTo(withCommit, other, { state: memoryState() }).run();
    expect(other.calls).toEqual(['open', 'write', 'flush', 'seal', 'close']);

    // A page that asks at the wrong moment is heard at the next right one.
    const late = recordingSink<Row>();
    late.isCommittable = () => late.rows.length >= 300;
    const first = {
      info: list().info,
      async *pages() {
        for await (const page of list().pages()) yield page.index === 0 ? { ...page, commit: true as const } : page;
      },
    };
    await exportTo(first, late, { state: memoryState() }).run();
    expect(late.calls.indexOf('flush')).toBe(late.calls.indexOf('write') + 3);
  });

  test('what the next run resumes from is told: what was found, each commit, and nothing once it is done', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const sink = recordingSink<Row>();
    const told: unknown[] = [];
    const onCommitted: ExportOptions['onCommitted'] = (checkpoint) =>
      told.push(checkpoint && [checkpoint.rows, checkpoint.isSealed ?? false]);
    await expect(
      exportTo(list(), sink, { state, sameProject: true, onCommitted }).run({ signal: AbortSignal.abort() }),
    ).rejects.toThrow();
    expect(told).toEqual([]);
    await interrupted(list(), sink, state);
    const { rows } = decodeCheckpoint(await state.load('checkpoint'));
    await exportTo(list(), sink, { state, commitEvery: 100, onCommitted }).run();
    expect(rows).toBeGreaterThan(0);
    expect(told).toEqual([[rows, false], [500, true], undefined]);
  });

  test.each([
    ['ENOENT', [[100, false], undefined]],
    ['EIO', [[100, false]]],
  ])('nothing is left to resume from once the folder of the state is gone (%s)', async (platformCode, left) => {
    const { list } = await startHoldings({ holdings: 500 });
    const memory = memoryState();
    const told: unknown[] = [];
    const state = {
      ...memory,
      save: async (...record: Parameters<typeof memory.save>) => {
        if (told.at(-1) !== undefined) throw new SinkError('No state.', { details: { platformCode } });
        return memory.save(...record);
      },
    };
    const onCommitted: ExportOptions['onCommitted'] = (checkpoint) =>
      told.push(checkpoint && [checkpoint.rows, checkpoint.isSealed ?? false]);
    const running = exportTo(list(), recordingSink<Row>(), { state, commitEvery: 1, onCommitted }).run();
    await expect(running).rejects.toThrow('No state.');
    expect(told.filter((each, at) => each !== undefined || at > 1)).toEqual(left);
  });

  test('a sealed target is only put in place', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 500 });
    const sink = recordingSink<Row>();
    const state = memoryState();
    sink.beforeClose = () => {
      throw new Error('killed');
    };
    await expect(exportTo(list(), sink, { state }).run()).rejects.toThrow('killed');
    sink.beforeClose = () => undefined;
    const before = sandbox.counts.requests;
    expect(await exportTo(list(), sink, { state }).run()).toMatchObject({ rows: 500, resumedRows: 500 });
    expect(sandbox.counts.requests).toBe(before);
    expect(sink.calls.slice(-2)).toEqual(['open at 500', 'close']);
  });

  test('another plan is refused, and nothing is touched', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const sink = recordingSink<Row>();
    await interrupted(list(), sink, state);
    const kept = [...sink.rows];
    const record = await state.load('checkpoint');
    for (const [source, target] of [
      [list({ pageSize: 50 }), sink],
      [list(), { ...sink, identity: 'other columns' }],
    ] as const) {
      await expect(exportTo(source, target, { state }).run()).rejects.toThrow(CheckpointError);
    }
    expect(sink.rows).toEqual(kept);
    expect(await state.load('checkpoint')).toEqual(record);
    expect(await exportTo(list({ pageSize: 50 }), recordingSink<Row>(), { state, restart: true }).run()).toMatchObject({
      resumedRows: 0,
      rows: 500,
    });
  });

  test('before any row is kept, one that fails leaves nothing behind, so that something else may be asked for', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const sink = recordingSink<Row>();
    const started = {
      ...sink,
      open: async (context: SinkContext<Row>) => ({ ...(await sink.open(context)), start: 0 }),
    };
    sink.beforeWrite = () => {
      if (sink.rows.length === 200) throw new Error('interrupted');
    };
    await expect(exportTo(list(), started, { state, commitEvery: 5 }).run()).rejects.toThrow('interrupted');
    expect(sink.aborted).toMatchObject({ isResumable: false });
    expect(await state.load('checkpoint')).toBeUndefined();
    sink.beforeWrite = () => undefined;
    expect(await exportTo(list({ pageSize: 50 }), started, { state }).run()).toMatchObject({ rows: 500 });
    expect(sink.rows).toHaveLength(500);
  });

  test('before any row is kept, one whose checkpoint can not be changed keeps what that refers to, and is resumed', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const store = memoryState();
    let isAway = false;
    const state: StateStore = {
      ...store,
      save: (name, record) => (isAway ? Promise.reject(new Error('no connection')) : store.save(name, record)),
    };
    const sink = recordingSink<Row>();
    const started = {
      ...sink,
      open: async (context: SinkContext<Row>) => ({ ...(await sink.open(context)), start: 0 }),
    };
    sink.beforeWrite = () => {
      isAway = true;
      throw new Error('interrupted');
    };
    await expect(exportTo(list(), started, { state }).run()).rejects.toThrow('interrupted');
    expect(sink.aborted).toMatchObject({ isResumable: true });
    isAway = false;
    sink.beforeWrite = () => undefined;
    expect(await exportTo(list(), started, { state }).run()).toMatchObject({ rows: 500 });
    expect(sink.calls).toContain('open at 0');
  });

  test('before any row is kept, one that is killed is refused to another plan, and the message says that nothing is lost', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const sink = recordingSink<Row>();
    let kept: object = {};
    sink.beforeWrite = async () => {
      kept = decodeCheckpoint(await state.load('checkpoint'));
      throw new Error('killed');
    };
    await expect(exportTo(list(), sink, { state }).run()).rejects.toThrow('killed');
    const other = (delivery: 'exactly-once' | 'at-least-once') =>
      exportTo(list({ pageSize: 50 }), { ...sink, delivery }, { state }).run();
    await state.save('checkpoint', kept);
    await expect(other('exactly-once')).rejects.toThrow(
      'The checkpoint was written with different settings (pageSize). It has no rows yet, so a restart loses none. Use the previous settings, or start over with restart: nothing was changed.',
    );
    await expect(other('at-least-once')).rejects.toThrow('(pageSize). Use the previous settings, or start');
    expect(await state.load('checkpoint')).toEqual(kept);
  });

  test('state of a newer version, or no state at all, is refused', async () => {
    const { list } = await startHoldings({ holdings: 5 });
    for (const record of [{ v: 2 }, { v: 1 }, {}]) {
      const state = memoryState();
      await state.save('checkpoint', record);
      await expect(exportTo(list(), recordingSink<Row>(), { state }).run()).rejects.toThrow(CheckpointError);
    }
  });

  test('one state serves one export at a time: the next one waits, and can be stopped while it does', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const state = memoryState();
    const one = recordingSink<Row>();
    const two = recordingSink<Row>();
    const three = recordingSink<Row>();
    const first = exportTo(list(), one, { state }).run();
    const stop = new AbortController();
    const second = exportTo(list(), two, { state }).run({ signal: stop.signal });
    three.beforeWrite = () => {
      expect(one.isClosed).toBe(true);
    };
    const third = exportTo(list(), three, { state }).run();
    stop.abort('changed my mind');
    await expect(second).rejects.toBe('changed my mind');
    await Promise.all([first, third]);
    expect(two.calls).toEqual([]);
    expect(three.rows).toHaveLength(500);
  });

  test('an operator on pages needs a version to be resumed', async () => {
    const { list, sandbox } = await startHoldings({ holdings: 5 });
    const named = list().pipePages(map((row) => ({ name: row['name'] })));
    await expect(exportTo(named, recordingSink(), { state: memoryState() }).run()).rejects.toThrow(ConfigError);
    await exportTo(named, recordingSink()).run();
    await exportTo(
      list().pipePages(
        map((row) => ({ name: row['name'] })),
        { version: '1' },
      ),
      recordingSink(),
      { state: memoryState() },
    ).run();
    expect(sandbox.counts.requests).toBe(2);
  });

  test(
    'E4 any sequence of faults gives every row once and in order, and few pages are fetched again',
    { tags: ['slow'] },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            pages: fc.integer({ min: 1, max: 40 }),
            commitEvery: fc.integer({ min: 1, max: 10 }),
            prefetch: fc.integer({ min: 0, max: 3 }),
            faults: fc.array(
              fc.record({ after: fc.integer({ min: 0, max: 30 }), at: fc.constantFrom('fetch', 'write', 'close') }),
              { maxLength: 6 },
            ),
          }),
          async ({ pages, commitEvery, prefetch, faults }) => {
            const state = memoryState();
            const sink = recordingSink<{ id: number }>();
            let fetches = 0;
            let fuse = { after: Infinity, at: '' };
            const burn = (at: string): void => {
              if (fuse.at === at && (fuse.after -= 1) < 0) throw new Error(`broken at ${at}`);
            };
            const source = createSource({
              name: 'counted',
              identity: pages,
              schema: { columns: ['id'] },
              fetch({ at }) {
                burn('fetch');
                fetches += 1;
                const page = at && 'cursor' in at ? Number(at.cursor) : 0;
                return Promise.resolve({
                  rows: [{ id: 2 * page }, { id: 2 * page + 1 }],
                  next: page + 1 < pages ? { cursor: String(page + 1) } : 'end',
                });
              },
            });
            sink.beforeWrite = () => {
              burn('write');
            };
            sink.beforeClose = () => {
              burn('close');
            };
            for (const fault of [...faults, { after: Infinity, at: '' }]) {
              fuse = { ...fault };
              if (sink.isClosed) break;
              await exportTo(source, sink, { state, commitEvery, prefetch })
                .run()
                .catch(() => undefined);
            }
            expect(sink.isClosed).toBe(true);
            expect(sink.rows).toEqual(Array.from({ length: 2 * pages }, (_, id) => ({ id })));
            expect(fetches - pages).toBeLessThanOrEqual(faults.length * (commitEvery + prefetch + 1));
          },
        ),
        { numRuns: 300 },
      );
    },
  );

  test('any sequence of faults with concurrency loses no row and doubles none', { tags: ['slow'] }, async () => {
    const { list, sandbox } = await startHoldings(
      { holdings: 900, owners: 6, faults: { serverError: 0.05 } },
      { retry: { baseDelay: 1 } },
    );
    const partitions = sandbox.owners.map((owner) => [owner]);
    const all = [...sandbox.holdingsOf(sandbox.owners)].map((row) => JSON.stringify(row)).sort();
    for (let after = 1; after <= 10; after += 1) {
      const state = memoryState();
      const sink = recordingSink<Row>();
      let writes = 0;
      sink.beforeWrite = () => {
        if ((writes += 1) === after) throw new Error('broken');
      };
      const run = () =>
        exportTo(list({ partitions, pageSize: 50 }), sink, { state, commitEvery: 3, concurrency: 3 }).run();
      await expect(run()).rejects.toThrow('broken');
      await run();
      expect(sink.rows.map((row) => JSON.stringify(row)).sort()).toEqual(all);
    }
  });

  test('stopped and started again in one breath, it goes on where it stopped', { tags: ['slow'] }, async () => {
    const { list, sandbox } = await startHoldings({ holdings: 3000 });
    const sink = recordingSink<Row>();
    const state = memoryState();
    const restarts = new Subject<void>();
    const report = lastValueFrom(
      restarts.pipe(
        startWith(undefined),
        switchMap(() => exportTo(list(), sink, { state, commitEvery: 1 })),
        takeWhile(({ isDone }) => !isDone, true),
      ),
    );
    for (const rows of [500, 1000, 2000]) {
      await expect.poll(() => sink.rows.length, { interval: 1 }).toBeGreaterThan(rows);
      restarts.next();
    }
    expect(await report).toMatchObject({ isDone: true, rows: 3000 });
    expect(sink.rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
  });
});

async function interrupted(
  source: Source<Row>,
  sink: ReturnType<typeof recordingSink<Row>>,
  state: StateStore,
): Promise<void> {
  sink.beforeWrite = () => {
    if (sink.rows.length === 300) throw new Error('broken');
  };
  await expect(exportTo(source, sink, { state, commitEvery: 1 }).run()).rejects.toThrow('broken');
  sink.beforeWrite = () => undefined;
}

/** Notes a store's calls among others. */
function noted(state: StateStore, calls: string[]): StateStore {
  return {
    async lock(signal) {
      calls.push('lock');
      const release = await state.lock(signal);
      return async () => {
        calls.push('release');
        await release();
      };
    },
    load(name) {
      calls.push('load');
      return state.load(name);
    },
    save(name, record) {
      calls.push('isSealed' in record ? 'save sealed' : 'save');
      return state.save(name, record);
    },
    remove(name) {
      calls.push('remove');
      return state.remove(name);
    },
    log: (name) => state.log(name),
  };
}
