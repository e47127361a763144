import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import type { Invocation } from '../invocation.js';
import { apisOf } from '../settings/openClient.js';
import { askedBy } from '../source/askedBy.js';
import { asRecordChanges } from '../source/decodeRecords.js';
import { findSource, sourceName } from '../source/findSource.js';
import { readParams } from '../source/readParams.js';
import { recordLook } from '../source/recordLook.js';
import { rowKeyOf } from '../source/rowKeyOf.js';
import { runWatch, type WatchCommandOptions, type WatchedRows } from '../watch/runWatch.js';

/** Options of `sluice watch`. */
export interface WatchSourceOptions extends WatchCommandOptions {
  /** `API.SOURCE`. */
  readonly source: string;
  /** `name=value` or `name:=JSON`. */
  readonly param?: readonly string[];
  /** Columns that tell one row from another. */
  readonly key?: readonly string[];
  readonly pageSize?: number;
  readonly lanes?: number;
}

/** `sluice watch API.SOURCE`: every change of any source, of plugins too, as it is found. */
export async function watchSource(
  options: WatchSourceOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { config } = invocation;
  const { source, param = [], key, pageSize, lanes } = options;
  /** Known once the source is found. */
  let shown: readonly string[] = [];
  const rows: WatchedRows<unknown, Record<string, unknown>> = {
    add: apisOf(sourceName(source), options, environment),
    source: (client, watching) => {
      const found = findSource(client, source, config);
      const { columns, hasKey, ...description } = found.describe();
      if (!hasKey && key === undefined)
        throw new UsageError(`Nothing tells the rows of ${source} apart: give --key COLUMN, or several: --key a,b.`);
      shown = key ? [...new Set([...key, ...columns])] : columns;
      const how = { ...watching, ...(key && { key: rowKeyOf(key, columns) }), ...(lanes !== undefined && { lanes }) };
      const params = readParams(param, description, ['pageSize']);
      return asRecordChanges(askedBy(found, params, (asked) => found.watch({ ...asked, pageSize }, how)));
    },
    look: recordLook(() => shown, environment.stdout.colors),
  };
  return runWatch(rows, options, environment, invocation);
}
