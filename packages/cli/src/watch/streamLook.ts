import type { EvmStream } from '@sluice/streams';
import type { Colors } from '../terminal/colors.js';
import { fieldText } from '../terminal/fieldText.js';
import { formatNumber } from '../terminal/formatNumber.js';
import { paintedStatus } from '../terminal/paintedStatus.js';
import type { Phrase } from '../terminal/phrases.js';
import type { RowLook } from './rowLook.js';

const mostStatuses = 6;
const longestStatus = 24;

/** Streams as people watch them: by tag, with their status and what the API says about it. */
export function streamLook(colors: Colors): RowLook<EvmStream> {
  const status = (stream: EvmStream): Phrase => ({
    text: fieldText(stream.status) || 'no status',
    paint: (text) => paintedStatus(text, colors),
    most: longestStatus,
  });
  const message = (stream: EvmStream): Phrase => ({ text: fieldText(stream.statusMessage), paint: colors.dim });
  return {
    noun: ['stream', 'streams'],
    name: (stream) => fieldText(stream.tag).trim() || String(stream.id),
    about: (stream) => [status(stream), message(stream)],
    became: (before, after) => {
      const hasNewStatus = before.status !== after.status;
      if (!hasNewStatus && fieldText(before.statusMessage) === fieldText(after.statusMessage))
        return { phrases: [], covered: [] };
      const arrow = hasNewStatus
        ? [status(before), { text: '->', gap: 1 }, { ...status(after), gap: 1 }]
        : [status(after)];
      return { phrases: [...arrow, message(after)], covered: ['status', 'statusMessage'] };
    },
    inShort: countsByStatus,
  };
}

/** @example '31 active, 6 error, 3 paused' */
function countsByStatus(streams: readonly EvmStream[]): string {
  const counts = new Map<string, number>();
  for (const stream of streams) {
    const status = fieldText(stream.status) || 'no status';
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, mostStatuses).map(([status, count]) => `${formatNumber(count)} ${status}`);
  return [...shown, ...(sorted.length > mostStatuses ? ['…'] : [])].join(', ');
}
