import type { Delivery, HttpEvent } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { deliveryReports } from '../../src/webhook/deliveryReports.js';

const route = 'The endpoint';
const error = { name: 'HttpError', code: 'http', message: 'It failed.', details: { status: 503 } } as const;

const requested = (request: number): HttpEvent => ({
  route,
  request,
  type: 'request',
  method: 'POST',
  url: 'https://h',
});
const sent = (request: number): HttpEvent => ({ route, request, type: 'attempt', attempt: 1, waited: 0 });
const answered = (request: number): HttpEvent => ({
  route,
  request,
  type: 'settled',
  attempts: 1,
  took: 1,
  outcome: 'answered',
  status: 200,
});
const again = (request: number): HttpEvent => ({
  route,
  request,
  type: 'retry',
  attempt: 1,
  delay: 1,
  reason: 'http',
  left: 1,
  error,
});

function stepsOf(events: readonly HttpEvent[], isLimited: boolean): Delivery['step'][] {
  const steps: Delivery['step'][] = [];
  const reports = deliveryReports({ onDelivery: ({ step }) => steps.push(step) }, () => 1, isLimited);
  for (const event of events) reports.onEvent(event);
  return steps;
}

const busy = [requested(1), sent(1), requested(2), requested(3), answered(1), sent(2), again(2), sent(2), answered(2)];

test('a webhook with a rate limit says when all that is due waits for it', () => {
  expect(stepsOf(busy, true)).toEqual(['queued', 'sent', 'queued', 'sent', 'retry', 'queued', 'sent', 'queued']);
  expect(stepsOf([requested(1), requested(2), sent(1), answered(1), sent(2), answered(2)], true)).toEqual([
    'queued',
    'sent',
    'queued',
    'sent',
  ]);
});

test('one without says nothing of that', () => {
  expect(stepsOf(busy, false)).toEqual(['sent', 'sent', 'retry', 'sent']);
});
