import type { Clock } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import {
  countFields,
  plainLine,
  type Progress,
  progressFields,
  type RunHeader,
} from '../../src/progress/exportProgress.js';
import { type Resumed, resumedLine, type Summary, summaryLine } from '../../src/export/messages.js';
import { progressLine } from '../../src/progress/progressLine.js';
import { openReporter, type ProgressMode } from '../../src/progress/reporter.js';
import { testEnvironment } from '../testEnvironment.js';

const eraseLine = '\r\u001b[K';
const summary: Summary = {
  rows: 300,
  pages: 3,
  resumedRows: 0,
  target: 'holdings.csv',
  bytes: 4100,
  elapsed: 3000,
  retries: 1,
};
const resumed: Resumed = {
  rows: 200,
  pages: 2,
  isSealed: false,
  partitions: 4,
  partition: 1,
  page: 3,
  otherPartitions: 0,
};
const resumedText = 'Resuming after 200 rows (2 pages), at page 3 of partition 1 of 4.\n';
const ending = { kind: 'failed', message: 'The disk is full.', exitCode: 1 } as const;

/** A clock that is turned by hand, and a walk of a page a second. */
function reporting(mode: ProgressMode, columns?: number) {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };
  const { stderr, written } = testEnvironment({ variables: { NO_COLOR: '1' }, ...(columns && { columns }) });
  const read = (): Progress => {
    const pages = Math.floor(now / 1000);
    const counts = { rows: pages * 100, pages, requests: pages + 1, retries: 1, waited: 250 };
    return { ...counts, resumedRows: 0, total: undefined, elapsed: now };
  };
  const header: RunHeader = { source: 'aptos.nfts', target: 'holdings.csv', format: 'csv' };
  const run = {
    header,
    counts: () => countFields(read()),
    progress: { fields: () => progressFields(read()), line: () => plainLine(read()) },
    bar: (space: Parameters<typeof progressLine>[1]) => progressLine(read(), space),
  };
  const opened = openReporter(mode, run, { output: stderr, clock });
  const reporter = {
    ...opened,
    resumed: () => opened.report('resumed', resumed, [resumedLine(resumed, 'file')]),
    done: (summary: Summary) => opened.done({ target: summary.target, bytes: summary.bytes }, summaryLine(summary)),
  };
  const advance = (ms: number): void => {
    for (const end = now + ms; ;) {
      const next = timers.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) {
        now = end;
        return;
      }
      timers = timers.filter((timer) => timer !== next);
      now = next.at;
      next.callback();
    }
  };
  return { reporter, advance, print: stderr.print, text: written.stderr, openTimers: () => timers.length };
}

describe('--progress bar', () => {
  test('draws one line over itself, and leaves only the last one', () => {
    const { reporter, advance, text, openTimers } = reporting('bar', 60);
    advance(3000);
    reporter.done(summary);
    const drawn = text().split(eraseLine);
    expect(drawn[0]).toBe('');
    expect(drawn.length).toBeGreaterThan(25);
    expect(drawn.slice(1, -1).every((line) => !line.includes('\n') && line.length < 60)).toBe(true);
    expect(drawn.at(-1)).toBe('300 rows in 3 pages -> holdings.csv (4.1 kB, 3.0 s, 1 retry)\n');
    expect(openTimers()).toBe(0);
  });

  test('makes room for what it goes on from and for a warning, and is gone when the export fails', () => {
    const { reporter, print, text, openTimers } = reporting('bar', 60);
    reporter.resumed();
    expect(text()).toContain(eraseLine + resumedText);
    reporter.warn('2 addresses are repeated.');
    expect(reporter.ended(ending)).toBe(false);
    expect(text()).toContain(`${eraseLine}sluice: 2 addresses are repeated.\n`);
    print('sluice: The disk is full.\n');
    expect(text().endsWith(`${eraseLine}sluice: The disk is full.\n`)).toBe(true);
    expect(openTimers()).toBe(0);
  });
});

describe('--progress plain', () => {
  test('writes a line every five seconds', () => {
    const { reporter, advance, text, openTimers } = reporting('plain');
    reporter.resumed();
    advance(11_000);
    reporter.done(summary);
    expect(text().split('\n')).toEqual([
      resumedText.trimEnd(),
      '500 rows, 100/s, 5 pages, 6 requests, 1 retry, waited 250 ms',
      '1,000 rows, 100/s, 10 pages, 11 requests, 1 retry, waited 250 ms',
      '300 rows in 3 pages -> holdings.csv (4.1 kB, 3.0 s, 1 retry)',
      '',
    ]);
    expect(openTimers()).toBe(0);
  });
});

describe('--progress json', () => {
  test('begins with a start and ends with the report', () => {
    const { reporter, advance, text, openTimers } = reporting('json');
    reporter.warn('2 addresses are repeated.');
    advance(1500);
    reporter.done(summary);
    const counts = { rows: 100, pages: 1, requests: 2, retries: 1, waitedMs: 250 };
    expect(eventsOf(text())).toEqual([
      { event: 'start', source: 'aptos.nfts', target: 'holdings.csv', format: 'csv' },
      { event: 'warning', message: '2 addresses are repeated.' },
      { event: 'progress', ...counts, rowsPerSecond: 100, elapsedMs: 1000 },
      { event: 'report', target: 'holdings.csv', bytes: 4100, ...counts, rowsPerSecond: 67, elapsedMs: 1500 },
    ]);
    expect(openTimers()).toBe(0);
  });

  test('tells what it goes on from, and what is kept at the end', () => {
    const { reporter, text } = reporting('json');
    reporter.resumed();
    reporter.ended({ ...ending, keptRows: 250, resume: 'sluice nfts export' });
    expect(eventsOf(text()).slice(1)).toMatchObject([
      { event: 'resumed', ...resumed },
      { event: 'failed', keptRows: 250, resume: 'sluice nfts export' },
    ]);
  });

  test('tells a fault itself', () => {
    const { reporter, text } = reporting('json');
    expect(reporter.ended(ending)).toBe(true);
    expect(eventsOf(text()).at(-1)).toMatchObject({ event: 'failed', message: 'The disk is full.', exitCode: 1 });
  });
});

describe('without progress', () => {
  test('--progress none still says what came out', () => {
    const { reporter, advance, text } = reporting('none', 60);
    advance(60_000);
    reporter.warn('2 addresses are repeated.');
    reporter.resumed();
    reporter.done({ ...summary, resumedRows: 200, retries: 0 });
    expect(text()).toBe(
      `sluice: 2 addresses are repeated.\n${resumedText}300 rows in 3 pages -> holdings.csv (4.1 kB, 3.0 s, 200 rows resumed)\n`,
    );
  });

  test('--quiet says nothing', () => {
    const { reporter, advance, text } = reporting('silent', 60);
    advance(60_000);
    reporter.resumed();
    reporter.warn('2 addresses are repeated.');
    expect(reporter.ended(ending)).toBe(false);
    reporter.done(summary);
    expect(text()).toBe('');
  });
});

function eventsOf(text: string): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}
