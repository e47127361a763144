import { checkCount, checkOptions } from '../../checks.js';
import type { Clock } from '../../clock.js';
import { ConfigError } from '../../errors.js';
import type { Position } from '../../position.js';
import type { StateLog } from '../../stateLog.js';
import type { TotalGap } from '../../totals.js';
import type { Since } from './increment.js';
import { type ListedKeys, type RepeatAction, repeatActions } from './listedKeys.js';
import type { PageCache } from './pageCache.js';
import type { SourceInfo } from './sourceInfo.js';

/** Where a walk records the partitions that it discovers, so that later runs of the same export have the same ones. */
export interface PartitionLog {
  /** The log of one level: level 1 has the parent rows of the partitions, level 2 the rows above them, and so on. */
  readonly log: (level: number) => StateLog;
  /** Identifies the export: a walk from the start replaces the records of another export. */
  readonly runId: string;
}

/** How a walk requests a source's pages. */
export interface PagesOptions {
  /**
   * Resumes from the `position` of a page or an error, or (if the plan has one partition) from a cursor of the API. A
   * position of other parameters, another page size or definition fails the walk with a ConfigError; a cursor does not.
   */
  readonly startAt?: Position | string | undefined;
  /**
   * Walks this partition only, from 0, and requests nothing beyond it. `startAt` is then a position of such a walk, or
   * a cursor within the partition. Default: all partitions of the plan.
   */
  readonly partition?: number | undefined;
  /** Partitions to walk in parallel. Default 1. The limiter still decides when requests start. */
  readonly concurrency?: number | undefined;
  /**
   * Pages to fetch ahead of the consumer, beyond one per partition in progress. Default for consumers that pull: the
   * concurrency, so that no partition waits during a commit. For subscribers, which show no demand: 0.
   */
  readonly prefetch?: number | undefined;
  /** Starts a history: a source with state, e.g. a watch, discards state of other histories. */
  readonly newHistory?: string | undefined;
  /** Emits only rows from a value on, if the source supports that (`info.increment`). Not part of the plan. */
  readonly since?: Since | undefined;
  /** Stores pages between walks, for sources that send conditional requests. `poll` and `watch` pass one. */
  readonly cache?: PageCache | undefined;
  /** Where discovered partitions are recorded. Default: in memory, so the walk can only begin at the start. */
  readonly partitionLog?: PartitionLog | undefined;
  /**
   * Whether the walk fails if the listing of the parents has fewer rows than its own total. Default: a warning. Rows
   * that the partitions themselves lack are in `position.totals`.
   */
  readonly requireTotal?: boolean | undefined;
  /** Called instead of an error, before the walk ends, if the listing of the parents differs from its total. */
  readonly onShort?: ((gap: TotalGap) => void) | undefined;
  /**
   * Compares the keys of each partition's rows, if the source has a `key`, and the number of different keys with the
   * total. `keep` emits all rows, `drop` leaves out rows whose key came before, and `fail` ends the walk at the first
   * such row. A walk that resumes within a partition knows only the keys from there. Default: keys are not compared,
   * which takes no memory.
   */
  readonly repeats?: RepeatAction | undefined;
  /** With `repeats`: the keys that were listed before `startAt`. */
  readonly keys?: ListedKeys | undefined;
  /**
   * When it aborts, the walk cancels its pending requests, emits the pages that it has fetched, and ends as if it were
   * complete. `info.isDrainable` says whether the source does so.
   */
  readonly drain?: AbortSignal | undefined;
  /** The clock for the `receivedAt` of pages. Default: pages do not have it. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

export interface WalkOptions extends PagesOptions {
  readonly startAt: Position;
  readonly concurrency: number;
  readonly prefetch: number;
}

/** Where a walk starts or resumes. */
export type WalkStart = Pick<WalkOptions, 'startAt' | 'newHistory'>;

/**
 * Lists the rows that a walk emits first because the source has stored them, page by page.
 *
 * @param of `before`: those that the source has stored of what it emitted before. Default: `first`
 */
export type ListUncommitted<T> = (
  start: WalkStart,
  signal: AbortSignal,
  of?: 'first' | 'before',
) => AsyncIterable<readonly T[]>;

/** @throws ConfigError if an option is invalid, or does not fit the source. */
export function checkPagesOptions(
  info: Pick<SourceInfo<never>, 'name' | 'increment' | 'maxRows' | 'isKeyed'>,
  options: PagesOptions,
): void {
  checkOptions('pages()', options, {
    startAt: true,
    partition: true,
    concurrency: true,
    prefetch: true,
    newHistory: true,
    since: true,
    cache: true,
    partitionLog: true,
    requireTotal: true,
    onShort: true,
    repeats: true,
    keys: 'an object?',
    drain: true,
    clock: true,
  });
  const { concurrency = 1, prefetch, since, repeats } = options;
  checkCount('concurrency', concurrency);
  if (prefetch !== undefined) checkCount('prefetch', prefetch, { min: 0 });
  if (info.maxRows !== undefined && concurrency > 1)
    throw new ConfigError(
      'maxRows needs concurrency: 1. With a concurrency above 1, it is not defined which rows come first.',
    );
  if (since) checkSince(info, since);
  checkRepeats(info, repeats);
}

/** @throws ConfigError if the source cannot start at a value, or the value is invalid. */
function checkSince(
  { name, increment, maxRows }: Pick<SourceInfo<never>, 'name' | 'increment' | 'maxRows'>,
  { from, before }: Since,
): void {
  if (!increment) throw new ConfigError(`${name} can't start at a value: its paging is not bySince.`);
  if (maxRows !== undefined)
    throw new ConfigError('maxRows and since exclude each other: what is beyond maxRows would be missed for good.');
  for (const value of [from, before])
    if (value !== undefined && increment.read(value) === undefined)
      throw new ConfigError(`since is ${JSON.stringify(value.slice(0, 100))}: it must be ${increment.wanted}.`);
  if (before !== undefined && increment.canEnd !== true)
    throw new ConfigError(
      `${name} can't end at a value: nothing says that its walks leave out the rows from there on (canEnd).`,
    );
}

/** @throws ConfigError if the action is unknown, or needs a key that the rows do not have. */
export function checkRepeats(
  { name, isKeyed }: Pick<SourceInfo<never>, 'name' | 'isKeyed'>,
  repeats: RepeatAction | undefined,
): void {
  if (repeats !== undefined && !repeatActions.includes(repeats))
    throw new ConfigError(`repeats must be one of ${repeatActions.join(', ')}.`, { option: 'repeats' });
  if (repeats !== undefined && repeats !== 'keep' && !isKeyed)
    throw new ConfigError(
      (option = `repeats: '${repeats}'`) =>
        `${option} needs a key by which the rows of ${name} are compared: its definition has none.`,
      { option: 'repeats' },
    );
}
