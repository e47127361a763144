import { formatCount, formatNumber } from '../../terminal/format.js';
import { visibleText } from '../../terminal/text.js';
import type { Figures } from './figures.js';

/** A report as one HTML file. */
export function reportPage(
  figures: Figures,
  { name, madeAt }: { readonly name: string; readonly madeAt: Date },
): string {
  const { subject, rows, groups, time, filled, missing } = figures;
  const sections = [
    ...groups.map((group) => section(group.title, groupText(group, subject.noun), bars(group.top, rows))),
    ...(time && rows > 0
      ? [section(time.title, emptyText(time.empty, subject.noun, 'no time'), bars(time.periods, rows))]
      : []),
    section('Columns', columnsText(figures), bars(filled, rows)),
    ...(missing.length === 0 ? [] : [section('Columns that are not there', missing.join(', '), '')]),
  ];
  return htmlPage({
    title: `${formatCount(rows, ...subject.noun)} in ${name}`,
    text: `Rows of ${subject.source}, read at ${utcTime(madeAt.getTime())} UTC.`,
    figures: [...headFigures(figures)],
    sections,
  });
}

interface PageParts {
  readonly title: string;
  readonly text: string;
  readonly figures: readonly (readonly [label: string, value: string])[];
  /** As HTML. */
  readonly sections: readonly string[];
  /** More rules. */
  readonly style?: string;
}

/** One HTML file: no script, no request, in the dashboard's colours, dark or light as its reader prefers. */
export function htmlPage({ title, text, figures, sections, style: more = '' }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}${more}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
<dl>
${figures.map(([label, value]) => `<div><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd></div>`).join('\n')}
</dl>
</header>
<main>
${sections.join('\n')}
</main>
</body>
</html>
`;
}

/** @example utcTime(0) // '1970-01-01 00:00' */
export function utcTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

/** The numbers that are looked for first. */
function* headFigures({ subject, rows, groups, time, filled }: Figures): Generator<[label: string, value: string]> {
  const [first, last] = [time?.periods[0], time?.periods.at(-1)].map((period) => period?.name);
  const empty = filled.filter(({ count }) => count === 0).length;
  yield [capitalize(subject.noun[1]), formatNumber(rows)];
  for (const { noun, size, top } of groups)
    yield [capitalize(pluralOf(noun)), size === undefined ? `over ${formatNumber(top.length)}` : formatNumber(size)];
  if (first !== undefined && last !== undefined) yield ['Last changed', first === last ? first : `${first} to ${last}`];
  yield ['Empty columns', `${formatNumber(empty)} of ${formatNumber(filled.length)}`];
}

export function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function pluralOf(noun: string): string {
  return noun.endsWith('s') ? `${noun}es` : `${noun}s`;
}

function groupText(
  { noun, size, error, top, empty }: Figures['groups'][number],
  rowNoun: Figures['subject']['noun'],
): string {
  const many = pluralOf(noun);
  const all = size === undefined ? `Too many ${many} to count all.` : `${formatCount(size, noun, many)} in all.`;
  const shown = size === undefined || size > top.length ? ` The first ${formatNumber(top.length)} are shown.` : '';
  const exact = error === 0 ? '' : ` Each count may be up to ${formatNumber(error)} too low.`;
  return `${all}${shown}${exact} ${emptyText(empty, rowNoun, `no ${noun}`)}`.trim();
}

function emptyText(count: number, noun: Figures['subject']['noun'], lacking: string): string {
  return count === 0 ? '' : `${formatCount(count, ...noun)} ${count === 1 ? 'has' : 'have'} ${lacking}.`;
}

function columnsText({ filled, rows }: Figures): string {
  const empty = filled.filter(({ count }) => count === 0).map(({ name }) => name);
  if (rows === 0) return 'There are no rows.';
  if (empty.length === 0) return 'How many rows have a value. No column is empty.';
  return `How many rows have a value. Empty in all rows: ${empty.join(', ')}.`;
}

export function section(title: string, text: string, content: string): string {
  return `<section>\n<h2>${escapeHtml(title)}</h2>\n${text === '' ? '' : `<p>${escapeHtml(text)}</p>\n`}${content}</section>`;
}

/** A table with a bar below each name; the numbers say the same to those who do not see the bars. */
function bars(shares: readonly { readonly name: string; readonly count: number }[], rows: number): string {
  if (shares.length === 0) return '';
  const max = Math.max(...shares.map(({ count }) => count), 1);
  const lines = shares.map(({ name, count }) => {
    const width = ((count / max) * 100).toFixed(1);
    const share = rows === 0 ? '' : `${((count / rows) * 100).toFixed(1)} %`;
    return `<tr><th scope="row">${escapeHtml(name)}<span><i style="width:${width}%"></i></span></th><td>${formatNumber(count)}</td><td>${share}</td></tr>`;
  });
  return `<table>\n${lines.join('\n')}\n</table>\n`;
}

/** A text as text in HTML, also within quotes. Characters that would change its direction are shown as their code. */
export function escapeHtml(text: string): string {
  return visibleText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

const style = `
:root { color-scheme: light dark; --page: #f4f6f7; --panel: #fff; --ink: #16242b; --muted: #55666f; --line: #dde4e7; --flow: #0b7285; --quiet: #e8edef; }
@media (prefers-color-scheme: dark) { :root { --page: #0e1518; --panel: #162024; --ink: #e6eef0; --muted: #9fb0b7; --line: #29373d; --flow: #4cc3d4; --quiet: #26343a; } }
* { box-sizing: border-box; }
body { max-width: 1320px; margin: 0 auto; padding: 20px; background: var(--page); color: var(--ink); font: 14px/1.45 system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; font-variant-numeric: tabular-nums; }
h1, h2, p, dl, dd { margin: 0; }
header, section { min-width: 0; padding: 20px 24px; border: 1px solid var(--line); border-radius: 14px; background: var(--panel); }
h1 { font-size: 26px; line-height: 1.2; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 16px; }
p, dt { color: var(--muted); overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: 16px 28px; margin-top: 20px; }
dl div { padding-left: 14px; border-left: 1px solid var(--line); }
dt { font-size: 12px; }
dd { font-size: 22px; font-weight: 650; line-height: 1.25; letter-spacing: -.02em; white-space: nowrap; }
main { columns: 2 400px; column-gap: 16px; margin-top: 16px; }
section { break-inside: avoid; margin-bottom: 16px; }
table { width: 100%; margin-top: 8px; border-collapse: collapse; }
th, td { padding: 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child > * { border-bottom: 0; }
th { width: 100%; text-align: left; font-weight: 400; overflow-wrap: anywhere; }
td { padding-left: 16px; text-align: right; white-space: nowrap; }
td:last-child { color: var(--muted); }
span { display: block; overflow: hidden; height: 6px; margin-top: 3px; border-radius: 3px; background: var(--quiet); }
i { display: block; height: 100%; background: var(--flow); }
@media (max-width: 600px) { body { padding: 12px; } header, section { padding: 16px; } h1 { font-size: 22px; } dd { font-size: 18px; } td { padding-left: 10px; } }
`;
