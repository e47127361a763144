import { map } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { ConfigError, exportTo, memoryState, systemClock, type Page, type Sink } from '../../../src/index.js';
import type { SinkContext } from '../../../src/kit.js';
import { decodeCheckpoint } from '../../../src/rows/export/checkpoint.js';
import { FakeClock } from '../../fakeClock.js';
import { startHoldings, type Row } from '../../sandboxSource.js';
import { recordingSink, type Recording } from '../sink/recordingSink.js';

/** Pages that an export of one partition holds while it writes one: that one, and what it fetches ahead. */
const prefetch = 3;
/** No commit is due before the end. */
const commitEvery = 1000;

/** An export whose sink is stuck in a page until `release`, when the walk has fetched all that it may. */
async function stuckAt(stuckPage: number, { holdings, concurrency }: { holdings: number; concurrency: number }) {
  const { list, sandbox, client } = await startHoldings({ holdings, owners: 6 });
  const partitions = sandbox.owners.map((owner) => [owner]);
  const source = list({ pageSize: 10, partitions: concurrency === 1 ? [sandbox.owners] : partitions });
  const state = memoryState();
  const sink = recordingSink<Row>();
  const stop = new AbortController();
  let fetched = 0;
  let written = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let atCapacity = (): void => undefined;
  const full = new Promise<void>((resolve) => (atCapacity = resolve));
  const check = (): void => {
    if (written === stuckPage && fetched === stuckPage + prefetch + concurrency - 1) atCapacity();
  };
  client.events.subscribe(({ type }) => {
    if (type !== 'page') return;
    fetched += 1;
    check();
  });
  sink.beforeWrite = async () => {
    written += 1;
    check();
    if (written === stuckPage) await released;
  };
  const options = { state, commitEvery, concurrency, prefetch };
  const running = exportTo(source, sink, options).run({ signal: stop.signal });
  await full;
  return { running, stop, release, source, state, sink, sandbox, options, fetched: () => fetched };
}

describe('E9 a cancelled export', () => {
  test.each([1, 3])(
    'E9 writes and commits the pages that it has fetched, in order: none is fetched again (concurrency %i)',
    { tags: ['slow'] },
    async (concurrency) => {
      const { running, stop, release, source, state, sink, sandbox, options, fetched } = await stuckAt(5, {
        holdings: 600,
        concurrency,
      });
      stop.abort('enough');
      release();
      await expect(running).rejects.toBe('enough');
      const pages = fetched();
      expect(pages).toBe(5 + prefetch + concurrency - 1);
      expect(sink.calls.slice(-2)).toEqual(['flush', 'abort']);
      expect(sink.aborted).toMatchObject({ isResumable: true });
      const checkpoint = decodeCheckpoint(await state.load('checkpoint'));
      expect(checkpoint).toMatchObject({ pages, rows: sink.rows.length });

      const before = sandbox.counts.requests;
      const whole = recordingSink<Row>();
      await exportTo(source, whole, { concurrency }).run();
      const all = sandbox.counts.requests - before;
      const report = await exportTo(source, sink, options).run();
      expect(report).toMatchObject({ rows: whole.rows.length, resumedRows: checkpoint.rows });
      expect(sandbox.counts.requests - before - all).toBe(all - pages);
      if (concurrency === 1) expect(sink.rows).toEqual(whole.rows);
    },
  );

  test('E9 also through an operator on its pages', async () => {
    const { list, client } = await startHoldings({ holdings: 500 });
    const stop = new AbortController();
    let fetched = 0;
    client.events.subscribe(({ type }) => {
      if (type === 'page' && (fetched += 1) === 3) stop.abort('enough');
    });
    const sink = recordingSink<Row>();
    const names = list().pipePages(
      map((row) => ({ name: row['name'] })),
      { version: '1' },
    );
    const options = { state: memoryState(), commitEvery };
    await expect(exportTo(names, sink, options).run({ signal: stop.signal })).rejects.toBe('enough');
    expect(sink.rows).toHaveLength(300);
    expect(await exportTo(names, sink, options).run()).toMatchObject({ rows: 500, resumedRows: 300 });
  });

  test('T4 a sink that does not take the rows is cancelled after stopWithin, and without state at once', async () => {
    for (const options of [{ state: memoryState(), stopWithin: 1 }, { state: memoryState(), stopWithin: 0 }, {}]) {
      const { list } = await startHoldings({ holdings: 500 });
      const { sink, target, cancels } = sinkThatHangs();
      const stop = new AbortController();
      sink.beforeWrite = async () => {
        stop.abort('enough');
        await cancels();
      };
      await expect(exportTo(list(), target, options).run({ signal: stop.signal })).rejects.toBe('enough');
      expect(sink.calls).toEqual(['open', 'write', 'abort']);
      expect(sink.aborted).toMatchObject({ isResumable: false });
    }
  });

  test('E9 a commit that fails after the cancel leaves the last one as it is', async () => {
    const { list } = await startHoldings({ holdings: 500 });
    const memory = memoryState();
    let isFull = false;
    const state = {
      ...memory,
      save: (name: string, value: Parameters<typeof memory.save>[1]) =>
        isFull ? Promise.reject(new Error('disk full')) : memory.save(name, value),
    };
    const sink = recordingSink<Row>();
    const stop = new AbortController();
    sink.beforeWrite = () => {
      if (sink.rows.length < 300) return;
      isFull = true;
      stop.abort('enough');
    };
    await expect(exportTo(list(), sink, { state, commitEvery: 2 }).run({ signal: stop.signal })).rejects.toBe('enough');
    isFull = false;
    sink.beforeWrite = () => undefined;
    expect(await exportTo(list(), sink, { state }).run()).toMatchObject({ rows: 500, resumedRows: 200 });
    expect(sink.rows).toHaveLength(500);
  });

  test('T4 a source that does not know `drain` is not asked for more, nor waited for if it hangs', async () => {
    const stop = new AbortController();
    const source = {
      info: { name: 'slow', identity: null, partitions: 1 },
      async *pages(): AsyncGenerator<Page<number>> {
        const position = { before: 0, begun: {}, rows: 1, pages: 1 };
        yield { items: [1], position, index: 0, partition: 0, endsPartition: false };
        stop.abort('enough');
        yield await new Promise<never>(() => undefined);
      },
    };
    const sink = recordingSink<number>();
    const running = exportTo(source, sink, { state: memoryState(), stopWithin: 1 }).run({ signal: stop.signal });
    await expect(running).rejects.toBe('enough');
    expect(sink.rows).toEqual([1]);
    expect(sink.calls).toEqual(['open', 'write', 'flush', 'abort']);
  });

  test('T4 a source that drains and hangs has one time of stopWithin for both', async () => {
    const stop = new AbortController();
    const clock = new FakeClock();
    let hangs: () => void = () => undefined;
    const isHanging = new Promise<void>((resolve) => (hangs = resolve));
    const source = {
      info: { name: 'slow', identity: null, partitions: 1, isDrainable: true as const },
      async *pages(): AsyncGenerator<Page<number>> {
        const position = { before: 0, begun: {}, rows: 1, pages: 1 };
        yield { items: [1], position, index: 0, partition: 0, endsPartition: false };
        hangs();
        yield await new Promise<never>(() => undefined);
      },
    };
    const options = { state: memoryState(), clock, stopWithin: 500 };
    const running = exportTo(source, recordingSink<number>(), options).run({ signal: stop.signal });
    await isHanging;
    stop.abort('enough');
    await clock.asked(500);
    const time = clock.monotonic();
    const advanced = clock.advance(500);
    await expect(running).rejects.toBe('enough');
    await advanced;
    expect(clock.monotonic() - time).toBe(500);
  });

  test('with stopWithin: Infinity, an export waits until its source has ended', async () => {
    const stop = new AbortController();
    const ended: string[] = [];
    const source = {
      info: { name: 'slow', identity: null, partitions: 1 },
      async *pages(): AsyncGenerator<Page<number>> {
        const position = { before: 0, begun: {}, rows: 1, pages: 1 };
        yield { items: [1], position, index: 0, partition: 0, endsPartition: false };
        stop.abort('enough');
        for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
        ended.push('source');
      },
    };
    const options = { state: memoryState(), stopWithin: Infinity };
    const running = exportTo(source, recordingSink<number>(), options).run({ signal: stop.signal });
    await running.catch(() => ended.push('export'));
    expect(ended).toEqual(['source', 'export']);
  });

  test.each(['the first checkpoint', 'a commit'])(
    'an export that fails in %s ends after the read of a page that is under way',
    async (where) => {
      const failed = new AbortController();
      const ended: string[] = [];
      const source = {
        info: { name: 'slow', identity: null, partitions: 1 },
        async *pages(): AsyncGenerator<Page<number>> {
          const position = { before: 0, begun: {}, rows: 1, pages: 1 };
          const page = { items: [1], position, index: 0, partition: 0, endsPartition: false };
          if (where === 'a commit') yield page;
          await new Promise((resolve) => failed.signal.addEventListener('abort', resolve));
          // The file is closed some turns later.
          for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
          ended.push('read');
          yield page;
        },
      };
      const memory = memoryState();
      let saves = 0;
      const state = {
        ...memory,
        save: async (name: string, record: Parameters<typeof memory.save>[1]) => {
          if ((saves += 1) < (where === 'a commit' ? 2 : 1)) return memory.save(name, record);
          await new Promise(setImmediate);
          failed.abort();
          throw new Error('EIO');
        },
      };
      // The commit that is due in a second comes while the next page is read.
      const after = (ms: number, callback: () => void) => systemClock.after(ms > 1000 ? ms : 1, callback);
      await exportTo(source, recordingSink<number>(), { state, clock: { ...systemClock, after } })
        .run()
        .catch(() => ended.push('export'));
      expect(ended).toEqual(['read', 'export']);
    },
  );

  test('stopWithin is checked', async () => {
    const { list } = await startHoldings({ holdings: 5 });
    expect(() => exportTo(list(), recordingSink(), { stopWithin: -1 })).toThrow(ConfigError);
  });
});

/** A sink, and a promise that rejects when its context's signal aborts. */
function sinkThatHangs(): { sink: Recording<Row>; target: Sink<Row>; cancels: () => Promise<never> } {
  const sink = recordingSink<Row>();
  let signal: AbortSignal | undefined;
  const target = {
    ...sink,
    open: (context: SinkContext<Row>) => {
      ({ signal } = context);
      return sink.open(context);
    },
  };
  const cancels = (): Promise<never> =>
    new Promise((_, reject) => {
      if (signal?.aborted) reject(new Error('cancelled'));
      signal?.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  return { sink, target, cancels };
}

test('a walk that is drained emits what it has fetched, cancels what is open, and ends', async () => {
  const { list, sandbox } = await startHoldings({
    holdings: 1000,
    script: ({ n }) => (n === 4 ? { kind: 'never' } : undefined),
  });
  const drain = new AbortController();
  const walk = list().pages({ prefetch: 5, drain: drain.signal })[Symbol.asyncIterator]();
  await walk.next();
  await expect.poll(() => sandbox.counts.open).toBe(1);
  drain.abort();
  const rest: number[] = [];
  for await (const { index } of walk) rest.push(index);
  expect(rest).toEqual([1, 2]);
  await expect.poll(() => sandbox.counts.open).toBe(0);
  expect(sandbox.counts.requests).toBe(4);
  const late = list().pages({ drain: drain.signal })[Symbol.asyncIterator]();
  expect(await late.next()).toMatchObject({ done: true });
  expect(sandbox.counts.requests).toBe(4);
});
