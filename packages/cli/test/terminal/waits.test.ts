import { describe, expect, test } from 'vitest';
import { type Wait, waitText } from '../../src/progress/waits.js';

describe('the words for a wait', () => {
  test.each<[Wait, string, string]>([
    [{ kind: 'stopping' }, 'stopping', 'stopping'],
    [{ kind: 'pause', left: 12_000 }, 'paused for 12 s', 'paused for 12 s'],
    [{ kind: 'pause', left: 500, cause: 'HTTP 429' }, 'paused for 500 ms (HTTP 429)', 'paused for 500 ms'],
    [{ kind: 'retry', since: 9000, left: 4000, cause: 'HTTP 503' }, 'retries in 4.0 s (HTTP 503)', 'retries in 4.0 s'],
    [{ kind: 'retry', since: 9000, left: 0, cause: 'HTTP 503' }, 'failing for 9.0 s (HTTP 503)', 'failing for 9.0 s'],
    [{ kind: 'limit', since: 2500 }, 'waiting 2.5 s for the limit', 'waiting for the limit'],
    [{ kind: 'response', since: 61_000 }, 'no response for 1 min 1 s', 'no response for 1 min 1 s'],
    [{ kind: 'target', since: 3000, target: 'the table' }, 'waiting 3.0 s for the table', 'waiting for the table'],
    [
      { kind: 'target', since: 3000, target: 'the webhook', cause: 'HTTP 500' },
      'waiting 3.0 s for the webhook (HTTP 500)',
      'waiting for the webhook',
    ],
    [
      {
        kind: 'pace',
        target: 'the webhook',
        backlog: { waiting: 52, each: 2_500 },
        sentence: 'The webhook sets the pace: 52 changes wait, 2.5 s each.',
      },
      'the webhook sets the pace: 52 changes wait, 2.5 s each',
      'waiting for the webhook',
    ],
  ])('%o', (wait, text, short) => {
    expect([waitText(wait), waitText(wait, { isShort: true })]).toEqual([text, short]);
  });
});
