import { streams } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { exportRows, type ProgressOptions } from '../export/exportRows.js';
import { resumptionOf, type ResumeOptions } from '../export/resumption.js';
import { rowSink, type TargetOptions } from '../export/rowSink.js';
import { exitCodes } from '../faults/exitCodes.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { openClient, type ConnectionOptions } from '../settings/openClient.js';

/** Options of `sluice streams export`. */
export interface StreamsExportOptions extends TargetOptions, ResumeOptions, ConnectionOptions, ProgressOptions {
  readonly pageSize?: number;
  readonly maxRows?: number;
}

/** `sluice streams export`: the project's EVM streams, into a file. */
export async function streamsExport(
  options: StreamsExportOptions,
  environment: Environment,
  args: readonly string[],
): Promise<number> {
  const { pageSize, maxRows } = options;
  const { sink, name, format } = rowSink(options, environment);
  const resumption = resumptionOf(options, args, environment);
  const baseUrl = baseUrlOf('streams', options, environment.variables);
  await using client = (await openClient(options, environment)).use(streams({ baseUrl }));
  const source = () =>
    client.streams.list({
      ...(pageSize !== undefined && { pageSize }),
      ...(maxRows !== undefined && { maxRows }),
    });
  await exportRows({ client, source, sink, target: name, format, resumption, mostRows: maxRows }, options, environment);
  return exitCodes.done;
}
