import type { PageHealth } from '@sluice/core';
import { inCommandLineWords } from '../faults/inCommandLineWords.js';
import { formatDuration } from '../terminal/formatDuration.js';
import { formatCount } from '../terminal/formatNumber.js';
import type { RowLook } from './rowLook.js';

/** What is watched, and how often. */
export interface Watched {
  readonly noun: RowLook<never>['noun'];
  /** Ms from one poll to the next. */
  readonly every: number;
  /** The run ends after so many. */
  readonly polls?: number;
}

/**
 * What people should know of a poll, in sentences; most polls have nothing to say.
 *
 * @param before the poll before in this run, if there was one.
 */
export function healthLines(health: PageHealth, before: PageHealth | undefined, { noun, every }: Watched): string[] {
  const { outcome, rows, held = 0, repeated = 0 } = health;
  const count = formatCount(rows, ...noun);
  const lines: string[] = [];
  if (outcome === 'failed') return [failedLine(health)];
  if (health.isRecovered) lines.push(`Polls succeed again: ${count}.`);
  if (health.isSynced) lines.push(`Watching ${count}, with a poll every ${formatDuration(every)}.`);
  else if (!before || (before.outcome === 'failed' && before.generation === 0))
    lines.push(
      `Going on with ${count} that ${rows === 1 ? 'is' : 'are'} known, with a poll every ${formatDuration(every)}.`,
    );
  if (outcome === 'replayed' && !before) lines.push('What was found before and may not have arrived comes first.');
  if (held > (before?.held ?? 0)) {
    lines.push(
      `${formatCount(held, 'removal is', 'removals are')} held back, since the listing shrank suspiciously: until three polls agree, or with --accept-removals.`,
    );
  }
  if (repeated > (before?.repeated ?? 0))
    lines.push(
      `The listing has ${formatCount(repeated, 'key', 'keys')} more than once, with different rows: the last one counts.`,
    );
  return lines;
}

function failedLine({ failures = 1, error }: PageHealth): string {
  const row = failures > 1 ? ` (${formatCount(failures, 'in a row', 'in a row')})` : '';
  return `A poll failed${row}, and the watch goes on: ${faultOf(error)}`;
}

/** Why a poll failed, for people. */
export function faultOf(error: unknown): string {
  return error instanceof Error ? inCommandLineWords(error.message) : String(error);
}
