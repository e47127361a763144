import { describe, expect, test } from 'vitest';
import { ConfigError, exportTo, NetworkError, SluiceError, type ClientEvent } from '../../src/index.js';
import { targetRetries, type Outage, type TargetRetryOptions } from '../../src/kit.js';
import { FakeClock } from '../fakeClock.js';
import { startHoldings, type Row } from '../sandboxSource.js';
import { recordingSink } from '../rows/sink/recordingSink.js';

const refused = (): NetworkError => new NetworkError('The target did not respond.', { fault: 'endpoint' });
const findOutage = (error: unknown) =>
  SluiceError.is(error, 'network') ? { cause: 'connection refused', error } : undefined;

/** Attempts of which the first ones fail, each after `took` ms. */
function retried(failures: readonly unknown[], options: TargetRetryOptions['retry'], took = 0) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const outages: (Pick<Outage, 'cause' | 'for' | 'left'> | undefined)[] = [];
  const retry = targetRetries({ retry: options, clock, random: () => 0.5 });
  const attempted: number[] = [];
  const outcome = retry(
    async (nth) => {
      attempted.push(nth);
      if (took > 0) await new Promise<void>((resolve) => clock.after(took, resolve));
      if (failures[nth - 1] !== undefined) throw failures[nth - 1];
      return 'taken';
    },
    {
      signal: stop.signal,
      findOutage,
      onOutage: (outage) => outages.push(outage && { cause: outage.cause, for: outage.for, left: outage.left }),
    },
  ).catch((error: unknown) => error);
  return { clock, stop, outages, attempted, outcome };
}

describe('T9 an attempt of a sink', () => {
  test('is repeated while its target is away, which is reported with its cause, and when it is over', async () => {
    const { clock, outages, attempted, outcome } = retried([refused(), refused()], { for: Infinity }, 100);
    await clock.advance(10_000);
    expect(await outcome).toBe('taken');
    expect(attempted).toEqual([1, 2, 3]);
    // Half of 250 ms lie between the attempts.
    expect(outages).toEqual([
      { cause: 'connection refused', for: 100, left: Infinity },
      { cause: 'connection refused', for: 325, left: Infinity },
      undefined,
    ]);
    expect(clock.pending).toEqual([]);
  });

  test.each([
    [{ for: 0 }, 1, undefined],
    [{ for: 1_000 }, 5, 'It was tried 5 times within 1 s.'],
    [{ retries: 1 }, 2, 'It was tried 2 times.'],
  ])('fails with the error of the last attempt after %o', async (options, times, said) => {
    const { clock, outages, attempted, outcome } = retried(new Array(99).fill(refused()), options);
    await clock.advance(100_000);
    const error = await outcome;
    expect(error).toMatchObject({ code: 'network', message: expect.stringContaining(said ?? 'The target did not') });
    expect(attempted).toHaveLength(times);
    expect(outages).toHaveLength(times);
  });

  test('fails at once with what waiting does not mend, and at a cancel', async () => {
    const { clock, outages, attempted, outcome } = retried([refused(), new TypeError('x')], {});
    await clock.advance(1_000);
    expect([await outcome, attempted, outages.length]).toEqual([new TypeError('x'), [1, 2], 1]);
    const cancelled = retried([refused()], { baseDelay: 60_000, maxDelay: 60_000 });
    await cancelled.clock.asked(30_000);
    cancelled.stop.abort('enough');
    expect([await cancelled.outcome, cancelled.attempted, cancelled.clock.pending]).toEqual(['enough', [1], []]);
  });

  test('is repeated every five seconds at most, unless another pause is given', async () => {
    const { clock, attempted } = retried(new Array(999).fill(refused()), { for: Infinity });
    await clock.advance(60_000);
    const before = attempted.length;
    await clock.advance(25_000);
    expect(attempted.length - before).toBe(10);
    expect(() => targetRetries({ retry: { for: -1 } })).toThrow(ConfigError);
  });
});

test('T9 a sink of anybody tells the observers of its client about an outage', async () => {
  const { list, client } = await startHoldings({ holdings: 4 });
  const events: ClientEvent[] = [];
  client.eventsOf('outage').subscribe((event) => events.push(event));
  const retry = targetRetries({ retry: { baseDelay: 1 } });
  let attempts = 0;
  const recording = recordingSink<Row>();
  const sink = {
    ...recording,
    open: async (context: Parameters<typeof recording.open>[0]) => {
      const attempt = async () => {
        if ((attempts += 1) === 1) throw refused();
        return recording.open(context);
      };
      return retry(attempt, { signal: context.signal, onOutage: context.onOutage, findOutage });
    },
  };
  await exportTo(list(), sink).run();
  expect(recording.rows).toHaveLength(4);
  const from = { type: 'outage', source: list().info.name, sink: 'recording' };
  expect(events).toEqual([
    {
      ...from,
      cause: 'connection refused',
      for: expect.any(Number),
      left: 60_000,
      error: expect.objectContaining({ code: 'network' }),
    },
    from,
  ]);
});
