import { basename, resolve } from 'node:path';
import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, Failure } from '../errors/errors.js';
import { standardOutput } from '../options/checkTarget.js';
import { publishFile } from '../target/publishFile.js';
import { tableName } from '../target/tableTarget.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { type Figures, countFigures, findSubject, subjects } from './report/figures.js';
import { reportPage } from './report/page.js';
import { called, readRows } from './report/readRows.js';

/**
 * `sluice report FILE`: reads the rows of a file or a table once, and writes one HTML file with their counts, the largest
 * collections, their times and the empty columns.
 */
export const report: Run<'report'> = async ({ file, to, ifExists = 'fail' }, environment) => {
  const { folder, stdout, stderr } = environment;
  const { name, stem } = nameRows(file);
  const target = to ?? `${stem}.html`;
  if (target === standardOutput) refuseClosed(stdout);
  const figures = await countRows(file, environment);
  const page = reportPage(figures, { name, madeAt: new Date() });
  if (target === standardOutput) await stdout.write(page);
  else await publishFile(resolve(folder, target), page, ifExists);
  const { subject, rows } = figures;
  if (target !== standardOutput)
    stderr.print(`${formatCount(rows, ...subject.noun)} of ${visibleText(file)} -> ${visibleText(target)}\n`);
  return exitCodes.done;
};

/** What the report calls its rows: without folders, and without the user of a database. `stem` is for its own file. */
function nameRows(file: string): { readonly name: string; readonly stem: string } {
  const table = tableName(file, called);
  if (table?.kind !== 'postgres') {
    return { name: basename(file), stem: basename(file.replace(/#.*$/, '')).replace(/(\.[^.]*?)(\.gz)?$/i, '') };
  }
  const { host, pathname } = new URL(table.url);
  return { name: `${host}${pathname}#${table.table}`, stem: table.table.replaceAll(/[^\w.-]/g, '-') };
}

async function countRows(file: string, environment: Environment): Promise<Figures> {
  const { columns, figures } = await readRows(file, environment, async ({ columns, rows }) => {
    const subject = findSubject(columns);
    return { columns, figures: subject && (await countFigures(subject, columns, rows)) };
  });
  if (figures) return figures;
  const known = subjects.map(({ source }) => source).join(' and ');
  const has = columns.length === 0 ? 'no columns' : `the columns ${columns.slice(0, 12).join(', ')}`;
  throw new Failure(
    `${file} has ${has}. A report needs those of a source whose columns are declared: ${known}. Export one of these.`,
  );
}
