/// <reference lib="esnext.disposable" preserve="true" />
import { listen } from '../listen.js';
import { AcceptedRecords, type AcceptedRecord } from './acceptedRecords.js';
import { deliveryListener } from './deliveryListener.js';
import { DeliveryLog, type ReceivedRequest } from './deliveryLog.js';
import { receiverSettingsOf, type ReceiverOptions } from './receiverOptions.js';

/** Totals since the start. */
export interface ReceiverCounts {
  readonly requests: number;
  /** Records that were accepted, each id once. */
  readonly accepted: number;
  /** Acceptances beyond the first of an id. */
  readonly doubled: number;
  /** Deliveries of a record with another text than came before under its id, whether that was accepted or not. */
  readonly differing: number;
  /** Requests refused for signature (401), missing `webhook-id` (400) or method (405). */
  readonly refused: number;
  /** Requests answered with another status than 2xx, or not at all, though they were in order. */
  readonly failed: number;
  /** Requests whose sender went away before the answer was sent. */
  readonly aborted: number;
  /** Requests that are open at this moment. */
  readonly open: number;
}

/** A running receiver. `await using` closes it. */
export interface Receiver extends AsyncDisposable {
  /** `http://127.0.0.1:…`, without a path: any path is answered. */
  readonly url: string;
  readonly port: number;
  /** The last 10,000 requests, oldest first. The list is live: it grows, and its open entries get an end. */
  readonly requests: readonly ReceivedRequest[];
  /** The accepted records by id, in the order of their first acceptance. Live. */
  readonly accepted: ReadonlyMap<string, AcceptedRecord>;
  /** The ids of the accepted records in the order of their first acceptance. Live. */
  readonly order: readonly string[];
  /** Totals since the start, as they are now. */
  readonly counts: ReceiverCounts;
  /** How many connections were opened since the start. */
  readonly connections: number;
  /** The most requests that were open at once. */
  readonly highest: number;
  /** Those of some ids that were never accepted, in their order. */
  missing(ids: Iterable<string>): readonly string[];
  /**
   * Resolves as soon as the condition holds; it is asked whenever a request arrives, is decided, or ends, so it should be
   * cheap. Rejects if the receiver closes.
   *
   * @example await receiver.until(() => receiver.accepted.size === 10_000);
   */
  until(condition: () => boolean): Promise<void>;
  /** Stops at once: open connections are cut, timers cleared. What was counted stays. Calling it again does no harm. */
  close(): Promise<void>;
}

/**
 * Starts a webhook endpoint on 127.0.0.1 that verifies signatures as Standard Webhooks has them, answers as it is told, and
 * counts what it accepted. It keeps the process alive until closed.
 *
 * Raises `RangeError` for an option that makes no sense, and `Error` where the port is taken.
 *
 * @example
 * await using receiver = await startReceiver({ failures: { share: 0.3, kinds: ['reset', 'accept-then-error'] } });
 * await exportTo(source, webhook({ url: receiver.url, secret, allowAddresses: ['127.0.0.1'] })).run();
 * console.log(receiver.counts.accepted, receiver.counts.doubled);
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const settings = receiverSettingsOf(options);
  const log = new DeliveryLog(settings.now);
  const records = new AcceptedRecords();
  const server = await listen(deliveryListener(settings, log, records), settings.port, 'The receiver');
  const { port } = server;
  const close = (): Promise<void> => {
    log.close();
    return server.close();
  };

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: log.entries,
    accepted: records.byId,
    order: records.order,
    get counts() {
      const { requests, refused, failed, aborted, open } = log;
      const { doubled, differing } = records;
      return { requests, accepted: records.byId.size, doubled, differing, refused, failed, aborted, open };
    },
    get connections() {
      return server.connections;
    },
    get highest() {
      return log.maxOpen;
    },
    missing: (ids) => records.missing(ids),
    until: (condition) => log.until(condition),
    close,
    [Symbol.asyncDispose]: close,
  };
}
