import type { StateStore } from '@sluice/core';
import type { PageHealth } from '@sluice/core/kit';
import { Failure, TimeUp } from '../errors/errors.js';
import { formatCount } from '../terminal/format.js';

/** A watch whose time is over. */
interface EndedWatch {
  /** Polls that succeeded in this run. */
  readonly succeeded: number;
  /** The last poll, and its error as text if it failed. */
  readonly last: Pick<PageHealth, 'outcome' | 'error'> | undefined;
  readonly lastError: string;
  /** A poll was under way. */
  readonly isPolling: boolean;
  /** The target has taken the changes of the last poll. */
  readonly isTaken: boolean;
  /** Changes that a webhook has not accepted. */
  readonly waiting: number;
  /** The runs in a row that were in vain, with this one. Absent without a state. */
  readonly inVain: number | undefined;
}

/**
 * Whether a watch whose time is over still owes something: `undefined` if it does not, else the error to end with. A poll
 * is not resumed, so a run that gave it too little time must not look like progress again and again.
 */
export function judgeTimeUp(timeUp: TimeUp, watch: EndedWatch): Error | undefined {
  const { succeeded, last, lastError, isPolling, isTaken, waiting, inVain } = watch;
  if (inVain === undefined) {
    if (succeeded > 0) return undefined;
    return new Failure(
      `${timeUp.message} No poll has succeeded, and without --state it can't go on: give it more time.`,
    );
  }
  if (timeUp.isPaused) return timeUp;
  if (inVain > 1) {
    if (last?.error instanceof Error) return last.error;
    const runs = formatCount(inVain, 'run');
    return new Failure(
      `No poll has succeeded in ${runs} in a row, each ended by --max-time. A poll can't be resumed: give it more time, or watch a narrower listing.`,
    );
  }
  if (isPolling) return new TimeUp('Stopped by --max-time in the middle of a poll.');
  if (last?.outcome === 'failed') return new TimeUp(`Stopped by --max-time after a failed poll: ${lastError}`);
  if (waiting > 0)
    return new TimeUp(`Stopped by --max-time: ${formatCount(waiting, 'change is', 'changes are')} not delivered yet.`);
  if (!isTaken) return new TimeUp('Stopped by --max-time before its target had taken the last changes.');
  return succeeded > 0 ? undefined : new TimeUp('Stopped by --max-time before the first poll.');
}

const recordName = 'slices';

/**
 * The state of a watch, in which a record counts the runs in a row that were in vain. It is saved while the watch still
 * holds its lock.
 *
 * @param judge whether the run is in vain: `true` if its time is over, and neither has a poll succeeded nor the target
 * taken a change; `false` if a poll has succeeded; otherwise the record stays.
 */
export function countInVain(state: StateStore, judge: () => boolean | undefined) {
  let before = 0;
  let inVain = 0;
  const record = async (): Promise<void> => {
    const isInVain = judge();
    inVain = isInVain ? before + 1 : 0;
    if (isInVain) await state.save(recordName, { inVain });
    else if (isInVain === false && before > 0) await state.remove(recordName);
  };
  const counted: StateStore = {
    folder: state.folder,
    async lock(...args) {
      const release = await state.lock(...args);
      before = decodeCount(await state.load(recordName).catch(() => undefined));
      return async () => {
        // What can't be counted ends no watch.
        await record().catch(() => undefined);
        await release();
      };
    },
    load: (name) => state.load(name),
    save: (name, value) => state.save(name, value),
    remove: (name) => state.remove(name),
    log: (name) => state.log(name),
  };
  return { state: counted, inVain: () => inVain };
}

function decodeCount(record: unknown): number {
  const count: unknown = typeof record === 'object' && record !== null ? Reflect.get(record, 'inVain') : 0;
  return typeof count === 'number' ? count : 0;
}
