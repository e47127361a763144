import { listen, type LocalServer } from '../listen.js';
import type { ServerCounts } from '../serverLog.js';
import { AcceptedRecords, type AcceptedRecord } from './acceptedRecords.js';
import { deliveryListener, DeliveryLog, type ReceivedRequest } from './deliveryListener.js';
import { checkReceiverOptions, type ReceiverOptions } from './receiverOptions.js';

/** Totals since the start. */
export interface ReceiverCounts extends ServerCounts {
  /** Accepted records, each id once. */
  readonly accepted: number;
  /** Repeated acceptances of an id. */
  readonly doubled: number;
  /** Deliveries, accepted or not, with another text than the one before with the same id. */
  readonly differing: number;
  /** Requests refused for signature (401), missing `webhook-id` (400) or method (405). */
  readonly refused: number;
  /** Valid requests without a 2xx response. */
  readonly failed: number;
}

/** A running receiver, which any path of its URL leads to. */
export interface Receiver extends LocalServer {
  /** The last 10,000 requests, oldest first. Live: the list and its open entries change. */
  readonly requests: readonly ReceivedRequest[];
  /** The accepted records by id, in the order of their first acceptance. Live. */
  readonly accepted: ReadonlyMap<string, AcceptedRecord>;
  /** The current totals since the start. */
  readonly counts: ReceiverCounts;
  /** Number of connections since the start. */
  readonly connections: number;
}

/**
 * Starts a webhook endpoint on 127.0.0.1 that verifies signatures according to Standard Webhooks, responds as
 * configured, and counts accepted records. It keeps the process alive until it is closed.
 *
 * Throws `RangeError` for an invalid option, and `Error` if the port is in use.
 *
 * @example
 * await using receiver = await startReceiver({ failures: { share: 0.3, kinds: ['reset', 'accept-then-error'] } });
 * await exportTo(source, webhook({ url: receiver.url, secret, allowAddresses: ['127.0.0.1'] })).run();
 * console.log(receiver.counts.accepted, receiver.counts.doubled);
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const settings = checkReceiverOptions(options);
  const log = new DeliveryLog(settings.now, 'The receiver was closed before the awaited delivery arrived.');
  const records = new AcceptedRecords();
  const server = await listen(deliveryListener(settings, log, records), settings.port, 'The receiver', log);
  return {
    ...server,
    requests: log.entries,
    accepted: records.byId,
    get counts() {
      const { requests, refused, failed, aborted, open, maxOpen } = log;
      const { doubled, differing } = records;
      return { requests, accepted: records.byId.size, doubled, differing, refused, failed, aborted, open, maxOpen };
    },
    get connections() {
      return log.connections;
    },
  };
}
