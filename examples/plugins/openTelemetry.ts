// Telemetry as a plugin with hooks: spans and metrics of OpenTelemetry for a client. Create one plugin per client.
// Names and attributes follow https://opentelemetry.io/docs/specs/semconv/http/ where it defines them.
import { context, metrics, SpanKind, SpanStatusCode, trace, type Attributes, type Span } from '@opentelemetry/api';
import { definePlugin } from '@sluice/core';

/** An open request. */
interface OpenRequest {
  readonly span: Span;
  /** The attributes of each of its attempts. */
  readonly attributes: Attributes;
  readonly url: string;
  /** How often it was sent. */
  sent: number;
  attempt?: { readonly span: Span; readonly began: number };
}

/** Bounds of the durations' histogram in seconds, as the conventions recommend. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * A span per request, named after its route, with a child span per attempt. Default: the provider that the program
 * registered.
 */
export function openTelemetry({ tracer = trace.getTracer('sluice'), meter = metrics.getMeter('sluice') } = {}) {
  const durations = meter.createHistogram('http.client.request.duration', {
    ...{ unit: 's', description: 'Duration of attempts', advice: { explicitBucketBoundaries: boundaries } },
  });
  const waits = meter.createHistogram('sluice.limiter.wait', { unit: 's', description: 'Waits for the rate limit' });
  const requests = meter.createCounter('sluice.requests', { description: 'Requests, their retries included' });
  const retries = meter.createCounter('sluice.retries', { description: 'Attempts after a failed one' });
  const rows = meter.createCounter('sluice.rows', { description: 'Rows received' });
  const kept = meter.createGauge('sluice.rows.committed', { description: 'Rows that an export keeps by now' });
  const errors = meter.createCounter('sluice.errors', { description: 'Failures, once a level' });
  const open = new Map<number, OpenRequest>();

  /** Ends the span of the open attempt, if there is one. */
  function endAttempt(asked: OpenRequest | undefined, outcome: Attributes): void {
    if (!asked?.attempt) return;
    const { span, began } = asked.attempt;
    delete asked.attempt;
    durations.record((performance.now() - began) / 1000, { ...asked.attributes, ...outcome });
    span.setAttributes(outcome);
    if ('error.type' in outcome) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  return definePlugin({
    name: 'openTelemetry',
    hooks: {
      request({ request, route, method, url }) {
        const { hostname, port, protocol } = new URL(url);
        const attributes = {
          'http.request.method': method,
          'server.address': hostname,
          'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
        };
        // A child of the span that is active when the request is made.
        open.set(request, { span: tracer.startSpan(route), attributes, url, sent: 0 });
      },
      attempt({ request, route, waited }) {
        waits.record(waited / 1000, { 'sluice.route': route });
        const asked = open.get(request);
        if (!asked) return;
        // If it is still open, its connection was closed by the server while idle. The resend is immediate, and not a
        // retry.
        endAttempt(asked, { 'error.type': 'stale' });
        const { attributes, url, sent } = asked;
        const again = sent > 0 ? { 'http.request.resend_count': sent } : {};
        asked.sent += 1;
        const span = tracer.startSpan(
          String(attributes['http.request.method']),
          { kind: SpanKind.CLIENT, attributes: { ...attributes, 'url.full': url, ...again } },
          trace.setSpan(context.active(), asked.span),
        );
        asked.attempt = { span, began: performance.now() };
      },
      response({ request, status }) {
        const failure = status >= 400 ? { 'error.type': String(status) } : {};
        endAttempt(open.get(request), { 'http.response.status_code': status, ...failure });
      },
      retry({ request, route, reason, delay }) {
        // An attempt without a response is still open.
        endAttempt(open.get(request), { 'error.type': reason });
        open.get(request)?.span.addEvent('retry', { 'error.type': reason, 'sluice.delay': delay / 1000 });
        retries.add(1, { 'sluice.route': route, 'error.type': reason });
      },
      paused({ request, for: pause }) {
        open.get(request)?.span.addEvent('paused', { 'sluice.delay': pause / 1000 });
      },
      settled(event) {
        const { request, route, outcome } = event;
        const failure = event.outcome === 'failed' ? { 'error.type': event.error.code ?? event.error.name } : {};
        const asked = open.get(request);
        open.delete(request);
        endAttempt(asked, { ...failure, ...(outcome === 'stopped' && { 'sluice.outcome': outcome }) });
        asked?.span.setAttributes({ 'sluice.outcome': outcome, 'sluice.attempts': event.attempts, ...failure });
        if (event.outcome === 'failed') {
          asked?.span.recordException(event.error);
          asked?.span.setStatus({ code: SpanStatusCode.ERROR, message: event.error.message });
        }
        asked?.span.end();
        requests.add(1, { 'sluice.route': route, 'sluice.outcome': outcome, ...failure });
      },
      page: ({ source, rows: received }) => rows.add(received, { 'sluice.source': source }),
      commit: ({ source, sink, rows: all }) => kept.record(all, { 'sluice.source': source, 'sluice.sink': sink }),
      error: ({ of, name, error }) =>
        errors.add(1, { 'sluice.level': of, 'sluice.name': name, 'error.type': error.code ?? error.name }),
    },
  });
}
