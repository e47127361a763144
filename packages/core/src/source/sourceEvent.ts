import type { ErrorReport } from '../errorReport.js';

/**
 * A page came from the API and was checked: it goes on from the one before. What its rows are is looked at when they are wanted, and if one
 * is none an `error` follows.
 */
export interface PageEvent {
  readonly type: 'page';
  /** The source's name, e.g. `aptos.walletNfts`. */
  readonly source: string;
  /** Which part of the plan, from 0. */
  readonly partition: number;
  /** Counts the pages of that partition from 1, also those of the run that this one goes on from. */
  readonly page: number;
  readonly rows: number;
  /** Rows in the whole listing, where the API says so. */
  readonly total?: number;
}

/** Rows are durable in a sink: whatever happens from here on, they are kept. */
export interface CommitEvent {
  readonly type: 'commit';
  /** The source's name. */
  readonly source: string;
  /** The sink's name, e.g. `csv`. */
  readonly sink: string;
  /** All rows and pages of the export that are kept by now, also those of the runs that this one goes on from. */
  readonly rows: number;
  readonly pages: number;
  /** Nothing comes behind it: the source is at its end. */
  readonly isSealed: boolean;
}

/**
 * Something failed. Each level tells of it once, since each may be survived by what lies around it: a link may answer in a request's
 * stead, a watch goes on after a walk. A stop by the caller is no error.
 */
export interface ErrorEvent<Of extends string = string> {
  readonly type: 'error';
  readonly of: Of;
  /** The source's name, or a request's route. */
  readonly name: string;
  readonly error: ErrorReport;
}

/** What a walk, a watch and an export tell the endpoint that their rows come from, for those who watch the client. */
export type SourceEvent = PageEvent | CommitEvent | ErrorEvent<'walk' | 'watch' | 'export'>;

/** Told of events. It alters nothing. */
export type SourceObserver = (event: SourceEvent) => void;

/** Tells an observer, if there is one. Whoever watches loses nobody any rows, whatever it throws. */
export function tell(observe: SourceObserver | undefined, event: SourceEvent): void {
  try {
    observe?.(event);
  } catch {
    // A client reports by itself what its watchers throw. Others have nobody to report to.
  }
}
