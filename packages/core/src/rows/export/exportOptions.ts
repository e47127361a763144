import type { OptionKind } from '../../checks.js';
import type { Clock } from '../../clock.js';
import type { Identifiers } from '../../identifiers.js';
import type { StatedGap } from '../../totals.js';
import type { RepeatAction } from '../source/listedKeys.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import type { Checkpoint, MadeWith } from './checkpoint.js';
import type { Companion } from './companion.js';
import type { OldRows } from './oldRows.js';
import type { Sink, SinkReport } from '../sink/sink.js';
import type { StateStore } from '../sink/stateStore.js';

/** Options of an export. */
export interface ExportOptions extends Identifiers {
  /**
   * Where checkpoints are stored. Default: none, so an export that fails starts over. Rows of an endless source stay in
   * the target, but the export can't be resumed.
   */
  readonly state?: StateStore | undefined;
  /**
   * Pages between two commits. Default: one commit a second (fewer if they are slow), and at least every 200 pages.
   * Fewer pages mean fewer repeated requests after a crash, but each commit waits some ms for the disk.
   */
  readonly commitEvery?: number | undefined;
  /** Partitions of the plan walked at once. Default 1. */
  readonly concurrency?: number | undefined;
  /** Pages fetched ahead of the sink, beyond one for each partition that is walked. Default: the concurrency. */
  readonly prefetch?: number | undefined;
  /**
   * Starts over and ignores what an earlier run left. Default `false`. The export of a watch that has other settings than
   * before, e.g. another operator or format, starts over without its watch, which goes on from its snapshot: what changed
   * since the last poll is reported. With the same settings, the watch starts over, too. A table that mirrors the rows
   * always starts over with its watch.
   */
  readonly restart?: boolean | undefined;
  /**
   * The time in ms since the last commit of an interrupted run after which it is not resumed: half of what lies between
   * two runs. A row that moved meanwhile would be missing, so the run is given up, and a new one begins; nothing of it is
   * visible yet. Default: 12 hours, for runs a day apart. `Infinity` resumes it at any age, 0 never. What a service has
   * received can't be taken back, and a watch goes on from its snapshot: their exports resume at any age.
   */
  readonly resumeWithin?: number | undefined;
  /** Resumes a checkpoint that was made with another key of the same project. Default `false`. */
  readonly sameProject?: boolean | undefined;
  /**
   * What to do if the API refuses a cursor, e.g. an expired one. `fail` (the default) stops and keeps the rows.
   * `restart-partition` removes the partition's rows and walks it again, at most three times. It needs `state`, and a
   * sink that can remove rows; with these, it is the default for a source whose pages can be fetched only once.
   */
  readonly onExpired?: 'fail' | 'restart-partition' | undefined;
  /**
   * `true` fails before the target gets its name if the API lists fewer or more rows than the total that it states, or
   * states none; not with `incremental`, nor for a source with `maxRows`. Where the source has a `key`, its different keys
   * count, in each partition. Default: a warning, and a sink that replaces rows removes none, since some may be missing.
   * So it does where rows come again and the API states no total. `false`: only a warning, for a total that counts something
   * else.
   */
  readonly requireTotal?: boolean | undefined;
  /**
   * What to do with a row whose key its partition has listed before: `keep` (the default) exports it again, and warns;
   * `drop` leaves it out, so that the first one stays; `fail` ends the export there. The source needs a `key`. Not with
   * `incremental`, where a row comes again when it changes, nor for a watch.
   */
  readonly repeats?: RepeatAction | undefined;
  /**
   * Exports only rows that are new or changed since the last incremental export with this state, which it needs. The
   * source's paging must be `bySince`. A row that changed comes again with its key; rows that an interrupted run had
   * exported shortly before may, too. A listing for each row of another one has a mark for each: a new parent is walked
   * completely, and so is one that comes back after an export in which it was not listed.
   */
  readonly incremental?: true | IncrementalOptions | undefined;
  /**
   * After a cancel, an export with state writes and commits the pages that it has fetched, and requests no more. After
   * so many ms it cancels the sink, too; the next run fetches again what is not committed. However it ends, it waits for
   * the end of its source for as long. Default 2,000; 0 cancels the sink at once.
   */
  readonly stopWithin?: number | undefined;
  /**
   * What people should know of how the export was made, e.g. `{ command: 'npm run nightly' }`. It is stored in the
   * checkpoint, in plain text, and quoted when an export with other settings is refused. It must contain no secret.
   */
  readonly madeWith?: MadeWith | undefined;
  /** Called with warnings that do not fail the export. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /**
   * Called with the checkpoint to resume from, whenever it changes: first that of an earlier run, then each commit.
   * `undefined` if no row is committed, and when the export has finished. Not called before the state is read.
   */
  readonly onCommitted?: ((checkpoint: Checkpoint | undefined) => void) | undefined;
  /** Measures the time since the last commit. Default: the machine's clock, whatever the client's is. */
  readonly clock?: Clock | undefined;
}

/** How an export finds what is new. */
export interface IncrementalOptions {
  /**
   * Begins here instead of at the mark. If it is beyond the mark, the mark stays: rows between would be missed. A
   * listing for each parent has a mark for each.
   */
  readonly from?: string | undefined;
  /**
   * Exports only rows before this value: that of its own is not among them. The mark moves there at most. With `from`, it
   * is a backfill: the rows of a range come again, and the mark stays where it is, or absent. Ranges that share an end
   * share no row. A state has one unfinished export, so a backfill is refused while an increment is unfinished, and the
   * other way round. Default: up to now.
   *
   * @example incremental: { from: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' }
   */
  readonly until?: string | undefined;
  /** Exports all rows, and sets the mark. */
  readonly full?: boolean | undefined;
}

/** An export as it was requested. */
export interface ExportSetup<T> {
  readonly info: SourceInfo<T>;
  readonly sink: Sink<T>;
  /** A sink that keeps its own checkpoints has no other state. */
  readonly state: StateStore | undefined;
  readonly options: ExportOptions;
  readonly companion: Companion | undefined;
  readonly clock: Clock;
}

/** The names of these options. */
export const exportOptionNames = {
  state: 'an object?',
  commitEvery: true,
  concurrency: true,
  prefetch: true,
  restart: true,
  sameProject: true,
  resumeWithin: true,
  onExpired: true,
  incremental: true,
  stopWithin: true,
  madeWith: true,
  onWarning: true,
  onCommitted: true,
  clock: true,
  newId: true,
  sha256: true,
  requireTotal: true,
  repeats: true,
} as const satisfies Readonly<Record<keyof ExportOptions, OptionKind | true>>;

/** What an export has moved. Rows and pages include those of earlier, interrupted runs. */
export interface ExportCounts {
  readonly rows: number;
  readonly pages: number;
  /** Rows kept from earlier, interrupted runs. */
  readonly resumedRows: number;
  /** Rows of the last commit: they are kept if this run is interrupted now. */
  readonly committedRows: number;
  /** Rows in the whole listing, if the API reports it. */
  readonly total?: number;
}

/** The progress of an export. */
export interface ExportProgress extends ExportCounts {
  readonly isDone: false;
}

/**
 * The outcome of an export that finished. It compares the partitions of the listing with the totals that the API states
 * for them; if the source has a `key`, rows with the same key count once. Not incomplete walks, `maxRows` and increments.
 */
export interface ExportReport extends ExportCounts, SinkReport, StatedGap {
  readonly isDone: true;
  /**
   * Rows may be missing: the API refused a part of the listing for good, and the listing skips such parts, or it
   * reported errors beside its rows.
   */
  readonly isIncomplete?: true;
  /**
   * Rows that the API listed whose key the same partition had listed before, whatever became of them (see `repeats`) and
   * whether a filter keeps them. Absent if there are none, without a `key`, and for increments and watches.
   */
  readonly repeatedRows?: number;
  /** Rows of an interrupted run, if the export went on with them after a long while: more than an hour by default. */
  readonly oldRows?: OldRows;
  /** When an earlier run finished this export (ISO 8601): nothing was requested or written. Otherwise absent. */
  readonly finishedAt?: string;
}

/** A chunk of the flow that `exportTo` returns. */
export type ExportStep = readonly [ExportProgress | ExportReport];
