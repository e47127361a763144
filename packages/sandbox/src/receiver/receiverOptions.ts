import type { IncomingHttpHeaders } from 'node:http';
import { check, checkObject, refuseUnknown } from '../sandboxOptions.js';
import type { DeliveredRecord } from './decodeRecords.js';
import { failureWords, planReply, type ReceiverAnswer, type ReceiverFailure } from './receiverAnswer.js';

/** A request before its response. */
export interface Delivery {
  /** Number of the request, from 1. */
  readonly n: number;
  /** The `webhook-id`; empty if there is none. */
  readonly id: string;
  /** Number of the request with this `webhook-id`, from 1, including refused and failed ones. */
  readonly attempt: number;
  readonly headers: IncomingHttpHeaders;
  /** The exact text; empty if the connection is reset before the body is read. */
  readonly body: string;
  /** The record, or the records of a batch. Empty if the body was not read. */
  readonly records: readonly DeliveredRecord[];
}

/** Seeded failures: they depend only on the seed, the `webhook-id` and its attempt, not on time or order. */
export interface ReceiverFailures {
  /** Share of the requests that fail, 0 to 1. */
  readonly share: number;
  /** Maximum number of consecutive failures of one `webhook-id`. Default 3; `Infinity`: only the share decides. */
  readonly max?: number;
  /** The failures, each equally often. Default: all that are a string, except `'never'`. */
  readonly kinds?: readonly ReceiverFailure[];
}

/** Options of {@link startReceiver}. */
export interface ReceiverOptions {
  /** Secrets `whsec_BASE64`, one of which must match. Default: signatures are not checked. */
  readonly secrets?: readonly string[];
  /** Allowed difference of `webhook-timestamp` in seconds. Default 300. */
  readonly tolerance?: number;
  /** The port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** The seed of failures. Default 1. */
  readonly seed?: number;
  /** Latency of each response in ms, after the records are accepted. Default 0. */
  readonly latency?: number;
  /** Seeded failures. They override the script; a wrong signature overrides them. Default: none. */
  readonly failures?: ReceiverFailures;
  /**
   * Responses to deliveries without refusal or seeded failure: a function (`undefined` is `'ok'`), or a list in the
   * order in which bodies arrive, then `'ok'`. Default: `'ok'`. If it throws, the response is a 500.
   */
  readonly script?: ((delivery: Delivery) => ReceiverAnswer | undefined) | readonly ReceiverAnswer[];
  /**
   * Called for each request when its body is read and its records are counted, or before it is reset without that. The
   * response waits for a returned promise, so a sender that is killed there never sees it.
   */
  readonly onRequest?: (delivery: Delivery) => unknown;
  /** The clock in ms since 1970, compared with timestamps. Default: `Date.now`. */
  readonly now?: () => number;
}

/** The options with their defaults. */
export type ReceiverSettings = Required<Omit<ReceiverOptions, 'secrets' | 'failures' | 'script'>> & {
  readonly secrets: readonly string[] | undefined;
  readonly failures: Required<ReceiverFailures>;
  readonly script: (delivery: Delivery) => ReceiverAnswer | undefined;
};

/** Fills in the defaults. Throws `RangeError` with the option's name for an invalid value. */
export function checkReceiverOptions(options: ReceiverOptions): ReceiverSettings {
  checkObject(options);
  const { script, failures = { share: 0 } } = options;
  if (options.secrets?.length === 0)
    throw new RangeError('secrets is empty, so that nothing could match: give one, or leave it out to check none.');
  const kinds = failures.kinds ?? failureWords.filter((word) => word !== 'never');
  if (kinds.length === 0) throw new RangeError('failures.kinds is empty: give one, or leave it out.');
  // An invalid response throws here, not when it is sent.
  kinds.forEach(planReply);
  if (typeof script === 'object') script.forEach(planReply);
  const settings: ReceiverSettings = {
    secrets: options.secrets,
    tolerance: check('tolerance', options.tolerance ?? 300),
    port: check('port', options.port ?? 0, { max: 65_535, whole: true }),
    seed: check('seed', options.seed ?? 1, { min: Number.MIN_SAFE_INTEGER, whole: true }),
    latency: check('latency', options.latency ?? 0),
    failures: {
      share: check('failures.share', failures.share, { max: 1 }),
      max: check('failures.max', failures.max ?? 3),
      kinds,
    },
    script: typeof script === 'function' ? script : takeInOrder(script ?? []),
    onRequest: options.onRequest ?? (() => undefined),
    now: options.now ?? Date.now,
  };
  refuseUnknown(options, settings);
  return settings;
}

function takeInOrder(answers: readonly ReceiverAnswer[]): () => ReceiverAnswer | undefined {
  let next = 0;
  return () => answers[next++];
}
