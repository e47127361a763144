import type { ErrorReport } from './errorReport.js';

/** Why a target takes nothing now, and may later. */
export interface Outage {
  /** In a few words, which quote nothing that the target said. */
  readonly cause: string;
  /** Ms that it has lasted. */
  readonly for: number;
  /** Ms for which it is tried again. */
  readonly left: number;
  /** Of the latest attempt. */
  readonly error: ErrorReport;
}
