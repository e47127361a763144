import type { ErrorReport } from './errorReport.js';

/** A target is unavailable, but may become available again. */
export interface Outage {
  /** The cause in a few words, without a quote of the target. */
  readonly cause: string;
  /** Ms since the outage began. */
  readonly for: number;
  /** Ms for which attempts continue. */
  readonly left: number;
  /** The error of the latest attempt. */
  readonly error: ErrorReport;
}
