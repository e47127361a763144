import type { ErrorReport } from '../../errorReport.js';
import type { Outage } from '../../outage.js';

/** A page was fetched, and continues the one before. Its rows are decoded later; an `error` follows if that fails. */
export interface PageEvent {
  readonly type: 'page';
  /** The source's name, e.g. `aptos.nfts`. */
  readonly source: string;
  /** The partition, from 0. */
  readonly partition: number;
  /** The number of the page in its partition, from 1, across resumed runs. */
  readonly page: number;
  readonly rows: number;
  /** Rows in the whole listing, if the API states it. */
  readonly total?: number;
  /** It is the last page of its partition. */
  readonly endsPartition?: true;
}

/** Rows are durable in a sink, whatever happens next. */
export interface CommitEvent {
  readonly type: 'commit';
  /** The source's name. */
  readonly source: string;
  /** The sink's name, e.g. `csv`. */
  readonly sink: string;
  /** All committed rows and pages of the export, across resumed runs. */
  readonly rows: number;
  readonly pages: number;
  /** Whether the export is complete: the source has ended. */
  readonly isSealed: boolean;
}

/** A row of a watch has changed, or is known already. Created only if a hook or subscriber receives such events. */
export interface ChangeEvent {
  readonly type: 'change';
  /** The watch's name, e.g. `streams.list.changes`. */
  readonly source: string;
  /** The key of the row. */
  readonly key: string;
  /** The name of the row for people, by the source's `nameOf`; absent without one. */
  readonly name?: string;
  /**
   * The change's type. `known`: the row is in the state that the watch resumes from. That is not a change, but says where
   * the changes begin.
   */
  readonly kind: 'initial' | 'added' | 'changed' | 'removed' | 'known';
  /** The row's status before the change, by the source's `statusOf`; `null` without a row or a status. */
  readonly before: string | null;
  /** The row's status now. */
  readonly after: string | null;
  /** When the poll that found it ended, by our clock: ISO 8601, UTC. For a known row: when the watch resumed. */
  readonly observedAt: string;
}

/** A rule of a watch has held for a row for so long that it is due, or no longer does; or it is due already. */
export interface DueEvent {
  readonly type: 'due';
  /** The watch's name, e.g. `streams.list.changes`. */
  readonly source: string;
  /** The key of the row. */
  readonly key: string;
  /** The name of the row for people, by the source's `nameOf`; absent without one. */
  readonly name?: string;
  /** The rule's name. */
  readonly rule: string;
  /** `known`: it was due when the watch resumed, and is not resolved. */
  readonly kind: 'due' | 'resolved' | 'known';
  /** When the rule began to hold: ISO 8601, UTC. `earliest` is `null` if it held when the watch looked first. */
  readonly earliest: string | null;
  readonly latest: string;
  /** How often the row was due, with this time. */
  readonly times: number;
  /** Why it is resolved: the rule no longer holds for the row, the row is gone, or the rule is gone or another one. */
  readonly why?: 'changed' | 'removed' | 'rule';
  /** Until when one can act, for a rule with a `deadline`. `null` if that is unknown. */
  readonly actBefore?: string | null;
  /** When the poll that found it ended, by our clock: ISO 8601, UTC. For a known one: when the watch resumed. */
  readonly observedAt: string;
}

/** A sink was called, or has returned: in between it works, or waits for its target. */
export interface SinkEvent {
  readonly type: 'sink';
  /** The source's name. */
  readonly source: string;
  /** The sink's name. */
  readonly sink: string;
  /** The method, e.g. `write`; for a sink's own state e.g. `save`. */
  readonly call: string;
  /** Ms that the call took. Absent when it begins. */
  readonly took?: number;
}

/** A sink's report about its deliveries, e.g. of a webhook about its requests. */
export interface Delivery {
  /**
   * - `queued`: nothing is under way, and what is due waits for the sink's own rate limit.
   * - `sent`: an attempt was sent.
   * - `retry`: it failed, and is repeated.
   * - `accepted`, `refused`: the endpoint's final answer; with `refused`, it refused the content.
   * - `failed`: the endpoint accepts nothing, which ends the export.
   * - `dead-letter`: a refused record is stored.
   */
  readonly step: 'queued' | 'sent' | 'retry' | 'accepted' | 'refused' | 'failed' | 'dead-letter';
  /** Records that are neither accepted nor stored as dead letters. */
  readonly waiting: number;
  /** How many records were accepted. Default: one. */
  readonly records?: number | undefined;
  /** The status of the endpoint's response, if there was one. */
  readonly status?: number | undefined;
  /** Why the attempt failed. */
  readonly error?: ErrorReport | undefined;
}

/** A sink delivers to an endpoint. */
export interface DeliveryEvent extends Delivery {
  readonly type: 'delivery';
  /** The source's name. */
  readonly source: string;
  /** The sink's name. */
  readonly sink: string;
}

/** The target, e.g. a database, is unavailable: emitted for each attempt, and without `cause` once it is over. */
export interface OutageEvent extends Partial<Outage> {
  readonly type: 'outage';
  /** The source's name. */
  readonly source: string;
  /** The sink's name. */
  readonly sink: string;
}

/** Something failed. Each level reports it once, since an outer one may recover. Cancellation is not an error. */
export interface ErrorEvent<Of extends string = string> {
  readonly type: 'error';
  readonly of: Of;
  /** The source's name, or the request's route. */
  readonly name: string;
  readonly error: ErrorReport;
}

/** Events that walks, watches and exports send to the endpoint of their rows, for observers of the client. */
export type SourceEvent =
  | PageEvent
  | CommitEvent
  | ChangeEvent
  | DueEvent
  | SinkEvent
  | DeliveryEvent
  | OutageEvent
  | ErrorEvent<'walk' | 'watch' | 'export'>;

/** Sends an event to the observers of a client, if there is one. An observer that throws must not cost rows. */
export function notify(
  endpoint: { readonly observe?: ((event: SourceEvent) => void) | undefined } | undefined,
  event: SourceEvent,
): void {
  try {
    endpoint?.observe?.(event);
  } catch {
    // A client reports such errors itself; others have nowhere to report them.
  }
}
