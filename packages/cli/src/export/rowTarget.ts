import { resolve } from 'node:path';
import type { Sink } from '@sluice/core';
import { streamSink } from '@sluice/core/node';
import { csv, csvFormat } from '@sluice/exporters/csv';
import { jsonl, jsonlFormat } from '@sluice/exporters/jsonl';
import { parquet } from '@sluice/exporters/parquet';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { UsageError } from '../errors/errors.js';
import { chooseRowFormat, standardOutput } from '../options/targetOptions.js';
import type { GroupOptions } from '../options/options.js';
import { fileTarget, stdoutTarget, type Target } from '../target/target.js';

/** The file or stdout of a command line. CSV escapes formulas by default, since people open it in spreadsheets. */
export function rowTarget<T extends object>(
  options: GroupOptions<'target'>,
  { stdout, folder }: Environment,
): Target<T> {
  const { to, columns, ifExists, gzip, guardFormulas = true, extra = false, bom = false, strictTypes } = options;
  if (to === undefined) throw new UsageError('Where to? Give --to FILE, --to - for stdout, or --forward URL.');
  const format = chooseRowFormat(to, options.format);
  if (format === 'jsonl' && (extra || bom))
    throw new UsageError(`--${extra ? 'extra' : 'bom'} is for CSV only; JSON Lines holds every field, in UTF-8.`);
  if (format !== 'parquet' && strictTypes)
    throw new UsageError(
      `--strict-types is for Parquet: columns of ${format === 'csv' ? 'CSV' : 'JSON Lines'} have no types.`,
    );
  if (format === 'parquet') {
    refuseForParquet(to, { extra, bom, gzip: gzip ?? to.endsWith('.gz') });
    if (ifExists === 'append')
      throw new UsageError(
        "Rows can't be appended to a Parquet file: its index comes last. Export them into another one.",
      );
    const sink = parquet<T>({ path: resolve(folder, to), ifExists, strictTypes, columns });
    return fileTarget(to, format, sink);
  }
  const csvOptions = { columns, guardFormulas, extra, bom };
  if (to === standardOutput) {
    refuseClosed(stdout);
    const rows = format === 'csv' ? csvFormat<T>(csvOptions) : jsonlFormat<T>({ columns });
    return stdoutTarget(format, streamSink(rows, stdout.stream, { gzip: gzip ?? false }));
  }
  const target = { path: resolve(folder, to), ifExists, gzip };
  const sink = format === 'csv' ? csv<T>({ ...target, ...csvOptions }) : jsonl<T>({ ...target, columns });
  return fileTarget(to, format, sink);
}

/** @throws UsageError if an option does not apply to a Parquet file. */
function refuseForParquet(
  to: string,
  { extra, bom, gzip }: { readonly extra: boolean; readonly bom: boolean; readonly gzip: boolean },
): void {
  if (to === standardOutput)
    throw new UsageError("A Parquet file can't be written to stdout: its index comes last. Give --to FILE.parquet.");
  if (extra || bom) throw new UsageError(`--${extra ? 'extra' : 'bom'} is for CSV only.`);
  if (gzip)
    throw new UsageError(
      'A Parquet file is compressed inside, column by column: leave out --gzip, and .gz in its name.',
    );
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
