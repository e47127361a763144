import { checkOptions } from '../../checks.js';
import { systemClock } from '../../clock.js';
import type { SluiceError } from '../../errors.js';
import { isTransient } from '../../isTransient.js';
import { Flow } from '../source/flow.js';
import { checkSource, fitSource, type PageSource } from '../source/pageSource.js';
import { cancellable } from '../source/cancellable.js';
import { tickOptionNames, Ticks, type TickOptions } from './ticks.js';
import { createStoredPages, withStoredPages } from './conditionalWalk.js';
import { walkOnce } from './walkOnce.js';

/** Options of {@link poll}. */
export interface PollOptions extends TickOptions {
  /**
   * Called when a walk failed with a transient error (see {@link isTransient}); `failures` counts consecutive failures.
   * The flow continues at the next tick, or fails with the error that this function throws. Any other error ends the
   * flow. Default: every error ends it.
   */
  readonly onFailure?: ((error: SluiceError, failures: number) => void) | undefined;
}

/** A complete listing, as one walk found it. */
export interface Snapshot<T> {
  readonly rows: readonly T[];
  /** When the walk ended, by the local clock: ISO 8601, UTC. */
  readonly observedAt: string;
  /** The API said that rows are missing, so a row that is not in the snapshot may still exist. */
  readonly isIncomplete?: true;
}

/**
 * Walks a source at a fixed rate and emits each complete walk as one snapshot. Polls never overlap: a tick during a
 * walk is skipped. With a consumer that pulls, each poll waits for its demand.
 *
 * Without `onFailure` a failed walk ends the flow. A bare `retry` would poll again at once, and forever if the key is
 * wrong: use `retry({ delay })` with {@link isTransient}.
 *
 * @example
 * poll(client.streams.list(), { every: 30_000, onFailure: (error) => console.error(error.message) })
 *   .pipe(map(({ rows }) => rows.length))
 *   .subscribe({ next: console.log, error: console.error });
 *
 * @throws ConfigError if `every`, `jitter` or `conditional` is invalid. Later: the error of a walk, and a NetworkError
 * as soon as the client is closed.
 */
export function poll<T>(source: PageSource<T>, options: PollOptions): Flow<Snapshot<T>> {
  checkSource('poll()', source);
  checkOptions('poll()', options, { ...tickOptionNames, onFailure: true });
  const { clock = systemClock, concurrency, onFailure, conditional = false } = options;
  const newTicks = (): Ticks => new Ticks(options, source.info.endpoint?.closed);
  // Rejects invalid options now, not at the first subscription.
  newTicks();
  createStoredPages(conditional);
  return new Flow(() => {
    const ticks = newTicks();
    const fitted = fitSource(source, concurrency);
    const cache = createStoredPages(conditional);
    let failures = 0;
    return cancellable<readonly Snapshot<T>[]>(async (signal) => {
      for (;;) {
        await ticks.next(signal);
        try {
          const { rows, isIncomplete } = await withStoredPages(cache, signal, async () => {
            const walked: T[] = [];
            const walk = await walkOnce(fitted.source, { concurrency, signal, cache }, (row) => walked.push(row) === 0);
            return { ...walk, rows: walked };
          });
          failures = 0;
          const observedAt = new Date(clock.now()).toISOString();
          return { done: false, value: [{ rows, observedAt, ...(isIncomplete && { isIncomplete }) }] };
        } catch (error) {
          if (signal.aborted || !onFailure || !isTransient(error)) throw error;
          onFailure(error, (failures += 1));
        }
      }
    });
  });
}
