import { describe, expect, test } from 'vitest';
import { colorsFor } from '../../src/terminal/colors.js';
import { displayWidth } from '../../src/terminal/width.js';
import { plainLine, rowsPerSecond, shareDone, timeLeft, type Progress } from '../../src/progress/exportProgress.js';
import { progressLine } from '../../src/progress/progressLine.js';

const colors = colorsFor(false, {});
const some: Progress = {
  rows: 2700,
  pages: 27,
  resumedRows: 0,
  total: 8000,
  elapsed: 2000,
  requests: 29,
  retries: 2,
  waited: 1234,
};

describe('progress', () => {
  test('knows its pace, its share and the time that is left', () => {
    expect(rowsPerSecond(some)).toBe(1350);
    expect(shareDone(some)).toBe(0.3375);
    expect(timeLeft(some)).toBeCloseTo(3926, 0);
  });

  test('counts only the rows of this run for the pace', () => {
    const resumed = { ...some, resumedRows: 1700 };
    expect(rowsPerSecond(resumed)).toBe(500);
    expect(timeLeft(resumed)).toBe(10_600);
  });

  test('at the beginning, or without a total, nothing is foretold', () => {
    expect(timeLeft({ ...some, rows: 0 })).toBeUndefined();
    expect(rowsPerSecond({ ...some, elapsed: 0 })).toBe(0);
    expect(timeLeft({ ...some, total: undefined })).toBeUndefined();
    expect(shareDone({ ...some, total: undefined })).toBeUndefined();
  });

  test('of an empty listing is done; more rows than foretold are no more than all', () => {
    expect(shareDone({ ...some, rows: 0, total: 0 })).toBe(1);
    expect(shareDone({ ...some, rows: 9000 })).toBe(1);
    // It has not ended yet.
    expect(timeLeft({ ...some, rows: 9000 })).toBe(1000);
  });
});

describe('the line of a terminal', () => {
  test.each<[string, Progress, number, string]>([
    [
      'in full',
      some,
      120,
      '████████░░░░░░░░░░░░░░░░   33 %  2,700 rows  1,350/s  27 pages  29 requests  2 retries  waited 1.2 s  4 s left',
    ],
    ['at 80 columns', some, 79, '█████░░░░░░░░░░   33 %  2,700 rows  1,350/s  2 retries  waited 1.2 s  4 s left'],
    ['narrow', some, 40, '███░░░░░░░   33 %  2,700 rows  4 s left'],
    ['tiny', some, 8, '2,700 r…'],
    [
      'without a total',
      { ...some, total: undefined },
      70,
      '⠋  2,700 rows  1,350/s  27 pages  29 requests  2 retries  waited 1.2 s',
    ],
    [
      'of several wallets',
      { ...some, total: undefined, partitions: { done: 12, of: 40, noun: 'wallets' } },
      50,
      '⠋  2,700 rows  12 of 40 wallets  1,350/s',
    ],
    [
      'paused by the API',
      { ...some, lastRetry: 'HTTP 429', wait: { kind: 'pause', left: 12_000, cause: 'HTTP 429' } },
      79,
      '█████░░░░░░░░░░   33 %  2,700 rows  1,350/s  paused for 12 s (HTTP 429)',
    ],
    [
      'with the reason of the last retry',
      { ...some, lastRetry: 'HTTP 503' },
      119,
      '███████░░░░░░░░░░░░░░░░   33 %  2,700 rows  1,350/s  27 pages  2 retries (HTTP 503)  waited 1.2 s  4 s left',
    ],
    [
      'slowed down by a webhook',
      {
        ...some,
        total: undefined,
        wait: { kind: 'target', since: 3000, target: 'the webhook', cause: 'connection refused' },
      },
      65,
      '⠋  2,700 rows  waiting 3.0 s for the webhook (connection refused)',
    ],
    [
      'the same with a total, at 60 columns',
      { ...some, wait: { kind: 'target', since: 3000, target: 'the webhook', cause: 'connection refused' } },
      59,
      '███░░░░░░░░   33 %  2,700 rows  waiting for the webhook',
    ],
    [
      'at the start',
      { ...some, rows: 0, pages: 0, elapsed: 0, requests: 1, retries: 0, waited: 0 },
      79,
      '░░░░░░░░░░░░░░░    0 %  0 rows  0/s  0 pages  1 request',
    ],
    ['at the end', { ...some, rows: 8000, pages: 80 }, 60, '████████████  100 %  8,000 rows  4,000/s  1 s left'],
  ])('%s', (_, progress, columns, line) => {
    expect(progressLine(progress, { columns, colors })).toBe(line);
  });

  test('never gets too wide', () => {
    for (let columns = 1; columns < 160; columns += 1)
      for (const total of [undefined, 8000])
        expect(displayWidth(progressLine({ ...some, total }, { columns, colors }))).toBeLessThanOrEqual(columns);
  });
});

test.each([
  [some, '2,700 of 8,000 rows, 1,350/s, 27 pages, 29 requests, 2 retries, waited 1.2 s, 4 s left'],
  [{ ...some, total: undefined, retries: 0, waited: 20 }, '2,700 rows, 1,350/s, 27 pages, 29 requests'],
  [
    {
      ...some,
      rows: 1,
      pages: 1,
      total: undefined,
      requests: 1,
      retries: 1,
      waited: 0,
      lastRetry: 'HTTP 503',
      wait: { kind: 'retry', since: 3000, left: 3000, cause: 'HTTP 503' } as const,
    },
    '1 row, 1/s, 1 page, 1 request, 1 retry, retries in 3.0 s (HTTP 503)',
  ],
])('the line of a log, %#', (progress, line) => {
  expect(plainLine(progress)).toBe(line);
});
