import type { Colors } from '../terminal/colors.js';
import { formatCount, formatDuration, formatNumber, formatTimeLeft } from '../terminal/format.js';
import { openingLine, resumedLine, summaryLine } from './messages.js';
import { type Progress, rowsPerSecond, shareDone, timeLeft } from './progress.js';
import { every, type Reporter, type ReporterContext } from './reporter.js';

const redrawEvery = 100;
/** To the line's beginning, and erase what stands there. */
const eraseLine = '\r\u001b[K';

/** `--progress bar`: one line of a terminal, drawn over itself, and gone at the end. */
export function barReporter({ output, clock, header, read }: ReporterContext): Reporter {
  const draw = (): void => {
    // The last column stays free: a character there would make some terminals begin a new line.
    output.tell(eraseLine + progressLine(read(), { columns: output.columns - 1, colors: output.colors }));
  };
  const stop = every(clock, redrawEvery, draw);
  const tellAbove = (line: string): void => {
    output.tell(`${eraseLine}${line}\n`);
    draw();
  };
  const opening = openingLine(header);
  if (opening === undefined) draw();
  else tellAbove(opening);
  return {
    resumed: (resumed) => {
      tellAbove(resumedLine(resumed, header));
    },
    warn: (message) => {
      tellAbove(`sluice: ${message}`);
    },
    info: tellAbove,
    done: (summary) => {
      stop();
      output.tell(eraseLine + (summary ? `${summaryLine(summary)}\n` : ''));
    },
    ended: () => {
      stop();
      output.tell(eraseLine);
      return false;
    },
  };
}

/** A piece of the line. */
interface Piece {
  readonly text: string;
  /** In a narrow line the highest rank goes first; 0 stays. */
  readonly rank: number;
}

const gap = '  ';
const shortestBar = 10;
const longestBar = 30;
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const msPerFrame = 100;

/**
 * Progress on one line of a terminal, at most `columns` wide: a bar where a total is known, a turning mark otherwise, then figures,
 * of which the less telling ones are left out where there is no room.
 *
 * @example progressLine(progress, { columns: 80, colors })
 * // '███████░░░░░░   54 %  2,700 rows  1,024/s  27 pages  2 retries  waited 1.2 s  3 s left'
 */
export function progressLine(
  progress: Progress,
  { columns, colors }: { readonly columns: number; readonly colors: Colors },
): string {
  const share = shareDone(progress);
  const pieces = piecesOf(progress);
  const length = Math.max(shortestBar, Math.min(longestBar, Math.floor(columns / 5)));
  const lead = share === undefined ? 1 : length + gap.length + percent(share).length;
  while (widthOf(pieces, lead) > columns && dropLeastTelling(pieces));
  const figures = pieces.map(({ text }) => text).join(gap);
  if (lead + gap.length + figures.length > columns) return figures.slice(0, columns);
  if (share === undefined) return `${colors.cyan(frameAt(progress.elapsed))}${gap}${figures}`;
  const full = Math.floor(share * length);
  return `${colors.cyan('█'.repeat(full))}${colors.dim('░'.repeat(length - full))}${gap}${percent(share)}${gap}${figures}`;
}

function piecesOf(progress: Progress): Piece[] {
  const { rows, pages, requests, retries, waited, pausedFor, sent } = progress;
  const left = timeLeft(progress);
  return [
    { text: formatCount(rows, 'row'), rank: 0 },
    { text: `${formatNumber(rowsPerSecond(progress))}/s`, rank: 2 },
    { text: formatCount(pages, 'page'), rank: 5 },
    { text: formatCount(requests, 'request'), rank: 6 },
    ...(retries > 0 ? [{ text: formatCount(retries, 'retry', 'retries'), rank: 3 }] : []),
    ...(waited >= 100 ? [{ text: `waited ${formatDuration(waited)}`, rank: 4 }] : []),
    ...(pausedFor > 0 ? [{ text: `paused for ${formatDuration(pausedFor)}`, rank: 1 }] : []),
    ...(sent ? [{ text: formatCount(sent.deliveries, 'delivery', 'deliveries'), rank: 4 }] : []),
    ...(sent && sent.redeliveries > 0 ? [{ text: `${formatNumber(sent.redeliveries)} repeated`, rank: 3 }] : []),
    ...(left === undefined ? [] : [{ text: `${formatTimeLeft(left)} left`, rank: 1 }]),
  ];
}

function widthOf(pieces: readonly Piece[], lead: number): number {
  return pieces.reduce((width, { text }) => width + gap.length + text.length, lead);
}

function dropLeastTelling(pieces: Piece[]): boolean {
  const highest = Math.max(...pieces.map(({ rank }) => rank));
  if (highest === 0) return false;
  pieces.splice(
    pieces.findLastIndex(({ rank }) => rank === highest),
    1,
  );
  return true;
}

function percent(share: number): string {
  return `${String(Math.floor(share * 100)).padStart(3)} %`;
}

function frameAt(elapsed: number): string {
  return frames[Math.floor(elapsed / msPerFrame) % frames.length] ?? frames[0];
}
