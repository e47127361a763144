import { statusHue, statusTone } from '@sluice/core/health';
import { formatCount, formatDuration, formatNumber } from '../../terminal/format.js';
import { type HistoryFigures, type Outage, type StatusCounts, steps, type Strip } from './historyFigures.js';
import type { Gap } from '../../watch/pollGaps.js';
import { capitalize, escapeHtml, htmlPage, section, utcTime } from './page.js';

/** A report of a history as one HTML file. Everything over time has the same axis. */
export function historyPage(
  figures: HistoryFigures,
  { name, madeAt }: { readonly name: string; readonly madeAt: Date },
): string {
  const { noun, source, rows, hasStatus, statuses, strips, outages, gaps } = figures;
  const title = capitalize(noun[1]);
  const sections = [
    wide(
      hasStatus ? `${title} by status over time` : `${title} over time`,
      `Each chart has a scale of its own, from 0 to the number in brackets; each value is the mean of ${spanText((figures.to - figures.from) / steps)}. ${gapText(figures)}`,
      [...statuses.map((status) => countsLine(status, figures)), axis(figures)],
    ),
    wide(`${title} one by one`, stripsText(figures), [
      ...strips.map((strip) => stripLine(strip, figures)),
      axis(figures),
    ]),
    ...(outages.count === 0
      ? []
      : [
          section('The longest outages', outagesText(figures), outageTable(outages.longest)),
          section('The latest outages', 'The last one first.', outageTable(outages.latest)),
        ]),
  ];
  return htmlPage({
    title: `History of ${formatCount(rows, ...noun)} in ${name}`,
    text: `${source === undefined ? 'Rows' : `Rows of ${source}`} from ${utcTime(figures.from)} to ${utcTime(figures.to)}, read at ${utcTime(madeAt.getTime())}. All times are UTC.`,
    figures: [...headFigures(figures)],
    sections,
    style: style + gapStyle(gaps, figures),
  });
}

function* headFigures({ noun, present, polls, gaps, hasStatus, outages }: HistoryFigures): Generator<[string, string]> {
  const [longest] = outages.longest;
  yield [`${capitalize(noun[1])} now`, formatNumber(present)];
  if (hasStatus) {
    yield ['Failing now', formatNumber(outages.open)];
    yield ['Outages', formatNumber(outages.count)];
  }
  if (longest) yield ['Longest outage', spanText(longest.seen)];
  yield ['Polls', formatNumber(polls)];
  yield ['Gaps', formatNumber(gaps.length)];
}

function gapText({ gaps, polls, incompletePolls }: HistoryFigures): string {
  const incomplete =
    incompletePolls === 0
      ? ''
      : ` In ${formatNumber(incompletePolls)} of ${formatCount(polls, 'poll')}, the API left rows out.`;
  if (gaps.length === 0) return `There was no gap between polls.${incomplete}`;
  return `Where it is hatched, there was no poll for more than three times as long as usual: of that time nothing is known.${incomplete}`;
}

function stripsText({ strips, rows, noun, hasStatus }: HistoryFigures): string {
  const first = hasStatus ? 'Those that fail now, then those with the longest outages, then' : 'First';
  const order = `${first} those that changed last.`;
  return strips.length < rows ? `${formatNumber(strips.length)} of ${formatCount(rows, ...noun)}. ${order}` : order;
}

function outagesText({ gaps }: HistoryFigures): string {
  return gaps.length === 0
    ? 'How long a status lasted that stands for a failure.'
    : 'How long a status lasted that stands for a failure, without the time in which nobody looked.';
}

function wide(title: string, text: string, lines: readonly string[]): string {
  return section(title, text, `<div class="lines">\n${lines.join('\n')}\n</div>\n`).replace(
    '<section>',
    '<section class="wide">',
  );
}

function line(label: string, chart: string, end: string): string {
  return `<div class="line">${label}${chart}${end}</div>`;
}

const noStatusName = 'there';

function countsLine({ name, now, counts }: StatusCounts, { noun }: HistoryFigures): string {
  // Sums of parts of a step are not exact.
  const max = Math.max(1, Math.ceil(counts.reduce((highest, value) => Math.max(highest, value), 0) - 1e-6));
  let path = 'M0 100';
  // Equal values are one line: most of them are.
  counts.forEach((value, nth) => {
    if (nth > 0 && value === counts[nth - 1]) return;
    path += `${nth > 0 ? `H${nth}` : ''}V${(100 - (100 * value) / max).toFixed(1)}`;
  });
  path += `H${steps}V100Z`;
  const shown = name === '' ? noun[1] : name;
  const highest = formatNumber(max);
  return line(
    `<b class="chip ${toneClass(name)}">${escapeHtml(shown)}</b>`,
    `<div class="chart ${toneClass(name)}" role="img" aria-label="${escapeHtml(`${shown}: ${formatNumber(now)} now, at most ${highest}`)}"><svg viewBox="0 0 ${steps} 100" preserveAspectRatio="none" aria-hidden="true"><path d="${path}"/></svg></div>`,
    `<div class="now"><b>${formatNumber(now)}</b> (${highest})</div>`,
  );
}

function stripLine({ name, key, segments, status, versions, outages, failing }: Strip, span: HistoryFigures): string {
  const parts = segments.map((segment) => {
    const { status: of, from, to } = segment;
    const title = `${of === '' ? noStatusName : of} ${periodText(segment)}`;
    return `<i class="${toneClass(of)}" style="${placeOf({ from, to }, span)}" title="${escapeHtml(title)}"></i>`;
  });
  const ofVersions = formatCount(versions, 'version');
  const ofOutages = outages === 0 ? 'no outage' : `${formatCount(outages, 'outage')}, ${spanText(failing)} in all`;
  const end =
    status === undefined
      ? '<b class="chip tone-quiet">gone</b>'
      : span.hasStatus
        ? `<b class="chip ${toneClass(status)}">${escapeHtml(status)}</b>`
        : ofVersions;
  return line(
    `<span class="key"${name === key ? '' : ` title="${escapeHtml(key)}"`}>${escapeHtml(name)}</span>`,
    `<div class="strip" role="img" aria-label="${escapeHtml(`${name}: ${span.hasStatus ? ofOutages : ofVersions}`)}">${parts.join('')}</div>`,
    `<div class="now">${end}</div>`,
  );
}

/** Where a time is on the axis, from 0 to 100. */
function percent(at: number, { from, to }: Gap): number {
  return Math.max(0, Math.min(100, (100 * (at - from)) / Math.max(1, to - from)));
}

function placeOf({ from, to }: Gap, span: Gap): string {
  const left = percent(from, span);
  return `left:${left.toFixed(2)}%;width:${(percent(to, span) - left).toFixed(2)}%`;
}

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const tickSteps = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14, 28, 56, 91, 182, 364].map((count) => count * day),
];
const maxTicks = 7;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function axis(span: HistoryFigures): string {
  const step = tickSteps.find((each) => (span.to - span.from) / each <= maxTicks) ?? 364 * day;
  const ticks: string[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) {
    const left = percent(at, span);
    // One at an end would stand out of the chart.
    if (left > 3 && left < 97) ticks.push(`<time style="left:${left.toFixed(2)}%">${tickText(at, step)}</time>`);
  }
  return line('<div></div>', `<div class="axis" aria-hidden="true">${ticks.join('')}</div>`, '<div></div>');
}

function tickText(at: number, step: number): string {
  const date = new Date(at);
  if (step < day && at % day !== 0) return date.toISOString().slice(11, 16);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()] ?? ''}`;
}

function outageTable(outages: readonly Outage[]): string {
  const max = Math.max(1, ...outages.map(({ seen }) => seen));
  const lines = outages.map((outage) => {
    const { name, status, message, seen, unseen } = outage;
    const more = [
      status,
      periodText(outage) + endings[outage.ended],
      ...(unseen > 0 ? [`nobody looked for ${spanText(unseen)} more`] : []),
      ...(message === '' ? [] : [message]),
    ];
    const width = ((seen / max) * 100).toFixed(1);
    return `<tr><th scope="row">${escapeHtml(name)}<span><i class="tone-bad" style="width:${width}%"></i></span><small>${escapeHtml(more.join(' · '))}</small></th><td>${spanText(seen)}</td></tr>`;
  });
  return `<table class="outages">\n${lines.join('\n')}\n</table>\n`;
}

const endings: Readonly<Record<Outage['ended'], string>> = {
  recovered: '',
  removed: ', when it was removed',
  'not yet': ', and goes on',
};

/** @example 'from 2026-03-01 12:00 to 13:30' */
function periodText({ from, to }: Gap): string {
  const [begin, end] = [utcTime(from), utcTime(to)];
  return `from ${begin} to ${end.slice(0, 10) === begin.slice(0, 10) ? end.slice(11) : end}`;
}

/** @example spanText(187_200_000) // '2 d 4 h' */
function spanText(ms: number): string {
  if (ms < 2 * day) return formatDuration(ms).replace(/ 0 (s|min)$/, '');
  const hours = Math.round(ms / hour);
  return `${formatNumber(Math.floor(hours / 24))} d ${hours % 24} h`;
}

/** The same colours as on the dashboard. */
function toneClass(status: string): string {
  if (status === '') return 'tone-flow';
  const tone = statusTone(status);
  return tone ? `tone-${tone}` : `hue-${statusHue(status)}`;
}

/** One layer over all charts and strips cuts them where nobody looked. */
function gapStyle(gaps: readonly Gap[], span: Gap): string {
  if (gaps.length === 0) return '';
  const stops = gaps.flatMap(({ from, to }) => {
    const [left, right] = [percent(from, span).toFixed(2), percent(to, span).toFixed(2)];
    return [`transparent ${left}%`, `#000 ${left}% ${right}%`, `transparent ${right}%`];
  });
  return `.strip::after, .chart::after { content: ''; position: absolute; inset: 0; z-index: 2; background: repeating-linear-gradient(135deg, var(--panel) 0 3px, var(--line) 3px 4px); mask-image: linear-gradient(90deg, ${stops.join(', ')}); }\n`;
}

const hues = [
  ['#5b46a8', '#b9a9f5'],
  ['#0b6676', '#62cddd'],
  ['#8a3f86', '#e39fdf'],
  ['#2f5fa8', '#8fb8f5'],
  ['#6b5b00', '#d6c75a'],
  ['#9a3412', '#f5a878'],
  ['#334e68', '#a9c1d9'],
  ['#9d174d', '#f58ab5'],
];

const style = `
:root { --good: #1a7a3c; --warn: #8a5600; --bad: #b3261e; ${hues.map(([light], nth) => `--hue-${nth}: ${light};`).join(' ')} }
@media (prefers-color-scheme: dark) { :root { --good: #6fd693; --warn: #f2bd5c; --bad: #ff9a91; ${hues.map(([, dark], nth) => `--hue-${nth}: ${dark};`).join(' ')} } }
.tone-good { --tone: var(--good); } .tone-warn { --tone: var(--warn); } .tone-bad { --tone: var(--bad); } .tone-quiet { --tone: var(--muted); } .tone-flow { --tone: var(--flow); }
${hues.map((_, nth) => `.hue-${nth} { --tone: var(--hue-${nth}); }`).join(' ')}
.wide { column-span: all; }
.lines { margin-top: 14px; }
.line { display: grid; grid-template-columns: minmax(96px, 200px) minmax(0, 1fr) 96px; gap: 0 14px; align-items: center; min-height: 24px; }
.line > * { min-width: 0; }
.key { height: auto; margin: 0; border-radius: 0; background: none; text-overflow: ellipsis; white-space: nowrap; }
.chip { justify-self: start; overflow: hidden; max-width: 100%; padding: 0 8px; border-radius: 999px; background: color-mix(in srgb, var(--tone) 14%, var(--panel)); color: var(--tone); font-size: 12px; font-weight: 600; line-height: 20px; text-overflow: ellipsis; white-space: nowrap; }
.now { overflow: hidden; color: var(--muted); font-size: 12px; text-overflow: ellipsis; white-space: nowrap; }
.now b:not(.chip) { color: var(--ink); font-size: 14px; }
.now .chip { display: inline-block; vertical-align: middle; }
.chart, .strip { position: relative; overflow: hidden; border-radius: 4px; }
.chart { height: 44px; margin: 5px 0; background: var(--quiet); }
.chart svg { display: block; width: 100%; height: 100%; }
.chart path { fill: var(--tone); opacity: .8; }
.strip { height: 14px; background: var(--quiet); }
.strip i { position: absolute; top: 0; bottom: 0; height: auto; min-width: 2px; background: var(--tone); opacity: .75; }
.strip .tone-good { opacity: .5; }
.strip .tone-warn { background: repeating-linear-gradient(90deg, var(--tone) 0 3px, transparent 3px 5px); }
.strip .tone-bad { z-index: 1; opacity: 1; background: repeating-linear-gradient(135deg, var(--tone) 0 4px, color-mix(in srgb, var(--tone) 55%, var(--panel)) 4px 6px); }
.strip .tone-flow { border-left: 1px solid var(--panel); }
.axis { position: relative; height: 18px; color: var(--muted); font-size: 12px; }
.axis time { position: absolute; top: 2px; transform: translateX(-50%); white-space: nowrap; }
.outages i { background: var(--bad); }
.outages td:last-child { color: inherit; font-weight: 600; }
small { display: block; margin-top: 4px; color: var(--muted); font-size: 12px; }
@media (max-width: 600px) { .line { grid-template-columns: minmax(0, 1fr) auto; gap: 2px 10px; padding: 4px 0; } .line > :nth-child(2) { order: 3; grid-column: 1 / -1; } .line > :nth-child(3) { order: 2; text-align: right; } .axis time:nth-child(even) { display: none; } }
`;
