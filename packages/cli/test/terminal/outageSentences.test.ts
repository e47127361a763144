import type { HttpEvent } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { outageSentences } from '../../src/progress/notices.js';

const of = { route: 'streams.list', request: 1 } as const;

function retry(attempt: number, reason: string, left: number): HttpEvent {
  const error = { name: 'Error', message: `${reason}.` };
  return { ...of, type: 'retry', attempt, delay: 1000, reason, left, error };
}

test.each([
  ['network', 90_000, /^Waiting for up to \S.* more \(--retry-for\): network\.$/],
  ['network', Infinity, /^Waiting until it passes: network\.$/],
  // The service sets the length of a pause, so no time of ours would be true.
  ['rate-limited', 90_000, /^Waiting as long as the service asks: rate-limited\.$/],
])('a wait for what may pass (%s, %d ms left) is told once', (reason, left, sentence) => {
  const sentenceOf = outageSentences();
  expect([1, 2].map((attempt) => sentenceOf(retry(attempt, reason, left)))).toEqual([undefined, undefined]);
  expect(sentenceOf(retry(3, reason, left))).toMatch(sentence);
  expect(sentenceOf(retry(4, reason, left))).toBeUndefined();
});
