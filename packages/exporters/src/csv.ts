/**
 * Rows as CSV, in a file or as text.
 *
 * @module @sluice/exporters/csv
 */

import type { Sink } from '@sluice/core';
import { checkOptions } from '@sluice/core/kit';
import { fileSink, type FileTarget } from '@sluice/core/node';
import { csvFormat, csvFormatNames, type CsvFormatOptions } from './csvFormat.js';

export { csvFormat, type CsvFormatOptions } from './csvFormat.js';

/** Options of {@link csv}. */
export interface CsvOptions extends FileTarget, CsvFormatOptions {}

/**
 * A CSV file (RFC 4180), compressed if its name ends in `.gz`.
 *
 * @example await exportTo(holdings, csv({ path: 'holdings.csv' })).run();
 * @throws ConfigError if there are no columns or one is unknown; SinkError if the file can't be written; an existing
 * file is unchanged.
 */
export function csv<T extends object>(options: CsvOptions): Sink<T> {
  const names = { path: 'text', ifExists: true, gzip: true, fileSystem: true, ...csvFormatNames } as const;
  checkOptions('csv()', options, names);
  const { path, ifExists, gzip, fileSystem, ...format } = options;
  return fileSink<T>(csvFormat(format), { path, ifExists, gzip, fileSystem });
}
