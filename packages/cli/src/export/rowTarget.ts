import { resolve } from 'node:path';
import type { Sink } from '@sluice/core';
import { streamSink } from '@sluice/core/node';
import { csv, csvFormat } from '@sluice/exporters/csv';
import { jsonl, jsonlFormat } from '@sluice/exporters/jsonl';
import { parquet } from '@sluice/exporters/parquet';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { UsageError } from '../errors/errors.js';
import { nameFlag, pickFor } from '../options/option.js';
import type { GroupOptions } from '../options/options.js';
import {
  chooseRowFormat,
  formatOf,
  formatOptions,
  type RowFormatName,
  rowFormats,
  standardOutput,
} from '../options/rowFormats.js';
import { fileTarget, stdoutTarget, type Target } from '../target/target.js';

type TextWriter = readonly [toFile: typeof jsonl, toText: typeof jsonlFormat];

const writers: Readonly<Record<Exclude<RowFormatName, 'parquet'>, TextWriter>> = {
  csv: [csv, csvFormat],
  jsonl: [jsonl, jsonlFormat],
};

/** The file or stdout of a command line. CSV escapes formulas by default, since people open it in spreadsheets. */
export function rowTarget<T extends object>(
  options: GroupOptions<'target'>,
  { stdout, folder }: Environment,
): Target<T> {
  const { to, columns, ifExists, gzip } = options;
  if (to === undefined) throw new UsageError('Where to? Give --to FILE, --to - for stdout, or --forward URL.');
  const format = chooseRowFormat(to, options.format);
  if (format === 'parquet' && to === standardOutput)
    throw new UsageError("A Parquet file can't be written to stdout: its index comes last. Give --to FILE.parquet.");
  refuseOtherFormats(format, options);
  const path = resolve(folder, to);
  const encoding = { ...pickFor(rowFormats[format].options, options), columns };
  if (format === 'parquet') {
    if (gzip ?? to.endsWith('.gz'))
      throw new UsageError(
        'A Parquet file is compressed inside, column by column: leave out --gzip, and .gz in its name.',
      );
    if (ifExists === 'append')
      throw new UsageError(
        "Rows can't be appended to a Parquet file: its index comes last. Export them into another one.",
      );
    return fileTarget(to, format, parquet<T>({ ...encoding, path, ifExists }));
  }
  const [toFile, toText] = writers[format];
  if (to !== standardOutput) return fileTarget(to, format, toFile<T>({ ...encoding, path, ifExists, gzip }));
  refuseClosed(stdout);
  return stdoutTarget(format, streamSink(toText<T>(encoding), stdout.stream, { gzip: gzip ?? false }));
}

/** @throws UsageError if an option is for another format. */
function refuseOtherFormats(format: RowFormatName, options: object): void {
  for (const [option, value] of Object.entries(pickFor(formatOptions, options))) {
    const owner = value ? formatOf(option) : undefined;
    if (owner === undefined || owner === format) continue;
    const { title } = rowFormats[format];
    const why = owner === 'parquet' ? `: columns of ${title} have no types` : ' only';
    const instead = format === 'jsonl' && owner === 'csv' ? '; JSON Lines holds every field, in UTF-8' : '';
    throw new UsageError(`${nameFlag(option)} is for ${rowFormats[owner].title}${why}${instead}.`);
  }
}

/** A sink into memory. */
export function collectRows<T>(): { readonly sink: Sink<T>; readonly rows: readonly T[] } {
  const rows: T[] = [];
  const sink: Sink<T> = {
    name: 'rows',
    identity: null,
    delivery: 'at-least-once',
    open: () =>
      Promise.resolve({
        write: ({ items }) => {
          rows.push(...items);
          return Promise.resolve();
        },
        flush: () => Promise.resolve(rows.length),
        seal: () => Promise.resolve(rows.length),
        close: () => Promise.resolve({ target: 'memory' }),
        abort: () => Promise.resolve(),
      }),
  };
  return { sink, rows };
}
