import { basename, resolve } from 'node:path';
import type { Run } from '../config/config.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, Failure } from '../errors/errors.js';
import { standardOutput } from '../options/checkTarget.js';
import { publishFile } from '../target/publishFile.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { type Figures, countFigures, type ReportRow, findSubject, subjects } from './report/figures.js';
import { reportPage } from './report/page.js';
import { openRows } from './report/readRows.js';

/**
 * `sluice report FILE`: reads the rows of a file once, and writes one HTML file with their counts, the largest
 * collections, their times and the empty columns.
 */
export const report: Run<'report'> = async ({ file, to, ifExists = 'fail' }, environment) => {
  const { folder, stdout, stderr, signal } = environment;
  const target = to ?? `${basename(file.replace(/#.*$/, '')).replace(/(\.[^.]*?)(\.gz)?$/i, '')}.html`;
  if (target === standardOutput) refuseClosed(stdout);
  const figures = await read(file, (path) => resolve(folder, path), signal);
  const page = reportPage(figures, { file: basename(file), madeAt: new Date() });
  if (target === standardOutput) await stdout.write(page);
  else await publishFile(resolve(folder, target), page, ifExists);
  const { subject, rows } = figures;
  if (target !== standardOutput)
    stderr.print(`${formatCount(rows, ...subject.noun)} of ${visibleText(file)} -> ${visibleText(target)}\n`);
  return exitCodes.done;
};

async function read(name: string, resolved: (path: string) => string, signal: AbortSignal): Promise<Figures> {
  const { columns, rows, close } = await openRows(name, resolved);
  try {
    const subject = findSubject(columns);
    if (!subject) {
      const known = subjects.map(({ source }) => source).join(' and ');
      const has = columns.length === 0 ? 'no columns' : `the columns ${columns.slice(0, 12).join(', ')}`;
      throw new Failure(
        `${name} has ${has}. A report needs those of a source whose columns are declared: ${known}. Export one of these, without --extra.`,
      );
    }
    return await countFigures(subject, columns, stoppable(rows, signal));
  } finally {
    await close();
  }
}

async function* stoppable(rows: AsyncIterable<ReportRow>, signal: AbortSignal): AsyncGenerator<ReportRow> {
  for await (const row of rows) {
    signal.throwIfAborted();
    yield row;
  }
}
