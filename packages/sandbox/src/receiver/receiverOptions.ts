import type { IncomingHttpHeaders } from 'node:http';
import { check } from '../sandboxOptions.js';
import type { DeliveredRecord } from './decodeRecords.js';
import type { ReceiverFailures } from './failureDraw.js';
import { failureWords, replyOf, type ReceiverAnswer } from './receiverAnswer.js';

/** A request whose body was read, before it is answered. */
export interface Delivery {
  /** Which request to the receiver it is, from 1. */
  readonly n: number;
  /** The `webhook-id`; empty where there is none. */
  readonly id: string;
  /** Which request with this `webhook-id` it is, from 1, refused and failed ones included. */
  readonly attempt: number;
  readonly headers: IncomingHttpHeaders;
  /** The exact text; empty where the connection is to be reset before the body is read. */
  readonly body: string;
  /** What the body holds: one record, or those of a batch. None where it was not read. */
  readonly records: readonly DeliveredRecord[];
}

/** What {@link startReceiver} takes. */
export interface ReceiverOptions {
  /** `whsec_BASE64`; with several, any may match. Default: signatures are not checked. */
  readonly secrets?: readonly string[];
  /** How many seconds `webhook-timestamp` may be off, either way. Default 300. */
  readonly tolerance?: number;
  /** The port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** What decides about failures. Default 1. */
  readonly seed?: number;
  /** Time before each answer in ms. Records are accepted before it. Default 0. */
  readonly latency?: number;
  /** Failures by seed. They win over the script, and a wrong signature wins over them. Default: none. */
  readonly failures?: ReceiverFailures;
  /**
   * How deliveries are answered that are neither refused nor meet a failure: by a function, where `undefined` is `'ok'`, or
   * by a list in the order of their bodies' arrival, then `'ok'`. Default: `'ok'`. What it throws becomes a 500.
   */
  readonly script?: ((delivery: Delivery) => ReceiverAnswer | undefined) | readonly ReceiverAnswer[];
  /**
   * Called once for each request when its body is read and its records are counted, before its answer; for one that is reset
   * before its body is read, at that moment. A promise is waited for: a sender that it kills never sees the answer.
   */
  readonly onRequest?: (delivery: Delivery) => unknown;
  /** The clock in ms since 1970. Default: `Date.now`, as timestamps are compared with it. */
  readonly now?: () => number;
}

/** The options with their defaults. */
export type ReceiverSettings = Required<Omit<ReceiverOptions, 'secrets' | 'failures' | 'script'>> & {
  readonly secrets: readonly string[] | undefined;
  readonly failures: Required<ReceiverFailures>;
  readonly script: (delivery: Delivery) => ReceiverAnswer | undefined;
};

/** Fills in the defaults. Raises `RangeError` for what makes no sense, naming the option. */
export function receiverSettingsOf(options: ReceiverOptions): ReceiverSettings {
  const { script, failures = { share: 0 } } = options;
  if (options.secrets?.length === 0) {
    throw new RangeError('secrets is empty, so that nothing could match: give one, or leave it out to check none.');
  }
  const kinds = failures.kinds ?? failureWords.filter((word) => word !== 'never');
  if (kinds.length === 0) throw new RangeError('failures.kinds is empty: give one, or leave it out.');
  // What can't be sent is told now, rather than to the sender.
  kinds.forEach(replyOf);
  if (typeof script === 'object') script.forEach(replyOf);
  return {
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
    script: typeof script === 'function' ? script : oneAfterTheOther(script ?? []),
    onRequest: options.onRequest ?? (() => undefined),
    now: options.now ?? Date.now,
  };
}

function oneAfterTheOther(answers: readonly ReceiverAnswer[]): () => ReceiverAnswer | undefined {
  let next = 0;
  return () => answers[next++];
}
