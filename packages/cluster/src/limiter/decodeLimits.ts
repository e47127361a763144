import type { Limit } from '@sluice/core';
import { checkLimit, rateWindows } from '@sluice/core/kit';

/** Ms by which the clock of Redis may be set forward unnoticed: starts then seem older than they are. */
const clockMargin = 5;
/** So many buckets hold the starts of a window, however long it is. */
const maxBuckets = 1_000;
const rules = { option: 'limits', isWhole: true, maxPer: 3_600_000 };

/** At most `max` cost units in any `span`; starts are counted in buckets of `width`. Both are in microseconds. */
export interface BookWindow {
  readonly max: number;
  readonly span: number;
  readonly width: number;
  /** By route; others cost 1. */
  readonly costs: Readonly<Record<string, number>>;
  /** Ms of the limit; absent for a burst. */
  readonly per?: number;
}

/** Reads a text of {@link encodeLimits}. */
export function decodeLimits(text: string): readonly BookWindow[] {
  return text === '' ? [] : (JSON.parse(text) as readonly BookWindow[]);
}

/** Limits for people: `25 per 1000 ms and 500 per 3600000 ms`. */
export function describeLimits(text: string): string {
  const windows = decodeLimits(text).map(({ max, per }) =>
    per === undefined ? `${max} back to back` : `${max} per ${per} ms`,
  );
  return windows.join(' and ');
}

/** The limits as one text: the same for the same limits, so that processes can compare what they were given; empty for none. */
export function encodeLimits(limits: readonly Limit[]): string {
  if (limits.length === 0) return '';
  for (const limit of limits) checkLimit(limit, rules);
  const windows = rateWindows(limits, clockMargin).map((window): BookWindow => {
    const span = Math.ceil(1_000 * window.span);
    const costs = Object.fromEntries(Object.entries(window.costs).sort(([a], [b]) => (a < b ? -1 : 1)));
    return { ...window, span, width: Math.max(1, Math.ceil(span / maxBuckets)), costs };
  });
  return JSON.stringify(windows);
}
