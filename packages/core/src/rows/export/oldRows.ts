import type { Clock } from '../../clock.js';
import type { Checkpoint } from './checkpoint.js';
import type { WalkEnd } from '../sink/sink.js';

/** Default: ms after which an interrupted run is not resumed. Half of what lies between two nights. */
export const usualResume = 43_200_000;

/** A pause is worth a word from this share of the time within which a run is resumed: an hour by default. */
const noticeableShare = 1 / 12;

/** Rows with which an export goes on, although they were read long before. */
export interface OldRows {
  readonly rows: number;
  /** When the run began that read them (ISO 8601). */
  readonly since: string;
  /** They are older than 12 hours, or `resumeWithin` if that is less: no row is removed for being absent. */
  readonly removesNone?: true;
}

/** The old rows of a checkpoint from which a run resumes; `undefined` if it was interrupted for a short time only. */
export function findOldRows(
  { rows, pages, beganAt, savedAt, pausedFor = 0, isSealed, increment }: Checkpoint,
  resumeWithin: number | undefined,
  clock: Clock,
): OldRows | undefined {
  const limit = Math.min(resumeWithin ?? usualResume, usualResume);
  const since = beganAt ?? savedAt;
  // A walk that goes on at once is as good as one that was not interrupted, however long it takes.
  // Rows that changed after an increment had read them come again with the next one.
  if (pages === 0 || increment || since === undefined || pausedFor <= limit * noticeableShare) return undefined;
  const isTooOld = !isSealed && Math.max(msSince(since, clock), pausedFor) > limit;
  return { rows, since, ...(isTooOld && { removesNone: true }) };
}

export function describeOldRows({ rows, since }: OldRows): string {
  return `The export goes on with ${rows} rows that an interrupted run has read since ${since}: a row that moved or changed after that may be missing or outdated. Start over to read all of them again.`;
}

/** What a walk that goes on with rows of another night lacks may have been listed all along. */
export function doubtOldRows(end: WalkEnd, oldRows: OldRows | undefined): WalkEnd {
  return oldRows?.removesNone ? { ...end, isIncomplete: true, oldRowsSince: oldRows.since } : end;
}

/** Ms since a time; 0 if it is unknown, or the clock was set back. */
export function msSince(time: string | undefined, clock: Clock): number {
  const ms = clock.now() - Date.parse(time ?? '');
  return ms > 0 ? ms : 0;
}
