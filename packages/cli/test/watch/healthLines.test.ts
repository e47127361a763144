import { RequestTimeoutError } from '@sluice/core';
import type { PageHealth } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { healthLines } from '../../src/watch/healthLines.js';

const anyFlag = (): boolean => true;
const watched = { noun: ['stream', 'streams'], every: 30_000 } as const;
const polled: PageHealth = { outcome: 'polled', rows: 42, generation: 7 };
const failed: PageHealth = { outcome: 'failed', rows: 42, generation: 7, failures: 1, error: new Error('No answer.') };
const goingOn = 'Resuming: 42 streams now, polling every 30 s.';

test.each<[string, PageHealth, PageHealth | undefined, string[]]>([
  ['a poll like the one before', polled, polled, []],
  ['the first snapshot', { ...polled, isSynced: true, rows: 1 }, undefined, ['Watching 1 stream, polling every 30 s.']],
  ['the first poll of a run that goes on', polled, undefined, [goingOn]],
  [
    'what comes again',
    { ...polled, outcome: 'replayed' },
    undefined,
    [goingOn, 'Redelivering changes from the previous run first.'],
  ],
  ['the poll behind it', polled, { ...polled, outcome: 'replayed' }, []],
  ['a poll that failed', failed, polled, ['A poll failed, and the watch continues: No answer.']],
  [
    'the second one that failed',
    { ...failed, failures: 2 },
    failed,
    ['A poll failed (2 in a row), and the watch continues: No answer.'],
  ],
  ['one that succeeds again', { ...polled, isRecovered: true }, failed, ['Polls succeed again: 42 streams.']],
  [
    'a removal that is held back',
    { ...polled, held: 1 },
    polled,
    [
      '1 removal is pending, since the listing shrank suspiciously: reported once three polls agree, over 1 min 0 s or more, or with --accept-removals.',
    ],
  ],
  ['one that still is', { ...polled, held: 1 }, { ...polled, held: 1 }, []],
  [
    'a key that is listed more than once',
    { ...polled, repeated: 1 },
    polled,
    ['The listing has 1 key more than once, with different rows: the last one counts.'],
  ],
  ['one that was before', { ...polled, repeated: 1 }, { ...polled, repeated: 1 }, []],
])('%s is told with %o', (_, health, before, lines) => {
  expect(healthLines(health, before, watched, anyFlag)).toEqual(lines);
});

test('a last poll announces no other one', () => {
  const last = { ...watched, isPolling: false };
  expect(healthLines({ ...polled, isSynced: true }, undefined, last, anyFlag)).toEqual(['Watching 42 streams.']);
  expect(healthLines(polled, undefined, last, anyFlag)).toEqual(['Resuming: 42 streams now.']);
});

test('a fault is told in the words of the command line', () => {
  const error = new RequestTimeoutError('No answer.', { advice: [{ kind: 'raise', option: 'timeouts.response' }] });
  expect(healthLines({ ...failed, error }, polled, watched, anyFlag)).toEqual([
    'A poll failed, and the watch continues: No answer. Raise --timeout.',
  ]);
});
