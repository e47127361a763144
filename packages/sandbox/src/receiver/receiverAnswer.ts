import type { OutgoingHttpHeaders } from 'node:http';
import { jsonAnswer } from '../answer.js';

/**
 * How a receiver responds. A 2xx, `'accept-then-error'` and `'reset-after-body'` accept the records.
 *
 * @example
 * startReceiver({ script: [{ status: 429, retryAfter: 2 }, 'reset-after-body', { kind: 'slow', ms: 300 }] });
 */
export type ReceiverAnswer = 'ok' | ReceiverFailure;

/** All responses but `'ok'`: those that {@link ReceiverOptions.failures} may draw. */
export type ReceiverFailure = (typeof failureWords)[number] | StatusAnswer | SpoiltAnswer;

/** A complete response. `retryAfter` is in seconds. Default `body`: empty for a 2xx, `{"message": …}` for others. */
export interface StatusAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  readonly retryAfter?: number;
}

/** A late, slow or endless response. */
export type SpoiltAnswer =
  /** Accepted at once, 200 after `ms` in addition to the latency, e.g. after the client's deadline. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** `body` (default: 20 bytes) in pieces of `bytes` (default 1), one every `every` ms. `status`: default 200. */
  | {
      readonly kind: 'slow-drip';
      readonly every: number;
      readonly bytes?: number;
      readonly status?: number;
      readonly body?: string;
    }
  /** A body that ends only when the client disconnects. `status`: default 200. */
  | { readonly kind: 'endless'; readonly status?: number };

/** The failures that are a string. */
export const failureWords = [
  /** The connection is reset; if drawn, before the body is read. */
  'reset',
  /** The body is read and accepted, then the connection is reset. */
  'reset-after-body',
  /** Status 500, not accepted. */
  'error',
  /** Status 503, not accepted. With Retry-After: `{ status: 503, retryAfter: 1 }`. */
  'unavailable',
  /** Accepted, then answered 500. */
  'accept-then-error',
  /** Not accepted and never answered: the connection stays open until the client closes it. */
  'never',
] as const;

/** A response in detail. */
export type Reply = Readonly<{ accepts: boolean; /** ms before the answer */ wait: number }> &
  (
    | Readonly<{ way: 'silence' | 'reset' }>
    | Readonly<{ way: 'whole'; status: number; headers: OutgoingHttpHeaders; body: string }>
    | Readonly<{ way: 'drip'; status: number; every: number; bytes: number; body: string }>
    | Readonly<{ way: 'endless'; status: number }>
  );

/** Fills in the details of a response. Throws `RangeError` for an invalid status. */
export function replyOf(answer: ReceiverAnswer): Reply {
  if (typeof answer === 'string') return replies[answer];
  const { status = 200 } = 'status' in answer ? answer : {};
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new RangeError(`The status of an answer is ${status}: give a whole number from 200 to 599.`);
  if (!('kind' in answer)) return wholeReply(answer);
  switch (answer.kind) {
    case 'slow':
      return { ...replies.ok, wait: answer.ms };
    case 'slow-drip': {
      const { every, bytes = 1, status = 200, body = '{"message":"drips."}' } = answer;
      return { way: 'drip', accepts: isSuccess(status), wait: 0, status, every, bytes, body };
    }
    case 'endless': {
      const { status = 200 } = answer;
      return { way: 'endless', accepts: isSuccess(status), wait: 0, status };
    }
  }
}

/** Whether the sender learns that its delivery was accepted. */
export function succeeds(reply: Reply): boolean {
  return 'status' in reply && isSuccess(reply.status);
}

function wholeReply({ status, headers, body, retryAfter }: StatusAnswer): Extract<Reply, { way: 'whole' }> {
  const accepts = isSuccess(status);
  const plain = accepts
    ? { headers: {}, body: '' }
    : jsonAnswer(status, { message: `An answer with status ${status}` });
  return {
    way: 'whole',
    accepts,
    wait: 0,
    status,
    headers: {
      ...(body === undefined ? plain.headers : {}),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      ...headers,
    },
    body: body ?? plain.body,
  };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

const replies = {
  ok: wholeReply({ status: 200 }),
  reset: { way: 'reset', accepts: false, wait: 0 },
  'reset-after-body': { way: 'reset', accepts: true, wait: 0 },
  error: wholeReply({ status: 500 }),
  unavailable: wholeReply({ status: 503 }),
  'accept-then-error': { ...wholeReply({ status: 500 }), accepts: true },
  never: { way: 'silence', accepts: false, wait: 0 },
} as const satisfies Record<Extract<ReceiverAnswer, string>, Reply>;
