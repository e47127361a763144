import { CheckpointError, ConfigError } from '../../../errors.js';
import { hashOf } from '../../source/fingerprint.js';
import type { SourceInfo } from '../../source/sourceInfo.js';
import type { Checkpoint } from '../checkpoint.js';
import type { Companion } from '../companion.js';
import type { ExportSetup, IncrementalOptions } from '../exportOptions.js';
import { checkSameKey, describeMade, hashTarget } from '../findCheckpoint.js';
import { forgetPartition, type IncrementProgress, isMark, type ListingMark } from './incrementProgress.js';
import { ListingIncrement, type MarkedSource, unreadableMarkError } from './listingIncrement.js';
import { ParentIncrements } from './parentIncrements.js';

/**
 * The increment of an export; `undefined` if it is not incremental.
 *
 * @throws ConfigError if the source has no increments, or an option is invalid.
 */
export function createIncrements(setup: Omit<ExportSetup<never>, 'companion'>): Companion | undefined {
  const { info, state } = setup;
  const { incremental } = setup.options;
  if (!incremental || !state) return undefined;
  const { name, increment, isEndless, maxRows, partitions } = info;
  if (!increment || isEndless)
    throw new ConfigError(
      `${name} can't be exported incrementally: ${isEndless ? 'it never ends' : 'its paging is not bySince'}.`,
    );
  if (maxRows !== undefined)
    throw new ConfigError('An incremental export takes no maxRows: what is beyond it would be missed for good.');
  if (partitions > 1 && partitions !== Infinity && increment.isBounded !== true)
    throw new ConfigError(
      `${name} can't be exported incrementally: its ${partitions} partitions would share a mark, and rows of one would be missed where another is further. Export each partition by itself, or make it a listing for each row of another one.`,
    );
  const given: IncrementalOptions = incremental === true ? {} : incremental;
  const { full = false } = given;
  const read = (option: 'from' | 'until'): string | undefined => {
    const { [option]: text } = given;
    if (text === undefined) return undefined;
    if (full) throw new ConfigError(`${option} and full exclude each other.`);
    const value = increment.read(text);
    if (value !== undefined) return value;
    throw new ConfigError(`${option} is ${JSON.stringify(text.slice(0, 100))}: it must be ${increment.wanted}.`);
  };
  const [from, until] = [read('from'), read('until')];
  const isBackfill = from !== undefined && until !== undefined;
  if (isBackfill && increment.compare(from, until) >= 0)
    throw new ConfigError('from must be before until: there are no rows between them.');
  return keepMark(setup, { name, rule: increment, state, markName: nameMark(info), from, until, full, isBackfill });
}

/** The name of a source's mark. With other parameters it has another one. */
export function nameMark({ name, rowsIdentity, identity }: SourceInfo<never>): string {
  return `mark-${hashOf([name, rowsIdentity ?? identity])}`;
}

/** Where the increment of one export begins, what it has seen, and the mark that it leaves. */
function keepMark({ info, sink, options }: Omit<ExportSetup<never>, 'companion'>, source: MarkedSource): Companion {
  const { state, markName, from, until, full, isBackfill } = source;
  const walked: Walked = info.partitions === Infinity ? new ParentIncrements(source) : walkToOneMark(source);
  const recordOf = async (run: Checkpoint, isSealed: boolean): Promise<{ readonly increment: IncrementProgress }> => {
    const bounds = { ...(until !== undefined && { until }), ...(isBackfill && { isBackfill }) };
    return { increment: { ...(await walked.record(run, isSealed)), ...bounds } };
  };
  let hasMark = false;
  return {
    judge(found, { isSamePlan, isGivenUp }) {
      const { increment, target, rows, source: name } = found;
      if (!increment) return undefined;
      if (isOtherRange(increment, source)) {
        if (isGivenUp && !isBackfill) return undefined;
        throw otherRangeError(found, increment);
      }
      // A target of its own for each increment is usual, e.g. a file per day. The mark has not moved, so no row is missed.
      if (target !== hashTarget(sink))
        return `The last incremental export did not finish. Its target was another one: what it left there is not used. Its ${rows} rows are exported again.`;
      // In another plan, its values may be of another type.
      if (!isSamePlan || isGivenUp) return undefined;
      const isSameEnd = increment.until === until;
      const difference = lacksRows(increment, source)
        ? 'began later than'
        : isSameEnd
          ? undefined
          : 'ends elsewhere than';
      if (difference === undefined) return undefined;
      if (sink.isRefreshed)
        return `The last incremental export did not finish, and ${difference} this one. Its ${rows} rows are exported again.`;
      throw new CheckpointError(
        `The checkpoint was written by an incremental export that ${difference} this one.`,
        { changed: ['incremental'], source: name },
        [{ kind: 'rerun' }, { kind: 'restart' }],
      );
    },
    async load(checkpoint) {
      const { increment } = checkpoint;
      const mark = await walked.load(increment && checkpoint);
      hasMark = mark !== undefined;
      const advice = { kind: 'set', option: 'full' } as const;
      if (mark && !options.sameProject) await checkSameKey(mark, info, 'The mark of the last increment', advice);
      walked.begin(increment);
      // The record of a sealed checkpoint has the next mark.
      if (increment) return checkpoint;
      const { scope } = mark ?? {};
      return { ...checkpoint, ...(await recordOf(checkpoint, false)), ...(scope !== undefined && { scope }) };
    },
    get walk() {
      return { since: walked.since };
    },
    get sink() {
      return { increment: full ? 'all' : 'new', hasMark: hasMark || from !== undefined } as const;
    },
    // In the next increment, a parent may have another partition, and a row be in another window.
    rowScope: (scope, { parents = [] }) => `${scope}/${JSON.stringify(parents)}`,
    add: (page) => walked.add(page, page.increment),
    record: recordOf,
    forget({ increment, ...checkpoint }, partition) {
      const rest = increment && forgetPartition(increment, partition);
      walked.begin(rest);
      return { ...checkpoint, ...(rest && { increment: rest }) };
    },
    async published({ increment, runId, scope = runId }) {
      if (increment?.next && !isBackfill) await state.save(markName, { ...increment.next, scope });
    },
    close: () => walked.close(),
  };
}

/** Whether either an unfinished export or this one is a backfill, and not of the same range. */
function isOtherRange(found: IncrementProgress, { from, until, isBackfill }: MarkedSource): boolean {
  const isSame = found.isBackfill === true && isBackfill && found.from === from && found.until === until;
  return (found.isBackfill === true || isBackfill) && !isSame;
}

function otherRangeError(found: Checkpoint, { isBackfill, from = '', until = '' }: IncrementProgress): CheckpointError {
  const what = isBackfill ? `of the rows from ${from} until ${until}` : 'of what is new';
  return new CheckpointError(
    `An export ${what} has not finished, and its checkpoint would be lost: run it again first.${describeMade(found)}`,
    { changed: ['incremental'], source: found.source },
    isBackfill ? [{ kind: 'restart' }] : [],
  );
}

/** Whether an unfinished increment lacks rows that are wanted now: all of them, or those from a value on. */
function lacksRows(found: IncrementProgress, { from, full, rule }: MarkedSource): boolean {
  const hasAll = found.isFull === true || (found.from === undefined && !found.parents);
  if (hasAll || full) return !hasAll;
  // Without a value, each parent began at its mark.
  return from !== undefined && (found.from === undefined || rule.compare(from, found.from) < 0);
}

type Walked = Pick<ParentIncrements, 'load' | 'begin' | 'since' | 'add' | 'record' | 'close'>;

/** The same for a source that has one mark. */
function walkToOneMark({ name, rule, state, markName, from, until, full, isBackfill }: MarkedSource): Walked {
  let mark: ListingMark | undefined;
  const begin = (resumed?: IncrementProgress): ListingIncrement =>
    new ListingIncrement(rule, { mark, from, before: until }, resumed);
  let listing = begin();
  return {
    async load() {
      const record = full ? undefined : await state.load(markName);
      if (record === undefined) return undefined;
      if (!isMark(record) || rule.read(record.value) === undefined) throw unreadableMarkError();
      // What a backfill fetches again is known.
      if (!isBackfill) mark = record;
      return record;
    },
    begin(resumed) {
      listing = begin(resumed);
    },
    get since() {
      return listing.since;
    },
    add({ isIncomplete }, increment) {
      if (isIncomplete) listing.stay();
      if (increment) listing.add(increment);
    },
    async record({ key }, isSealed) {
      const { progress, recent, next } = listing;
      if (!isSealed) return listing.committed(recent.length);
      return { ...progress, ...(next && { next: { v: 1, source: name, ...next, ...(key && { key }) } }) };
    },
    close: () => Promise.resolve(),
  };
}
