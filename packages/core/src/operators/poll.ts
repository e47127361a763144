import { systemClock } from '../clock.js';
import type { SluiceError } from '../errors.js';
import { Flow } from '../source/flow.js';
import type { PageSource } from '../source/pageSource.js';
import { cancellable } from '../source/cancellable.js';
import { isTransient } from '../isTransient.js';
import { Ticks, type TickOptions } from './ticks.js';
import { walkOnce } from './walkOnce.js';

/** Options of {@link poll}. */
export interface PollOptions extends TickOptions {
  /**
   * Called when a walk failed with an error that may pass (see {@link isTransient}); `failures` counts those in a row. The flow goes on at
   * the next tick, or ends with what this throws. Any other error ends the flow. Default: every error ends the flow.
   */
  readonly onFailure?: (error: SluiceError, failures: number) => void;
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
 * Polls never overlap: a tick that comes while one is under way is skipped. Nothing is polled ahead of a consumer that pulls.
 *
 * A walk that fails ends the flow with its error, unless there is an `onFailure`. Don't put a bare `retry` behind it: that polls again at
 * once, and for ever where the key is wrong or the client is closed. `retry({ delay })` with {@link isTransient} does neither.
 *
 * @example
 * poll(client.streams.list(), { every: 30_000, onFailure: (error) => console.error(error.message) })
 *   .pipe(map(({ rows }) => rows.length))
 *   .subscribe({ next: console.log, error: console.error });
 *
 * @throws ConfigError if `every` or `jitter` makes no sense.
 */
export function poll<T>(source: PageSource<T>, options: PollOptions): Flow<Snapshot<T>> {
  const { clock = systemClock, random = Math.random, concurrency, onFailure } = options;
  const newTicks = (): Ticks => new Ticks(options, clock, random);
  // What makes no sense is refused here, and not by the first subscription.
  newTicks();
  return new Flow(() => {
    const ticks = newTicks();
    let failures = 0;
    return cancellable<readonly Snapshot<T>[]>(async (signal) => {
      for (;;) {
        await ticks.next(signal);
        const rows: T[] = [];
        try {
          await walkOnce(source, { concurrency, signal }, (row) => rows.push(row));
          failures = 0;
          return { done: false, value: [{ rows, observedAt: new Date(clock.now()).toISOString() }] };
        } catch (error) {
          if (signal.aborted || !onFailure || !isTransient(error)) throw error;
          onFailure(error, (failures += 1));
        }
      }
    });
  });
}
