import { resolve } from 'node:path';
import { streamSink } from '@sluice/core/node';
import { csv, csvFormat } from '@sluice/exporters/csv';
import { jsonl, jsonlFormat } from '@sluice/exporters/jsonl';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { rowFormatOf, standardOutput, type RowFormatName } from '../options/rowFormat.js';
import type { RowTarget } from './rowTarget.js';

/** Options of every command that writes rows. */
export interface TargetOptions {
  /** A path, or `-` for stdout. */
  readonly to?: string;
  readonly format?: RowFormatName;
  readonly columns?: readonly string[];
  readonly gzip?: boolean;
  readonly ifExists?: 'fail' | 'overwrite';
  readonly guardFormulas?: boolean;
  readonly extra?: boolean;
  readonly bom?: boolean;
}

/** What people call stdout as a target. */
export const standardOutputName = 'stdout';

/**
 * The sink that a command line asks for. In CSV, formulas are guarded unless told otherwise, since people open such files.
 *
 * @throws UsageError if the format is unknown, or an option does not go with it.
 */
export function rowSink<T extends object>(
  options: TargetOptions,
  { stdout, folder }: Pick<Environment, 'stdout' | 'folder'>,
): RowTarget<T> {
  const { to, columns, ifExists, gzip, guardFormulas = true, extra = false, bom = false } = options;
  if (to === undefined) throw new UsageError('Where to? Give --to FILE, --to - for stdout, or --forward URL.');
  const format = rowFormatOf(to, options.format);
  if (format === 'jsonl' && (extra || bom))
    throw new UsageError(`--${extra ? 'extra' : 'bom'} is for CSV only; JSON Lines holds every field, in UTF-8.`);
  const picked = columns && { columns };
  const csvOptions = { ...picked, guardFormulas, extra, bom };
  if (to === standardOutput) {
    const rows = format === 'csv' ? csvFormat<T>(csvOptions) : jsonlFormat<T>({ ...picked });
    return { sink: streamSink(rows, stdout.stream, { gzip: gzip ?? false }), name: standardOutputName, format };
  }
  const target = { path: resolve(folder, to), ...(ifExists && { ifExists }), ...(gzip && { gzip }) };
  const sink = format === 'csv' ? csv<T>({ ...target, ...csvOptions }) : jsonl<T>({ ...target, ...picked });
  return { sink, name: to, format, state: `${to}.sluice` };
}
