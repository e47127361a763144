import { context, SpanKind, SpanStatusCode, trace, type Attributes, type Span, type Tracer } from '@opentelemetry/api';
import type { Hooks } from '@sluice/core';
import type { Instruments } from './instruments.js';

/** A request that has not ended. */
interface OpenRequest {
  readonly span: Span;
  /** The attributes of each of its attempts. */
  readonly attributes: Attributes;
  readonly url: string;
  /** How often it was sent. */
  sent: number;
  attempt?: { readonly span: Span; readonly began: number };
}

type RequestHooks = Required<Pick<Hooks, 'request' | 'attempt' | 'response' | 'retry' | 'paused' | 'settled'>>;

/**
 * A span per request, named after its route, with a child span per attempt, which is what the conventions for HTTP call
 * a request.
 *
 * @param now a monotonic clock in ms.
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
export function requestHooks(tracer: Tracer, instruments: Instruments, now: () => number): RequestHooks {
  const { httpDuration, limiterWait, limiterPauses, requests, retries } = instruments;
  const open = new Map<number, OpenRequest>();

  /** Ends the span of the open attempt, if there is one. */
  function endAttempt(request: OpenRequest | undefined, outcome: Attributes): void {
    if (!request?.attempt) return;
    const { span, began } = request.attempt;
    delete request.attempt;
    httpDuration.record((now() - began) / 1000, { ...request.attributes, ...outcome });
    span.setAttributes(outcome);
    if ('error.type' in outcome) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  return {
    request({ request, route, method, url }) {
      const { hostname, port, protocol } = new URL(url);
      const attributes = {
        'http.request.method': method,
        'server.address': hostname,
        'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
      };
      // A child of the span that is active when the request is made.
      const span = tracer.startSpan(route, { attributes: { 'sluice.route': route } });
      open.set(request, { span, attributes, url, sent: 0 });
    },
    attempt({ request, route, waited }) {
      limiterWait.record(waited / 1000, { 'sluice.route': route });
      const asked = open.get(request);
      if (!asked) return;
      // If it is still open, the server had closed its idle connection. The resend is immediate, and not a retry.
      endAttempt(asked, { 'error.type': 'stale' });
      const { attributes, url, sent } = asked;
      const again = sent > 0 ? { 'http.request.resend_count': sent } : {};
      asked.sent += 1;
      const span = tracer.startSpan(
        String(attributes['http.request.method']),
        { kind: SpanKind.CLIENT, attributes: { ...attributes, 'url.full': url, ...again } },
        trace.setSpan(context.active(), asked.span),
      );
      asked.attempt = { span, began: now() };
    },
    response({ request, status }) {
      const failure = status >= 400 ? { 'error.type': String(status) } : {};
      endAttempt(open.get(request), { 'http.response.status_code': status, ...failure });
    },
    retry({ request, route, reason, delay }) {
      const asked = open.get(request);
      // An attempt without a response is still open.
      endAttempt(asked, { 'error.type': reason });
      asked?.span.addEvent('retry', { 'error.type': reason, 'sluice.delay': delay / 1000 });
      retries.add(1, { 'sluice.route': route, 'error.type': reason });
    },
    paused({ request, route, for: pause, quota }) {
      const cause = quota ? 'quota' : 'refused';
      limiterPauses.add(1, { 'sluice.route': route, 'sluice.pause.cause': cause });
      open.get(request)?.span.addEvent('paused', { 'sluice.pause.cause': cause, 'sluice.delay': pause / 1000 });
    },
    settled(event) {
      const { request, route, outcome, attempts } = event;
      const failure = event.outcome === 'failed' ? { 'error.type': event.error.code ?? event.error.name } : {};
      const asked = open.get(request);
      open.delete(request);
      // A cancelled request is not an error.
      endAttempt(asked, failure);
      asked?.span.setAttributes({ 'sluice.outcome': outcome, 'sluice.attempts': attempts, ...failure });
      if (event.outcome === 'failed') {
        asked?.span.recordException(event.error);
        asked?.span.setStatus({ code: SpanStatusCode.ERROR, message: event.error.message });
      }
      asked?.span.end();
      requests.add(1, { 'sluice.route': route, 'sluice.outcome': outcome, ...failure });
    },
  };
}
