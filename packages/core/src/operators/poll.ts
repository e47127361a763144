import { systemClock, type Clock } from '../clock.js';
import { Flow } from '../source/flow.js';
import type { PageSource } from '../source/pageSource.js';
import { stoppable } from '../source/stoppable.js';
import { Ticks, type TickOptions } from './ticks.js';
import { walkOnce } from './walkOnce.js';

/** Options of {@link poll}. */
export interface PollOptions extends TickOptions {
  /** Parts of the source's plan walked at once. Default 1. */
  readonly lanes?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
}

/** A whole listing, as one walk found it. */
export interface Snapshot<T> {
  readonly rows: readonly T[];
  /** When the walk ended, by our clock: ISO 8601, UTC. */
  readonly observedAt: string;
}

/**
 * Walks a source again and again, and gives each complete walk as one snapshot.
 *
 * Polls never overlap: a tick that comes while one is under way is skipped. A walk that fails ends the flow with its error: put
 * `retry({ delay: every })` behind it, or use {@link watch}, which goes on. Without a delay `retry` would poll again at once, and hammer an
 * API that is down. Nothing is polled ahead of a consumer that pulls.
 *
 * @example
 * poll(client.streams.list(), { every: 30_000 }).pipe(map(({ rows }) => rows.length)).subscribe(console.log);
 *
 * @throws ConfigError if `every` or `jitter` makes no sense.
 */
export function poll<T>(source: PageSource<T>, options: PollOptions): Flow<Snapshot<T>> {
  const { clock = systemClock, random = Math.random, lanes } = options;
  const newTicks = (): Ticks => new Ticks(options, clock, random);
  // What makes no sense is refused here, and not by the first subscription.
  newTicks();
  return new Flow(() => {
    const ticks = newTicks();
    return stoppable<readonly Snapshot<T>[]>(async (signal) => {
      await ticks.next(signal);
      const rows: T[] = [];
      await walkOnce(source, { lanes, signal }, (row) => rows.push(row));
      return { done: false, value: [{ rows, observedAt: new Date(clock.now()).toISOString() }] };
    });
  });
}
