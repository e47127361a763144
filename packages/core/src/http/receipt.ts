import { HttpError, RateLimitError, UnexpectedRedirectError } from '../errors.js';
import type { AttemptAnswer } from './adapter/adapter.js';
import { excerptOf, type AnswerContext, type AttemptFault, type Reading } from './answer.js';
import { isRetriedStatus } from '../isTransient.js';
import { dateAfter, retryAfter } from './retryPolicy.js';

/** 425: the endpoint did not want to risk that it had seen the request before (RFC 8470). */
const tooEarly = 425;

/**
 * Reads what came back for something that was sent: its status says all, whatever the body is.
 *
 * 2xx took it. 408, 425, 429 and 5xx may take it later; a `Retry-After` then holds back everything for that endpoint.
 */
export function readReceipt(answer: AttemptAnswer, context: AnswerContext): Reading {
  const { status } = answer;
  if (status >= 200 && status < 300) return { ok: true, body: answer.body.text };
  return { ok: false, fault: faultOfStatus(answer, context) };
}

function faultOfStatus({ status, headers, body }: AttemptAnswer, { route, secrets, now }: AnswerContext): AttemptFault {
  if (status >= 300 && status < 400) {
    const message = `${route} answered with a redirect (${status}). It was not followed, since it may lead anywhere: give the address where the endpoint really is.`;
    return { error: new UnexpectedRedirectError(message, { route, status }), retry: false, status };
  }
  const excerpt = excerptOf(body.text, secrets);
  const asked = retryAfter(headers['retry-after'], headers['date'], now);
  const isLater = isRetriedStatus(status) || status === tooEarly || status >= 500;
  const message = `${route} answered with ${status}${excerpt === '' ? '' : ` ("${excerpt}")`}. ${adviceFor(status, isLater)}`;
  const error =
    status === 429
      ? new RateLimitError(message, {
          status,
          retryAt: asked === undefined ? undefined : dateAfter(now, asked),
          details: { route, excerpt },
        })
      : new HttpError(message, { status, excerpt, details: { route } });
  const pauses = status === 429 || (isLater && asked !== undefined);
  return { error, retry: isLater, retryAfter: asked, pauses, status };
}

function adviceFor(status: number, isLater: boolean): string {
  if (status === 401 || status === 403) return 'It does not take our signature or our headers: check the secret.';
  if (status === 404) return 'Check its address.';
  if (status === 410) return 'It is gone for good and wants no more: ask whoever runs it for its new address.';
  if (status === 429) return 'It wants less at once: lower the concurrency, or wait.';
  return isLater ? 'It is in trouble: try again later.' : 'Look there for what it does not like.';
}
