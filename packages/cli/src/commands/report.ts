import { basename, resolve } from 'node:path';
import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, Failure } from '../errors/errors.js';
import { standardOutput } from '../options/rowFormats.js';
import { publishFile } from '../target/publishFile.js';
import { openTable, tableName } from '../target/tableTarget.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { countFigures, findSubject, subjects } from './report/figures.js';
import { foldHistory } from './report/historyFigures.js';
import { historyPage } from './report/historyPage.js';
import { reportPage } from './report/page.js';
import { called, readRows } from './report/readRows.js';

/**
 * `sluice report FILE`: reads the rows of a file or a table once, and writes one HTML file with their counts, the largest
 * collections, their times and the empty columns; of a history with their status over time and their outages.
 */
export const report: Run<'report'> = async ({ file, to, ifExists = 'fail' }, environment) => {
  const { folder, stdout, stderr } = environment;
  const { name, stem } = nameRows(file);
  const target = to ?? `${stem}.html`;
  if (target === standardOutput) refuseClosed(stdout);
  const { page, rows, noun } = await readFigures(file, { name, madeAt: new Date() }, environment);
  if (target === standardOutput) await stdout.write(page);
  else await publishFile(resolve(folder, target), page, ifExists);
  if (target !== standardOutput)
    stderr.print(`${formatCount(rows, ...noun)} of ${visibleText(file)} -> ${visibleText(target)}\n`);
  return exitCodes.done;
};

/** What the report calls its rows: without folders, and without the user of a database. `stem` is for its own file. */
function nameRows(file: string): { readonly name: string; readonly stem: string } {
  const table = tableName(file, called);
  const ofTable = table?.table.replaceAll(/[^\w.-]/g, '-') ?? '';
  if (table?.kind !== 'postgres') {
    const path = table ? file.slice(0, file.lastIndexOf('#')) : file;
    const stem = basename(path).replace(/(\.[^.]*?)(\.gz)?$/i, '');
    return { name: basename(file), stem: [stem, ofTable].filter((part) => part !== '').join('.') };
  }
  const { host, pathname } = new URL(table.url);
  return { name: `${host}${pathname}#${table.table}`, stem: ofTable };
}

interface Report {
  readonly page: string;
  readonly rows: number;
  readonly noun: readonly [one: string, many: string];
}

type Heading = Parameters<typeof reportPage>[1];

async function readFigures(file: string, heading: Heading, environment: Environment): Promise<Report> {
  const table = tableName(file, called);
  const { columns, figures } = await readRows(file, environment, async ({ columns, rows }) => {
    const subject = table && isHistory(columns) ? undefined : findSubject(columns);
    return { columns, figures: subject && (await countFigures(subject, columns, rows)) };
  });
  if (figures) return { page: reportPage(figures, heading), rows: figures.rows, noun: figures.subject.noun };
  if (table && isHistory(columns)) {
    const { readHistory } = await openTable(table, environment);
    const history = await readHistory(foldHistory);
    return { page: historyPage(history, heading), rows: history.rows, noun: history.noun };
  }
  const known = subjects.map(({ source }) => source).join(' and ');
  const has = columns.length === 0 ? 'no columns' : `the columns ${columns.slice(0, 12).join(', ')}`;
  throw new Failure(
    `${file} has ${has}. A report needs those of a source whose columns are declared: ${known}. Export one of these.`,
  );
}

function isHistory(columns: readonly string[]): boolean {
  return ['_valid_from', '_valid_to', '_ended', '_generation'].every((name) => columns.includes(name));
}
