import { streams, type EvmStream, type StreamsApi } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { runExport, type ExportCommandOptions, type ExportedRows } from '../export/runExport.js';
import type { Invocation } from '../invocation.js';
import { baseUrlOf } from '../settings/baseUrl.js';

/** Options of `sluice streams export`. */
export interface StreamsExportOptions extends ExportCommandOptions {
  readonly pageSize?: number;
  readonly maxRows?: number;
}

/** `sluice streams export`: the project's EVM streams, to wherever rows can go. */
export async function streamsExport(
  options: StreamsExportOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { pageSize, maxRows } = options;
  const baseUrl = baseUrlOf('streams', options, environment.variables);
  const rows: ExportedRows<{ readonly streams: StreamsApi }, EvmStream> = {
    add: (client) => client.use(streams({ baseUrl })),
    source: (client) => client.streams.list({ pageSize, maxRows }),
    mostRows: maxRows,
  };
  return runExport(rows, options, environment, invocation);
}
