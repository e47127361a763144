import { concat, lastValueFrom, NEVER, of, throwError } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  exportTo,
  type ExportOptions,
  type Json,
  memoryState,
  type Sink,
  type StateStore,
  writeTo,
} from '../../../src/index.js';
import type { SinkWriter } from '../../../src/kit.js';
import { FakeClock } from '../../fakeClock.js';
import { startHoldings, type Row } from '../../sandboxSource.js';
import { recordingSink, type Recording } from './recordingSink.js';

const never = (): Promise<never> => new Promise(() => undefined);
const calls = ['open', 'write', 'flush', 'seal', 'close', 'abort'] as const;
type Call = (typeof calls)[number];
const longest = 30_000;

/** The sink, of which one call does something else. */
function changed<T>(sink: Recording<T>, call: Call, instead: () => unknown): Sink<T> {
  if (call === 'open') return { ...sink, open: async () => (await instead()) as SinkWriter<T> };
  return { ...sink, open: async (context) => ({ ...(await sink.open(context)), [call]: instead }) };
}

/** A cancelled export of which a call hangs, when its time is over. */
async function hung(call: Call, options: ExportOptions) {
  const { list } = await startHoldings({ holdings: 250 });
  const clock = new FakeClock();
  const stop = new AbortController();
  const sink = recordingSink<Row>();
  const hang = (): Promise<never> => {
    stop.abort('enough');
    return never();
  };
  if (call === 'abort') sink.beforeWrite = () => stop.abort('enough');
  const all = { ...options, clock, commitEvery: 1, stopWithin: 0 };
  const outcome = exportTo(list(), changed(sink, call, hang), all)
    .run({ signal: stop.signal })
    .catch((error: unknown) => error);
  await clock.asked(longest);
  await clock.advance(longest);
  return { error: await outcome, clock, sink, list };
}

describe('T4 a call of a sink that never settles', () => {
  test.each(calls)('(%s) ends a cancelled export, is named, and the next one resumes', async (call) => {
    const state = memoryState();
    const { error, clock, sink, list } = await hung(call, { state });
    expect(error).toMatchObject({
      name: 'SinkError',
      details: { hangsIn: call },
      message: `The sink recording hangs in ${call}: it did not end within 30 s after the cancel, and may still be at work.`,
    });
    expect(clock.pending).toEqual([]);
    // The calls of a sink never overlap.
    expect(sink.calls).not.toContain('abort');
    sink.beforeWrite = () => undefined;
    expect(await exportTo(list(), sink, { state }).run()).toMatchObject({ rows: 250 });
    expect(sink.rows).toHaveLength(250);
  });

  test.each(calls.filter((call) => call !== 'flush'))('(%s) also without state', async (call) => {
    expect((await hung(call, {})).error).toMatchObject({ details: { hangsIn: call } });
  });

  test('(abort) ends an export whose iterator is closed, and does not hide why another one failed', async () => {
    const { list } = await startHoldings({ holdings: 250 });
    const clock = new FakeClock();
    const sink = recordingSink<Row>();
    const steps = exportTo(list(), changed(sink, 'abort', never), { clock })[Symbol.asyncIterator]();
    await steps.next();
    const returned = expect(steps.return()).rejects.toMatchObject({ details: { hangsIn: 'abort' } });
    await clock.asked(longest);
    await clock.advance(longest);
    await returned;

    const full = new Error('disk full');
    sink.beforeWrite = () => {
      throw full;
    };
    const failed = expect(exportTo(list(), changed(sink, 'abort', never), { clock }).run()).rejects.toMatchObject({
      cause: full,
      message:
        'The sink recording failed in write: disk full. The sink recording hangs in abort: it did not end within 30 s after the cancel, and may still be at work. See its cause.',
    });
    await clock.asked(longest);
    await clock.advance(longest);
    await failed;
  });

  test('may take as long as it likes where nothing is cancelled', async () => {
    const { list } = await startHoldings({ holdings: 50 });
    const clock = new FakeClock();
    const sink = recordingSink<Row>();
    sink.beforeWrite = () => clock.advance(100 * longest);
    expect(await exportTo(list(), sink, { clock }).run()).toMatchObject({ rows: 50 });
  });

  test('a target that opens too late is given up', async () => {
    const { list } = await startHoldings({ holdings: 50 });
    const clock = new FakeClock();
    const stop = new AbortController();
    const sink = recordingSink<Row>();
    let open = (): void => undefined;
    const slow: Sink<Row> = {
      ...sink,
      open: async (context) => {
        stop.abort('enough');
        await new Promise<void>((resolve) => (open = resolve));
        return sink.open(context);
      },
    };
    const running = expect(exportTo(list(), slow, { clock }).run({ signal: stop.signal })).rejects.toMatchObject({
      details: { hangsIn: 'open' },
    });
    await clock.asked(longest);
    await clock.advance(longest);
    await running;
    open();
    await expect.poll(() => sink.aborted).toEqual({ reason: undefined, isResumable: false });
  });

  test.each(['open', 'write', 'abort'] as const)('(%s) ends writeTo', async (call) => {
    const clock = new FakeClock();
    const broken = new Error('broken');
    const sink = recordingSink<number>();
    const rows = concat(
      of(1),
      throwError(() => broken),
    );
    const failed = expect(lastValueFrom(rows.pipe(writeTo(changed(sink, call, never), { clock })))).rejects.toBe(
      broken,
    );
    if (call !== 'write') {
      await clock.asked(longest);
      await clock.advance(longest);
    }
    await failed;

    let isCalled = false;
    const hang = (): Promise<never> => {
      isCalled = true;
      return never();
    };
    const unsubscribed = concat(of(1), NEVER)
      .pipe(writeTo(changed(sink, call, hang), { clock }))
      .subscribe();
    if (call !== 'abort') await expect.poll(() => isCalled).toBe(true);
    unsubscribed.unsubscribe();
    await clock.asked(longest);
    await clock.advance(longest);
    expect(clock.pending).toEqual([]);
  });

  test.each(['lock', 'load', 'save', 'remove'] as const)('of a state store (%s) ends it, too', async (call) => {
    const { list } = await startHoldings({ holdings: 50 });
    const clock = new FakeClock();
    const stop = new AbortController();
    const state = memoryState();
    let answer: (value: never) => void = () => undefined;
    const hang = (): Promise<never> => {
      queueMicrotask(() => stop.abort('enough'));
      return new Promise((resolve) => (answer = resolve));
    };
    const options = { state: { ...state, [call]: hang } satisfies StateStore, clock, stopWithin: 0 };
    const running = exportTo(list(), recordingSink<Row>(), options).run({ signal: stop.signal });
    const failed = expect(running).rejects.toMatchObject({ code: 'plugin', details: { hangsIn: call } });
    await clock.asked(longest);
    await clock.advance(longest);
    await failed;
    await (
      await state.lock(new AbortController().signal)
    )();
    if (call !== 'lock') return;
    // A lock that is granted too late is released.
    let isReleased = false;
    answer((() => void (isReleased = true)) as never);
    await expect.poll(() => isReleased).toBe(true);
  });
});

const unprintable = Object.defineProperty(new Error(), 'message', {
  get: () => {
    throw new Error('no message');
  },
});

describe('T4 an error of a sink of somebody else', () => {
  test.each([
    ['an error', new Error('boom.'), 'boom.'],
    ['null', null, 'null.'],
    ['undefined', undefined, 'undefined.'],
    ['a text', 'no room', 'no room.'],
    ['an error without a text', unprintable, 'Something that has no text.'],
    ['an object without a prototype', Object.create(null), 'Something that has no text.'],
  ])('names it and the call (%s)', async (_what, reason, said) => {
    const { list } = await startHoldings({ holdings: 50 });
    for (const call of calls.filter((each) => each !== 'abort')) {
      const throws = (): never => {
        throw reason;
      };
      for (const instead of [throws, () => Promise.reject(reason as Error)]) {
        const sink = changed(recordingSink<unknown>(), call, instead);
        const named = {
          code: 'sink',
          summary: `The sink recording failed in ${call}: ${said}`,
          ...(reason !== undefined && { cause: reason }),
        };
        const options = { state: memoryState(), commitEvery: 1 };
        await expect(exportTo(list(), sink, options).run()).rejects.toMatchObject(named);
        if (call !== 'flush') await expect(lastValueFrom(of(1).pipe(writeTo(sink)))).rejects.toMatchObject(named);
      }
    }
  });

  test.each([
    ['null', null, 'write, flush, seal, close, abort'],
    ['nothing', undefined, 'write, flush, seal, close, abort'],
    ['an object', { write: never, flush: never, seal: 1, close: never, abort: () => Promise.resolve() }, 'seal'],
    ['a function', () => undefined, 'write, flush, seal, close, abort'],
  ])('says which methods are missing if it opens as %s', async (_what, writer, missing) => {
    const { list } = await startHoldings({ holdings: 50 });
    const sink = changed(recordingSink<unknown>(), 'open', () => writer);
    const message = `The sink recording lacks ${missing}: what its open returns must have these methods.`;
    await expect(exportTo(list(), sink).run()).rejects.toMatchObject({ code: 'plugin', message });
    await expect(lastValueFrom(of(1).pipe(writeTo(sink)))).rejects.toMatchObject({ code: 'plugin', message });
  });

  test.each(['load', 'save', 'remove'] as const)('names a state store that lacks %s', async (method) => {
    const { list } = await startHoldings({ holdings: 50 });
    const state: StateStore = { ...memoryState(), [method]: undefined };
    await expect(exportTo(list(), recordingSink<Row>(), { state }).run()).rejects.toMatchObject({
      code: 'plugin',
      message: expect.stringContaining(`The state store failed in ${method}: store.${method} is not a function`),
    });
  });

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['NaN', NaN],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a date', { at: new Date(0) }],
    ['a map', [new Map()]],
    ['an endless list', endlessList()],
  ])('is raised for a position that no run could resume at (%s)', async (_what, position) => {
    const { list } = await startHoldings({ holdings: 150 });
    for (const call of ['flush', 'seal'] as const) {
      const state = memoryState();
      const target = recordingSink<Row>();
      const sink = changed(target, call, () => Promise.resolve(position as Json));
      await expect(exportTo(list(), sink, { state, commitEvery: 1 }).run()).rejects.toMatchObject({
        code: 'plugin',
        message: expect.stringContaining(`a position from ${call} that is not plain JSON`),
      });
      expect(await exportTo(list(), target, { state }).run()).toMatchObject({ rows: 150 });
      expect(target.rows).toHaveLength(150);
    }
  });
});

function endlessList(): unknown[] {
  const list: unknown[] = [];
  list.push(list);
  return list;
}
