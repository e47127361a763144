import {
  exportTo,
  systemClock,
  type Change,
  type Client,
  type ExportProgress,
  type ExportReport,
  type PageHealth,
  type PageSource,
  type StateStore,
  type WatchOptions,
} from '@sluice/core';
import { ReplaySubject } from 'rxjs';
import type { Environment } from '../environment.js';
import { endEarly } from '../export/endEarly.js';
import { warningsOf } from '../export/warningsOf.js';
import { inCommandLineWords } from '../faults/inCommandLineWords.js';
import type { WatchProgressMode } from '../options/watchProgressMode.js';
import { visibleText } from '../terminal/visibleText.js';
import { changeFile, type ChangeTarget } from './changeSink.js';
import type { RowLook } from './rowLook.js';
import { watchAftermath } from './watchAftermath.js';
import { openWatchReporter, type WatchCounts } from './watchReporter.js';
import type { WatchState, WatchStateOptions } from './watchState.js';

/** Options of every command that watches. */
export interface WatchChangesOptions extends WatchStateOptions {
  /** Ms from one poll to the next. Default 30 s. */
  readonly every?: number;
  readonly jitter?: number;
  readonly polls?: number;
  readonly acceptRemovals?: boolean;
  readonly sameProject?: boolean;
  readonly maxFailures?: number;
  /** How polls are told of on stderr. Default: lines. */
  readonly progress?: WatchProgressMode;
  /** Nothing but faults. */
  readonly quiet?: boolean;
}

/** What a watch of the library is told by the command line. */
export type Watching = Pick<
  WatchOptions<object>,
  'every' | 'jitter' | 'polls' | 'acceptRemovals' | 'sameProject' | 'maxFailures' | 'state' | 'onHealth'
>;

/** What is watched, and where its changes go. */
export interface ChangeWatch<T> {
  readonly client: Client;
  /** Called once the client is watched, so that its warnings are seen. */
  readonly source: (watching: Watching) => PageSource<Change<T>>;
  readonly look: RowLook<T>;
  readonly target: ChangeTarget<T>;
  readonly state: WatchState | undefined;
}

const defaultEvery = 30_000;
/** Warnings that are kept back until the watch has begun. */
const mostKeptBack = 100;

/**
 * Watches until the polls are through, or the environment's signal aborts. stdout gets each change at least once; a file, with its state,
 * each one once.
 *
 * @throws what the watch raises, or the Interruption if a signal stopped it, as an UnfinishedExport where something is to be said of what
 * is known; ToldFault, if it was told as an event.
 */
export async function watchChanges<T extends object>(
  { client, source: watch, look, target, state }: ChangeWatch<T>,
  options: WatchChangesOptions,
  environment: Environment,
): Promise<void> {
  const { stderr, signal, secrets } = environment;
  const { every = defaultEvery, maxFailures } = options;
  const warnings = warningsOf(client);
  const stateWarnings = new ReplaySubject<string>(mostKeptBack);
  const store = state?.open((message) => {
    stateWarnings.next(visibleText(inCommandLineWords(message)));
  });
  let last: PageHealth | undefined;
  let polls = 0;
  let hasEnded = false;
  let latest: ExportProgress | ExportReport | undefined;
  const source = watch(
    watchingOf({ ...options, every }, store, (health) => {
      // A poll under way may still come to its end after the watch was stopped.
      if (hasEnded) return;
      // Not before: what they say of the state means nothing for a watch that is refused.
      if (!last) stateWarnings.subscribe(reporter.warn);
      last = health;
      if (health.outcome !== 'replayed') polls += 1;
      reporter.health(health);
    }),
  );
  const isFile = changeFile(options) !== undefined;
  const flow = exportTo(source, target.sink, {
    restart: options.restart ?? false,
    sameProject: options.sameProject ?? false,
    // What goes to stdout can't be taken back, so there is no place in it to remember.
    ...(isFile && store && { state: store }),
  });
  const read = (): WatchCounts => ({ changes: (latest?.rows ?? 0) - (latest?.resumedRows ?? 0), polls });
  const reporter = openWatchReporter(options.quiet ? 'silent' : (options.progress ?? 'plain'), {
    ...{ output: stderr, clock: systemClock, secrets, read },
    watched: { noun: look.noun, every },
    begun: { source: source.info.name, target: target.name, format: target.format },
  });
  warnings.subscribe(reporter.warn);
  try {
    latest = await flow.run({
      signal,
      onProgress: (progress) => {
        latest = progress;
      },
    });
    reporter.done(read());
  } catch (fault) {
    hasEnded = true;
    const { failures = 0, generation = 0 } = last ?? {};
    const aftermath = watchAftermath({
      ...{ fault, failures, maxFailures, state: state?.name },
      isKnown: generation > 0,
      isRestart: options.restart ?? false,
    });
    return endEarly({ fault, aftermath }, reporter, environment);
  }
}

function watchingOf(
  { every, jitter, polls, acceptRemovals, sameProject, maxFailures }: WatchChangesOptions & { readonly every: number },
  state: StateStore | undefined,
  onHealth: (health: PageHealth) => void,
): Watching {
  return {
    ...{ every, onHealth },
    ...(jitter !== undefined && { jitter }),
    ...(polls !== undefined && { polls }),
    ...(acceptRemovals !== undefined && { acceptRemovals }),
    ...(sameProject !== undefined && { sameProject }),
    ...(maxFailures !== undefined && { maxFailures }),
    ...(state && { state }),
  };
}
