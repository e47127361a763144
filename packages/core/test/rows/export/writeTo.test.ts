import { concat, EMPTY, interval, lastValueFrom, NEVER, of, range, tap, throwError, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { BackpressureError, ConfigError, writeTo } from '../../../src/index.js';
import { recordingSink } from '../sink/recordingSink.js';

describe('writeTo', () => {
  test('writes what any Observable emits, and reports at the end', async () => {
    const sink = recordingSink<number>();
    const progress = await lastValueFrom(range(0, 1000).pipe(writeTo(sink), toArray()));
    expect(sink.rows).toEqual(Array.from({ length: 1000 }, (_, row) => row));
    expect(sink.isClosed).toBe(true);
    expect(progress.at(-1)).toMatchObject({ isDone: true, rows: 1000, target: 'memory' });
  });

  test('tells the sink the columns and the name, where there are some', async () => {
    const schemas: unknown[] = [];
    const sink = recordingSink<number>();
    const watched: typeof sink = {
      ...sink,
      open: (context) => {
        schemas.push(context.schema ?? 'none', context.source);
        return sink.open(context);
      },
    };
    const schema = { columns: ['number'] };
    await lastValueFrom(of(1).pipe(writeTo(watched, { schema, name: 'prices' })));
    await lastValueFrom(of(1).pipe(writeTo(watched)));
    expect(schemas).toEqual([schema, 'prices', 'none', 'observable']);
  });

  test('writes an empty target where nothing comes', async () => {
    const sink = recordingSink<number>();
    expect(await lastValueFrom(EMPTY.pipe(writeTo(sink)))).toMatchObject({ isDone: true, rows: 0 });
    expect(sink.calls).toEqual(['open', 'seal', 'close']);
  });

  test('a source that is faster than its sink ends in an error, not in a full memory', async () => {
    const sink = recordingSink<number>();
    sink.beforeWrite = () => new Promise(() => undefined);
    await expect(lastValueFrom(range(0, 1000).pipe(writeTo(sink, { buffer: 100 })))).rejects.toThrow(BackpressureError);
  });

  test('such a source is stopped there, even one that emits while it is subscribed to', async () => {
    let pushed = 0;
    const pushing = range(0, 1000).pipe(tap(() => (pushed += 1)));
    const ended = lastValueFrom(pushing.pipe(writeTo(recordingSink<number>(), { buffer: 100 })));
    await expect(ended).rejects.toThrow(BackpressureError);
    expect(pushed).toBe(101);
  });

  test('or loses rows where that is allowed: the newest ones, or the oldest ones', async () => {
    const newest = recordingSink<number>();
    const oldest = recordingSink<number>();
    // All rows come before the sink is open, so only the buffer decides.
    await lastValueFrom(range(0, 1000).pipe(writeTo(newest, { buffer: 3, overflow: 'drop-newest' })));
    await lastValueFrom(range(0, 1000).pipe(writeTo(oldest, { buffer: 3, overflow: 'drop-oldest' })));
    expect(newest.rows).toEqual([0, 1, 2]);
    expect(oldest.rows).toEqual([997, 998, 999]);
  });

  test('an error of the source reaches the subscriber, and the target is given up', async () => {
    const sink = recordingSink<number>();
    const broken = new Error('broken');
    await expect(
      lastValueFrom(
        concat(
          of(1, 2),
          throwError(() => broken),
        ).pipe(writeTo(sink)),
      ),
    ).rejects.toBe(broken);
    expect(sink.aborted).toEqual({ reason: broken, isResumable: false });
    expect(sink.isClosed).toBe(false);
  });

  test('an error of the sink unsubscribes from the source', async () => {
    const sink = recordingSink<number>();
    sink.beforeWrite = () => {
      throw new Error('disk full');
    };
    await expect(lastValueFrom(interval(1).pipe(writeTo(sink)))).rejects.toThrow('disk full');
  });

  test('unsubscribing gives the target up', async () => {
    const sink = recordingSink<number>();
    const subscription = concat(of(1), NEVER).pipe(writeTo(sink)).subscribe();
    await expect.poll(() => sink.rows).toEqual([1]);
    subscription.unsubscribe();
    await expect.poll(() => sink.aborted).toEqual({ reason: undefined, isResumable: false });
  });

  test('refuses a buffer that holds nothing', () => {
    expect(() => writeTo(recordingSink<number>(), { buffer: 0 })).toThrow(ConfigError);
  });
});
