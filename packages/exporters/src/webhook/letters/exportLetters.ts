import type { DeadLetter } from './deadLetter.js';

/** A letter of the export that opens the letters. */
export interface OwnLetter {
  readonly id: string;
  /** `null` also if it was replayed: then it blocks no later records. */
  readonly key: string | null;
  /** The endpoint never refused it. */
  readonly isParked: boolean;
}

/** The dead letters of an export, with their positions. */
export interface ExportLetters<Position> {
  /** Those of earlier runs of this export. */
  readonly own: readonly OwnLetter[];
  /** After the last durable letter; a commit needs it even before the first letter. */
  readonly position: Position;
  /** Durable when it resolves. Letters are in the order of calls. After an error, each later call rejects, too. */
  append(letter: DeadLetter): Promise<void>;
  /** Waits for pending writes. */
  close(): Promise<void>;
}

/** What an export knows of its letters when it opens them. */
export interface CommittedLetters<Position> {
  /** The position committed by an earlier run of the same export. Absent: the export has written no letters there. */
  readonly position?: Position | undefined;
  /** The ids of the records that this run sends again. */
  readonly resent: Pick<ReadonlySet<string>, 'has'>;
}
