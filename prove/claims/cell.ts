/** What happens to a command. */
export type Fate = 'killed' | 'stopped, continued' | 'stopped, killed' | 'copied, renamed';

/** A command in the container `one`, and the same one beside it or after it, in a container of that host name or another. */
export interface Cell {
  readonly job: string;
  readonly host: 'one' | 'two';
  readonly fate: Fate;
}

/** A cell to play. */
export interface CellOrder extends Cell {
  /** Ms for which the command is stopped. */
  readonly stopped: number;
  /** An empty folder. */
  readonly folder: string;
}

/** What came of a cell. */
export interface CellOutcome {
  /** Commands that were refused because of the first one, as they should be. */
  readonly refused: number;
  /** One sentence each. */
  readonly faults: readonly string[];
}
