import { type Clock, systemClock } from '../../clock.js';
import { checkCount, checkNumbers, checkOptions } from '../../checks.js';
import { reportOf } from '../../errorReport.js';
import { redactThrown } from '../../redactError.js';
import { ConfigError } from '../../errors.js';
import { type Identifiers, newId } from '../../identifiers.js';
import type { BootClock } from '../../timeline.js';
import { createStoredPages } from '../operators/conditionalWalk.js';
import { tickOptionNames, Ticks, type TickOptions } from '../operators/ticks.js';
import { reportState } from '../export/reports.js';
import type { StateStore } from '../sink/stateStore.js';
import type { Json, RowSchema } from '../source/definition.js';
import { hashOf } from '../source/fingerprint.js';
import type { Page, PageHealth } from '../source/page.js';
import { checkSource, fitSource, type PageSource } from '../source/pageSource.js';
import { Source } from '../source/source.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import { notify } from '../source/sourceEvent.js';
import { cancellable, type PullIterator } from '../source/cancellable.js';
import type { WalkStart } from '../source/pagesOptions.js';
import { changeColumns, eventOfChange, type Change } from './change.js';
import type { Due } from './due.js';
import { checkRules, type Rule } from './rule.js';
import { changeEvents } from './changeEvents.js';
import { isWithin } from './fieldPath.js';
import { comparisonOptionNames, fieldsBetween, type ComparisonOptions } from './comparisonOptions.js';
import { decodePosition, WatchRun, type WatchEvent, type WatchSettings } from './watchRun.js';

/** Options of {@link watch}. */
export interface WatchOptions<T> extends TickOptions, ComparisonOptions<T>, Pick<Identifiers, 'newId'> {
  /**
   * Where the accepted snapshot is stored, so that the next run resumes from it and misses no change. Default: memory,
   * so each start emits `initial` changes. An export of the changes may use the same state. Only one watch may use it
   * at a time: a second watch gets a LockError. If an operator makes the rows, it needs a `version`.
   */
  readonly state?: StateStore | undefined;
  /** Consecutive complete walks that must lack a row before it counts as removed. Default 2. 1 trusts each walk. */
  readonly confirmations?: number | undefined;
  /**
   * A listing that lost more than this share of its rows, or all rows, or has fewer rows than its own `total`, is
   * suspicious: its removals are held until three walks over twice `every` agree. Default 0.5.
   */
  readonly holdAbove?: number | undefined;
  /** Emits confirmed removals at once, however many. Default `false`. */
  readonly acceptRemovals?: boolean | undefined;
  /** Resumes a state that was made with another API key of the same project. Default `false`. */
  readonly sameProject?: boolean | undefined;
  /** Consecutive failed polls to tolerate, counted per run (under cron, each run starts at 0). Default `Infinity`. */
  readonly maxFailures?: number | undefined;
  /**
   * `for`: ms of failing polls before the watch ends with the last error. Default `Infinity`. The client's own
   * `retry.for` limits each request.
   */
  readonly retry?: { readonly for?: number | undefined } | undefined;
  /** Ends after this many polls, failed ones included. Default `Infinity`. */
  readonly polls?: number | undefined;
  /** Called with the outcome of each poll. What it throws is ignored. */
  readonly onHealth?: ((health: PageHealth) => void) | undefined;
  /**
   * What must not stay so for too long, by name. The watch emits `due` when a rule has held for a row for its time, and
   * `resolved` when it no longer does, or the rule is gone: see {@link Due}. `{}` resolves what earlier rules found.
   * Default: no rules; those of an earlier run rest.
   */
  readonly rules?: Readonly<Record<string, Rule<T>>> | undefined;
  /**
   * For rules: the time since this machine booted, so that no step of its clock between two runs changes a duration, e.g.
   * `machineBootClock()` of `@sluice/core/node`. Default: between two runs the wall clock counts, never backwards.
   */
  readonly boot?: BootClock | undefined;
}

/**
 * Watches a listing: emits every difference between two accepted snapshots, once, and no false ones. Each poll is a
 * page of this source; a poll with more than 10,000 changes has several pages.
 *
 * A row counts as removed only when complete walks agree; failed walks are ignored. With durable state, a poll's
 * changes are on disk before the first is emitted. The watch emits them again with the same ids, whatever happens,
 * until the consumer requests more or an export commits them.
 *
 * A watch does not see a change that is reverted between two polls. It compares the emitted rows with the next poll, so
 * consumers must not modify them. It stores rows as JSON: a row without a JSON form fails the poll.
 *
 * @example
 * watch(client.streams.list(), { every: 30_000, state: fileState('watch') })
 *   .subscribe(({ type, key, fields }) => console.log(type, key, fields));
 *
 * @example
 * const rules = { dying: streamRules.dying() };
 * watch(client.streams.list(), { every: 30_000, state: fileState('watch'), rules })
 *   .subscribe((event) => console.log(event.type === 'due' ? `${event.rule}: ${event.key}` : event.type));
 *
 * @throws ConfigError if an option is invalid, or rows have no key. Later: the first poll's error, unless it is
 * temporary (see {@link isTransient}), e.g. a refused request, an untrusted certificate, a row without a key;
 * CheckpointError if the state is damaged or of another watch; LockError if it is in use; NetworkError as soon as the
 * client is closed; an error that does not come from the API, e.g. a TypeError of `key`; and the last error after
 * `maxFailures` or `retry.for`.
 */
export function watch<T>(
  source: PageSource<T>,
  options: WatchOptions<T> & { readonly rules?: undefined },
): Source<Change<T>>;
export function watch<T>(source: PageSource<T>, options: WatchOptions<T>): Source<Change<T> | Due<T>>;
export function watch<T>(source: PageSource<T>, options: WatchOptions<T>): Source<WatchEvent<T>> {
  checkSource('watch()', source);
  checkOptions('watch()', options, {
    ...tickOptionNames,
    ...comparisonOptionNames,
    newId: true,
    state: 'an object?',
    confirmations: true,
    holdAbove: true,
    acceptRemovals: true,
    sameProject: true,
    maxFailures: true,
    retry: true,
    polls: true,
    onHealth: true,
    rules: 'an object?',
    boot: 'an object?',
  });
  const { rules, boot } = options;
  if (rules) checkRules(rules);
  if (options.retry !== undefined) checkOptions('retry of watch()', options.retry, { for: true });
  const { info } = source;
  const { clock = systemClock, concurrency = 1, every, state } = options;
  const { polls = Infinity, maxFailures = Infinity, retry = {} } = options;
  const { confirmations = 2, holdAbove = 0.5, acceptRemovals = false } = options;
  const { conditional = !info.hasOperator } = options;
  checkCount('confirmations', confirmations);
  checkCount('concurrency', concurrency);
  if (polls !== Infinity) checkCount('polls', polls);
  if (maxFailures !== Infinity) checkCount('maxFailures', maxFailures, { min: 0 });
  checkNumbers('retry', { for: retry.for ?? Infinity }, (ms) => ms >= 0, 'of at least 0');
  if (!(holdAbove >= 0 && holdAbove <= 1))
    throw new ConfigError(`holdAbove is ${holdAbove}: it must be a share from 0 to 1.`, { option: 'holdAbove' });
  // Validates the options now instead of at the first subscription.
  const newTicks = (): Ticks => new Ticks(options, info.endpoint?.closed);
  newTicks();
  createStoredPages(conditional);
  const { schema } = info;
  const key = options.key ?? (schema?.key && ((row: T) => schema.key?.(row)));
  if (!key) throw new ConfigError(`The rows of ${info.name} have no key: give watch a key.`, { option: 'key' });
  if (state && info.isUnversioned)
    throw new ConfigError(
      "The state can't tell whether the operator given to pipePages is still the same: name it with pipePages(operator, { version }).",
      { option: 'state' },
    );
  const watched = changeInfo(info, options);
  const settings: WatchSettings<T> = {
    key,
    concurrency,
    clock,
    every,
    newTicks,
    polls,
    maxFailures,
    state: state && reportState(state, watched, clock),
    conditional,
    onHealth: options.onHealth,
    newId: options.newId,
    retryFor: retry.for ?? Infinity,
    stillSo: rules && { rules, boot: boot ?? processClock(clock) },
    fields: fieldsBetween(options, schema?.columns),
    events: changeEvents(watched, schema, rules),
    removals: { confirmations, holdAbove, holdWalks: Math.max(3, confirmations), holdFor: 2 * every, acceptRemovals },
    identity: {
      watch: hashOf([info.name, info.rowsIdentity ?? info.identity]),
      endpoint: info.endpoint,
      sameProject: options.sameProject,
    },
  };
  const createRun = ({ startAt, newHistory }: WalkStart): WatchRun<T> => {
    const fitted = fitSource(source, concurrency);
    return new WatchRun(fitted.source, settings, { startAt: decodePosition(startAt), newHistory });
  };
  const uncommitted = async function* (start: WalkStart, signal: AbortSignal, of: 'first' | 'before' = 'first') {
    const run = createRun(start);
    try {
      yield* of === 'first' ? run.uncommitted(signal) : run.committed(signal);
    } finally {
      await run.end();
    }
  };
  const walkWith = (walk: WalkStart): PullIterator<Page<WatchEvent<T>>> => {
    const run = createRun(walk);
    return cancellable(
      async (signal) => {
        try {
          return await run.next(signal);
        } catch (thrown) {
          const { name, endpoint } = watched;
          const error = redactThrown(thrown, endpoint);
          if (!signal.aborted) notify(endpoint, { type: 'error', of: 'watch', name, error: reportOf(error) });
          throw error;
        }
      },
      () => run.end(),
    );
  };
  return new Source(watched, walkWith, undefined, uncommitted);
}

function changeInfo<T>(
  info: SourceInfo<T>,
  { ignore = [], project, state }: Pick<WatchOptions<T>, 'ignore' | 'project' | 'state'>,
): SourceInfo<WatchEvent<T>> {
  const { name, isUnversioned, endpoint, schema: rows } = info;
  const picked = project && typeof project !== 'function' ? [...project].sort() : null;
  const watched: Json = { of: info.rowsIdentity ?? info.identity, ignore: [...ignore].sort(), project: picked };
  const schema: RowSchema<WatchEvent<T>> = {
    // Also with rules: they may come and go, and are no other plan of an export.
    columns: changeColumns,
    key: ({ id }) => id,
    event: eventOfChange,
    ...(rows && { rows }),
    compares: (field) => !ignore.includes(field) && (picked?.some((path) => isWithin(path, field)) ?? true),
  };
  return {
    name: `${name}.changes`,
    identity: watched,
    partitions: 1,
    schema,
    isEndless: true,
    isUnversioned,
    endpoint,
    checkRestart: state && ((signal: AbortSignal) => checkRestart(state, signal)),
  };
}

/** The time of one process: another one has another boot. */
function processClock(clock: Clock): BootClock {
  const id = newId();
  return { id: () => Promise.resolve(id), now: () => clock.monotonic() };
}

/** Checks that the new first snapshot can replace the old state. @throws LockError, CheckpointError. */
async function checkRestart(state: StateStore, signal: AbortSignal): Promise<void> {
  const release = await state.lock(signal, 'watch');
  try {
    await state.log('watch').checkReplaceable?.();
  } finally {
    await release();
  }
}
