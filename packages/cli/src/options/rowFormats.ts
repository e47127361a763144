import type { CsvFormatOptions } from '@sluice/exporters/csv';
import type { ParquetOptions } from '@sluice/exporters/parquet';
import { UsageError } from '../errors/errors.js';
import { flag, ofFile, type OptionsFor, type OptionTable } from './option.js';

/** The target that stands for stdout. */
export const standardOutput = '-';

const csvOptions = {
  guardFormulas: flag('CSV: do not escape text that a spreadsheet would run as a formula', { ...ofFile, isOff: true }),
  extra: flag('CSV or a table: add a last column, extra, with unknown fields, as JSON', ofFile),
  bom: flag('CSV: start with a byte order mark, so that Excel reads UTF-8', ofFile),
} satisfies OptionsFor<CsvFormatOptions>;

const parquetOptions = {
  strictTypes: flag(
    'Parquet: refuse a value that its column can not hold (default: the whole column is text, with a warning)',
    ofFile,
  ),
} satisfies OptionsFor<ParquetOptions>;

/** The formats of rows, with the endings of their files and the options that no other format has. */
export const rowFormats = {
  csv: { title: 'CSV', endings: ['csv'], options: csvOptions },
  jsonl: { title: 'JSON Lines', endings: ['jsonl', 'ndjson'], options: {} },
  parquet: { title: 'Parquet', endings: ['parquet'], options: parquetOptions },
};
/** The options that only one format has. */
export const formatOptions = { ...csvOptions, ...parquetOptions };

export const rowFormatNames = ['csv', 'jsonl', 'parquet'] as const;
export type RowFormatName = (typeof rowFormatNames)[number];
/** Those that are text, which gzip compresses. */
export const textFormats = rowFormatNames.filter((name) => name !== 'parquet');

/** For helps and errors: `.csv, .jsonl or .parquet`. */
export const fileEndings = eitherOf(rowFormatNames.map((name) => `.${name}`));
/** `FILE.csv or FILE.jsonl` */
export const textFiles = eitherOf(textFormats.map((name) => `FILE.${name}`));

function eitherOf(words: readonly string[]): string {
  return words.join(', ').replace(/, (?=[^,]*$)/, ' or ');
}

/** The only format with an option. One that disables a default is of none, because other formats ignore it. */
export function formatOf(option: string): RowFormatName | undefined {
  return rowFormatNames.find((name) => {
    const own: OptionTable = rowFormats[name].options;
    return Object.entries(own).some(([each, { isOff }]) => each === option && !isOff);
  });
}

/** The format according to a file's name. @example guessFormat('holdings.jsonl.gz') // 'jsonl' */
export function guessFormat(to: string): RowFormatName | undefined {
  const ending = /\.([a-z]+)(\.gz)?$/i.exec(to)?.[1]?.toLowerCase() ?? '';
  return rowFormatNames.find((name) => rowFormats[name].endings.includes(ending));
}

/**
 * The format of a target: from `--format`, or else from its name. Default for stdout: CSV.
 *
 * @example chooseRowFormat('holdings.jsonl.gz', undefined) // 'jsonl'
 */
export function chooseRowFormat(to: string, given: RowFormatName | undefined): RowFormatName {
  const format = given ?? (to === standardOutput ? 'csv' : guessFormat(to));
  if (format !== undefined) return format;
  const packed = textFormats.map((name) => `.${name}.gz`).join(', ');
  const flags = eitherOf(rowFormatNames.map((name) => `--format ${name}`));
  throw new UsageError(
    `--to ${to} does not say the format. End the name in ${fileEndings} (or ${packed}), or give ${flags}.`,
  );
}
