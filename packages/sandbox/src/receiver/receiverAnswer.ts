import type { OutgoingHttpHeaders } from 'node:http';
import { jsonAnswer, noBody, type Answer } from '../answer.js';
import type { Fault } from '../faults.js';

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
export interface Reply {
  /** The records count as accepted. */
  readonly accepts: boolean;
  readonly answer: Answer;
  readonly fault?: Fault;
  /** Ms before the response, in addition to the latency. */
  readonly wait?: number;
}

/** Fills in the details of a response. Throws `RangeError` for an invalid status. */
export function planReply(answer: ReceiverAnswer): Reply {
  if (typeof answer === 'string') return replies[answer];
  const { status = 200 } = 'status' in answer ? answer : {};
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new RangeError(`The status of an answer is ${status}: give a whole number from 200 to 599.`);
  if (!('kind' in answer)) return planStatus(answer);
  const accepts = isSuccess(status);
  switch (answer.kind) {
    case 'slow':
      return { ...replies.ok, wait: answer.ms };
    case 'slow-drip': {
      const { every, bytes = 1, body = '{"message":"drips."}' } = answer;
      const fault = { kind: 'slow-drip', every, bytes } as const;
      return { accepts, answer: { status, headers: {}, body: Buffer.from(body) }, fault };
    }
    case 'endless':
      return { accepts, answer: { status, headers: {}, body: noBody }, fault: { kind: 'huge-body', bytes: Infinity } };
  }
}

/** Whether the sender learns that its delivery was accepted. */
export function succeeds({ answer, fault }: Reply): boolean {
  return isSuccess(answer.status) && fault?.kind !== 'reset' && fault?.kind !== 'never';
}

function planStatus({ status, headers, body, retryAfter }: StatusAnswer): Reply {
  const accepts = isSuccess(status);
  const message = jsonAnswer(status, { message: `An answer with status ${status}` });
  const plain = accepts ? { headers: {}, body: noBody } : message;
  const answer = {
    status,
    headers: {
      ...(body === undefined && plain.headers),
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
      ...headers,
    },
    body: body === undefined ? plain.body : Buffer.from(body),
  };
  return { accepts, answer };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

const { answer } = planStatus({ status: 200 });

const replies: Readonly<Record<Extract<ReceiverAnswer, string>, Reply>> = {
  ok: { accepts: true, answer },
  reset: { accepts: false, answer, fault: { kind: 'reset' } },
  'reset-after-body': { accepts: true, answer, fault: { kind: 'reset' } },
  error: planStatus({ status: 500 }),
  unavailable: planStatus({ status: 503 }),
  'accept-then-error': { ...planStatus({ status: 500 }), accepts: true },
  never: { accepts: false, answer, fault: { kind: 'never' } },
};
