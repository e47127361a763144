import { formatCount, formatNumber } from '../../terminal/format.js';
import { visibleText } from '../../terminal/text.js';
import type { Figures } from './figures.js';

/** A report as one HTML file: no script, no request, in the colours that its reader prefers. */
export function reportPage(
  figures: Figures,
  { file, madeAt }: { readonly file: string; readonly madeAt: Date },
): string {
  const { subject, rows, groups, time, filled, missing } = figures;
  const title = `${formatCount(rows, ...subject.noun)} in ${file}`;
  const sections = [
    ...groups.map((group) => section(group.title, groupText(group, subject.noun), bars(group.top, rows))),
    ...(time ? [section(time.title, emptyText(time.empty, subject.noun, 'no time'), bars(time.periods, rows))] : []),
    section('Columns', columnsText(figures), bars(filled, rows)),
    ...(missing.length === 0 ? [] : [section('Columns that the file does not have', missing.join(', '), '')]),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>Rows of ${escapeHtml(subject.source)}, read at ${escapeHtml(madeAt.toISOString())}.</p>
${sections.join('\n')}
</body>
</html>
`;
}

function groupText(
  { noun, size, error, top, empty }: Figures['groups'][number],
  rowNoun: Figures['subject']['noun'],
): string {
  const many = noun.endsWith('s') ? `${noun}es` : `${noun}s`;
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
  if (rows === 0 || empty.length === 0) return 'How many rows have a value. No column is empty.';
  return `How many rows have a value. Empty in all rows: ${empty.join(', ')}.`;
}

function section(title: string, text: string, content: string): string {
  return `<section>\n<h2>${escapeHtml(title)}</h2>\n${text === '' ? '' : `<p>${escapeHtml(text)}</p>\n`}${content}</section>`;
}

/** A table with a bar per row; the numbers say the same to those who do not see the bars. */
function bars(shares: readonly { readonly name: string; readonly count: number }[], rows: number): string {
  if (shares.length === 0) return '';
  const max = Math.max(...shares.map(({ count }) => count), 1);
  const lines = shares.map(({ name, count }) => {
    const width = ((count / max) * 100).toFixed(1);
    const share = rows === 0 ? '' : `${((count / rows) * 100).toFixed(1)} %`;
    return `<tr><th scope="row">${escapeHtml(name)}</th><td>${formatNumber(count)}</td><td>${share}</td><td><span style="width:${width}%"></span></td></tr>`;
  });
  return `<table>\n${lines.join('\n')}\n</table>\n`;
}

/** A text as text in HTML, also within quotes. Characters that would change its direction are shown as their code. */
function escapeHtml(text: string): string {
  return visibleText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

const style = `
:root { color-scheme: light dark; --text: #1d2430; --page: #fff; --soft: #5a6472; --bar: #3b6fd4; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ef; --page: #14181f; --soft: #9aa5b5; --bar: #6d9bf1; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p { color: var(--soft); }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-weight: normal; max-width: 22rem; overflow-wrap: anywhere; }
th, td { padding: .15rem .75rem .15rem 0; vertical-align: top; }
td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:last-child { width: 40%; padding-right: 0; text-align: left; }
span { display: inline-block; height: .8em; min-width: 1px; background: var(--bar); }
`;
