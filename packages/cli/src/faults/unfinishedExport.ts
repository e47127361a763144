/** What is left of an export that ended early. */
export interface Aftermath {
  /** What it means for the rows, and what to do: behind the sentence that says what happened. */
  readonly consequence: string;
  /** The command line that the consequence ends with. */
  readonly command?: string;
  /** Rows that the next run goes on behind, where one can. */
  readonly keptRows?: number;
}

/** An export ended early; its cause says why. */
export class UnfinishedExport extends Error {
  override readonly name = 'UnfinishedExport';
  override readonly cause: unknown;
  readonly aftermath: Aftermath;

  constructor(cause: unknown, aftermath: Aftermath) {
    super('The export ended early.');
    this.cause = cause;
    this.aftermath = aftermath;
  }
}
