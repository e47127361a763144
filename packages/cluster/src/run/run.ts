import type { ColumnType, Json } from '@sluice/core';
import type { Claim, PageSource, StatedGap } from '@sluice/core/kit';

/** A row that was stored and read again. */
export type StoredRow = Readonly<Record<string, unknown>>;

/**
 * Makes the source of a piece of a plan. Its parameters have been through JSON; their type is the caller's to know.
 *
 * @example const open: OpenSource = (params) => client.aptos.nfts(params);
 */
export type OpenSource = (params: never) => PageSource<unknown>;

/** A plan that several machines work off. */
export interface RunPlan {
  /** Names the run in reports. */
  readonly name: string;
  /** The name by which workers know the source. */
  readonly source: string;
  readonly open: OpenSource;
  /**
   * The parameters of the source, in pieces that are walked one after the other: e.g. 10,000 wallets each. The source of
   * a piece has at most 1,000 partitions. They are read one by one, so a plan of any size takes little memory.
   */
  readonly params: Iterable<Json> | AsyncIterable<Json>;
}

/** What all machines of a run agree on. */
export interface RunHeader {
  /** 128 random bits in hex: tells this run from any other, whatever its name is. */
  readonly id: string;
  readonly name: string;
  readonly source: string;
  /** The columns of its rows, and what they hold; `null` if the source does not know them. */
  readonly columns: readonly string[] | null;
  readonly types: Readonly<Record<string, ColumnType>>;
  /** A salted hash of the API key, if the source uses one: workers with another project's key are refused. */
  readonly key?: { readonly salt: string; readonly fingerprint: string };
}

/** A piece of a plan: parameters whose source has this many partitions. */
export interface PlanPiece {
  readonly params: Json;
  readonly partitions: number;
  /** A hash of what determines its rows, definition and version included. Another one is another plan. */
  readonly identity: string;
}

/** Where rows and the record of what is done are stored, together. The dispatcher of work only gives hints. */
export interface RunTarget {
  /** Where it is, as workers on other machines find it: the path of a folder, or a URL without a password. */
  readonly address: string;
  /**
   * Stores a plan, or resumes to store it, whenever an earlier call was interrupted.
   *
   * @throws ConfigError if the target has another plan, or the source can't be divided; SinkError if it can't be stored
   */
  submit(plan: RunPlan): Promise<Run>;
  /**
   * The run that was submitted to it.
   *
   * @param sources makes sources by their names; only workers need that of the run
   *
   * @throws ConfigError if there is none, or its plan is not complete
   */
  open(sources?: Readonly<Record<string, OpenSource>>): Promise<Run>;
}

/** A run whose plan is complete. */
export interface Run {
  readonly header: RunHeader;
  readonly partitions: number;
  /**
   * The source that has a partition of the run, and which of the source's partitions that is.
   *
   * @throws ConfigError if this machine has no such source, or it differs from the one that was submitted
   */
  sourceOf(partition: number): Promise<SourcePartition>;
  /**
   * Begins to write a partition, where the last claim saved it. Any number of claims may write the same one: at most one
   * commit is accepted.
   *
   * @param restarts starts the partition over instead, for so many times now
   *
   * @throws ConfigError or SinkError if this machine does not see the target as it must
   */
  claim(partition: number, restarts?: number): Promise<Claim<unknown> | 'done' | 'cancelled'>;
  /** The partitions that are not done, in order. */
  pending(): AsyncIterable<number>;
  /** Counts what is done. */
  status(): Promise<RunStatus>;
  /** Lets no claim commit any more, for good. */
  cancel(): Promise<void>;
  /**
   * Removes what no commit refers to. Nobody may work on the run meanwhile: a worker could be about to commit rows that
   * another one began, although nothing refers to them now. Resolves to the number of files.
   *
   * @param hints remembers progress whose rows are kept. Default: that of the target.
   */
  clean(hints?: ProgressHints): Promise<number>;
  /** Ends its connections, if it has any. They are opened again when they are needed. */
  close?(): Promise<void>;
}

/** A partition of a source. */
export interface SourcePartition {
  readonly source: PageSource<unknown>;
  readonly partition: number;
}

/** What a run into a table lacks, or has too much. Of a run in a folder, its merge says so. */
export interface RunGaps extends StatedGap {
  /** Partitions that are done may lack rows, as the API said. Absent if not. */
  readonly isIncomplete?: true;
  /** Rows of the table that `replace` would have removed, and that stay because of that; absent if there are none. */
  readonly rowsNotRemoved?: number;
}

/** How far a run is. */
export interface RunStatus extends RunGaps {
  readonly partitions: number;
  readonly done: number;
  /** Rows of the partitions that are done. */
  readonly rows: number;
  readonly isCancelled: boolean;
}

/**
 * Remembers how far unfinished partitions are. It may lose that, or return to an older state: what it remembers is
 * verified before it is used. A failure of it is as good as a loss.
 */
export interface ProgressHints {
  /** What was saved, or `undefined`. */
  load(partition: number): Promise<unknown>;
  /** The hint is plain JSON. */
  save(partition: number, hint: object): Promise<void>;
  /** The partition is done. */
  drop(partition: number): Promise<void>;
}
