import type { Environment } from '../environment.js';
import { checkLanes } from '../export/checkLanes.js';
import { runExport, type ExportCommandOptions, type ExportedRows } from '../export/runExport.js';
import type { Invocation } from '../invocation.js';
import { apisOf } from '../settings/openClient.js';
import { askedBy } from '../source/askedBy.js';
import { asRecords } from '../source/decodeRecords.js';
import { findSource, sourceName } from '../source/findSource.js';
import { readParams } from '../source/readParams.js';

/** Options of `sluice export`. */
export interface ExportSourceOptions extends ExportCommandOptions {
  /** `API.SOURCE`. */
  readonly source: string;
  /** `name=value` or `name:=JSON`. */
  readonly param?: readonly string[];
  readonly pageSize?: number;
  readonly maxRows?: number;
  readonly lanes?: number;
}

/** `sluice export API.SOURCE`: the rows of any source, of plugins too, to wherever rows can go. */
export async function exportSource(
  options: ExportSourceOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { config } = invocation;
  const { source, param = [], pageSize, maxRows, lanes } = options;
  checkLanes(options);
  const rows: ExportedRows<unknown, object> = {
    add: apisOf(sourceName(source), options, environment),
    source: (client) => {
      const found = findSource(client, source, config);
      const params = readParams(param, found.describe(), ['pageSize', 'maxRows']);
      return asRecords(askedBy(found, params, (asked) => found({ ...asked, pageSize, maxRows })));
    },
    ...{ lanes, mostRows: maxRows },
  };
  return runExport(rows, options, environment, invocation);
}
