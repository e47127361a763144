/**
 * Rows as JSON Lines, in a file or as text.
 *
 * @module @sluice/exporters/jsonl
 */

import type { Sink } from '@sluice/core';
import { checkOptions } from '@sluice/core/kit';
import { fileSink, type FileTarget } from '@sluice/core/node';
import { jsonlFormat, jsonlFormatNames, type JsonlFormatOptions } from './jsonlFormat.js';

export { jsonlFormat, type JsonlFormatOptions } from './jsonlFormat.js';

/** Options of {@link jsonl}. */
export interface JsonlOptions extends FileTarget, JsonlFormatOptions {}

/**
 * A JSON Lines file, compressed if its name ends in `.gz`.
 *
 * @example await exportTo(holdings, jsonl({ path: 'holdings.jsonl.gz' })).run();
 * @throws ConfigError if a column is unknown; SinkError if the file can't be written; an existing file is unchanged.
 */
export function jsonl<T extends object>(options: JsonlOptions): Sink<T> {
  const names = { path: 'text', ifExists: true, gzip: true, fileSystem: true, ...jsonlFormatNames } as const;
  checkOptions('jsonl()', options, names);
  const { path, ifExists, gzip, fileSystem, ...format } = options;
  return fileSink<T>(jsonlFormat(format), { path, ifExists, gzip, fileSystem });
}
