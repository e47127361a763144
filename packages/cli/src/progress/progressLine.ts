import type { Colors } from '../terminal/colors.js';
import { formatCount, formatDuration, formatNumber, formatTimeLeft } from '../terminal/format.js';
import { cutToWidth, displayWidth } from '../terminal/width.js';
import { partitionText, type Progress, rowsPerSecond, shareDone, timeLeft } from './exportProgress.js';
import { otherCause, waitText } from './waits.js';

interface Piece {
  readonly text: string;
  /** Shown before the piece is dropped. */
  readonly short?: string;
  /** If the line is too narrow, the piece with the highest rank is dropped first; rank 0 stays. */
  readonly rank: number;
}

const gap = '  ';
const shortestBar = 10;
const longestBar = 30;
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const msPerFrame = 100;

/**
 * Progress on one line of at most `columns`: a bar if the total is known, otherwise a spinner; then figures, of which
 * the less important ones are dropped if the line is too narrow.
 *
 * @example progressLine(progress, { columns: 80, colors })
 * // '███████░░░░░░   54 %  2,700 rows  1,024/s  27 pages  2 retries  waited 1.2 s  3 s left'
 */
export function progressLine(
  progress: Progress,
  { columns, colors }: { readonly columns: number; readonly colors: Colors },
): string {
  const share = shareDone(progress);
  const pieces = listPieces(progress);
  const length = Math.max(shortestBar, Math.min(longestBar, Math.floor(columns / 5)));
  const lead = share === undefined ? 1 : length + gap.length + percent(share).length;
  while (measureLine(pieces, lead) > columns && shortenHighestRank(pieces));
  const figures = pieces.map(({ text }) => text).join(gap);
  if (lead + gap.length + displayWidth(figures) > columns) return cutToWidth(figures, columns);
  if (share === undefined) {
    const frame = frames[Math.floor(progress.elapsed / msPerFrame) % frames.length];
    return `${colors.cyan(frame ?? frames[0])}${gap}${figures}`;
  }
  const full = Math.floor(share * length);
  return `${colors.cyan('█'.repeat(full))}${colors.dim('░'.repeat(length - full))}${gap}${percent(share)}${gap}${figures}`;
}

function listPieces(progress: Progress): Piece[] {
  const { rows, pages, partitions, requests, retries, lastRetry, waited, wait, sent } = progress;
  const cause = otherCause(lastRetry, wait);
  const retried = formatCount(retries, 'retry', 'retries');
  const left = timeLeft(progress);
  return [
    { text: formatCount(rows, 'row'), rank: 0 },
    ...(partitions ? [{ text: partitionText(partitions), rank: 1 }] : []),
    { text: `${formatNumber(rowsPerSecond(progress))}/s`, rank: 2 },
    { text: formatCount(pages, 'page'), rank: 5 },
    { text: formatCount(requests, 'request'), rank: 6 },
    ...(retries > 0 ? [{ text: retried + (cause === undefined ? '' : ` (${cause})`), short: retried, rank: 3 }] : []),
    ...(waited >= 100 ? [{ text: `waited ${formatDuration(waited)}`, rank: 4 }] : []),
    ...(wait ? [{ text: waitText(wait), short: waitText(wait, { isShort: true }), rank: 1 }] : []),
    ...(sent ? [{ text: formatCount(sent.deliveries, 'delivery', 'deliveries'), rank: 4 }] : []),
    ...(sent && sent.redeliveries > 0 ? [{ text: `${formatNumber(sent.redeliveries)} repeated`, rank: 3 }] : []),
    ...(left === undefined || wait ? [] : [{ text: `${formatTimeLeft(left)} left`, rank: 1 }]),
  ];
}

function measureLine(pieces: readonly Piece[], lead: number): number {
  return pieces.reduce((width, { text }) => width + gap.length + displayWidth(text), lead);
}

/** Shortens or drops one piece. Returns `false` if there is none to drop. */
function shortenHighestRank(pieces: Piece[]): boolean {
  const highest = Math.max(...pieces.map(({ rank }) => rank));
  if (highest === 0) return false;
  const at = pieces.findLastIndex(({ rank }) => rank === highest);
  const { text = '', short = text } = pieces[at] ?? {};
  pieces.splice(at, 1, ...(short === text ? [] : [{ text: short, rank: highest }]));
  return true;
}

function percent(share: number): string {
  return `${String(Math.floor(share * 100)).padStart(3)} %`;
}
