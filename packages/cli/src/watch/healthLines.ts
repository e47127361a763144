import { SluiceError } from '@sluice/core';
import type { PageHealth } from '@sluice/core/kit';
import { explainInFlags } from '../options/cliTerms.js';
import { formatCount, formatDuration } from '../terminal/format.js';
import type { RowView } from './rowView.js';

interface Watched {
  readonly noun: RowView<never>['noun'];
  /** Interval between polls in ms. */
  readonly every: number;
  /** Whether another poll may follow. Default `true`. */
  readonly isPolling?: boolean;
}

/** Sentences about a poll; none for most polls. @param before the previous poll of this run. */
export function healthLines(
  health: PageHealth,
  before: PageHealth | undefined,
  { noun, every, isPolling = true }: Watched,
  hasFlag: (flag: string) => boolean,
): string[] {
  const { outcome, rows, repeated = 0 } = health;
  const count = formatCount(rows, ...noun);
  const lines: string[] = [];
  if (outcome === 'failed') return [failedLine(health, hasFlag)];
  if (health.isRecovered) lines.push(`Polls succeed again: ${count}.`);
  const pace = isPolling ? `, polling every ${formatDuration(every)}` : '';
  if (health.isSynced) lines.push(`Watching ${count}${pace}.`);
  else if (!before || (before.outcome === 'failed' && before.generation === 0))
    lines.push(`Resuming: ${count} now${pace}.`);
  if (outcome === 'replayed' && !before) lines.push('Redelivering changes from the previous run first.');
  const pending = pendingLine(health, before, every);
  if (pending !== undefined) lines.push(pending);
  if (repeated > (before?.repeated ?? 0))
    lines.push(
      `The listing has ${formatCount(repeated, 'key', 'keys')} more than once, with different rows: the last one counts.`,
    );
  return lines;
}

/** That a listing shrank so much that its removals wait; `undefined` unless more of them do. @param every in ms */
export function pendingLine(
  { held = 0 }: PageHealth,
  before: PageHealth | undefined,
  every: number,
): string | undefined {
  if (held <= (before?.held ?? 0)) return undefined;
  return `${formatCount(held, 'removal is', 'removals are')} pending, since the listing shrank suspiciously: reported once three polls agree, over ${formatDuration(2 * every)} or more, or with --accept-removals.`;
}

function failedLine({ failures = 1, error }: PageHealth, hasFlag: (flag: string) => boolean): string {
  const row = failures > 1 ? ` (${formatCount(failures, 'in a row', 'in a row')})` : '';
  return `A poll failed${row}, and the watch continues: ${errorText(error, hasFlag)}`;
}

export function errorText(error: unknown, hasFlag: (flag: string) => boolean): string {
  if (SluiceError.is(error)) return explainInFlags(error, hasFlag);
  return error instanceof Error ? error.message : String(error);
}
