import type { Colors } from '../terminal/colors.js';
import { cutToWidth, displayWidth } from '../terminal/width.js';
import { listPieces, type Piece, type Progress, shareDone } from './exportProgress.js';

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
