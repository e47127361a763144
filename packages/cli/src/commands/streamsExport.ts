import { streams, type EvmStream } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { exitCodeAfter } from '../export/exitCodeAfter.js';
import { exportRows, type ProgressOptions } from '../export/exportRows.js';
import { resumptionOf, type ResumeOptions } from '../export/resumption.js';
import type { TargetOptions } from '../export/rowSink.js';
import { rowTargetOf } from '../export/rowTargetOf.js';
import type { ForwardOptions } from '../forward/forwardTarget.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { openClient, type ConnectionOptions } from '../settings/openClient.js';

/** Options of `sluice streams export`. */
export interface StreamsExportOptions
  extends TargetOptions, ForwardOptions, ResumeOptions, ConnectionOptions, ProgressOptions {
  readonly pageSize?: number;
  readonly maxRows?: number;
}

/** `sluice streams export`: the project's EVM streams, into a file or to an endpoint. */
export async function streamsExport(
  options: StreamsExportOptions,
  environment: Environment,
  args: readonly string[],
): Promise<number> {
  const { pageSize, maxRows } = options;
  const target = await rowTargetOf<EvmStream>(options, environment);
  const resumption = resumptionOf(options, target, args, environment);
  const baseUrl = baseUrlOf('streams', options, environment.variables);
  await using client = (await openClient(options, environment)).use(streams({ baseUrl }));
  const source = () =>
    client.streams.list({
      ...(pageSize !== undefined && { pageSize }),
      ...(maxRows !== undefined && { maxRows }),
    });
  const { sink, name, format, forwarding } = target;
  const { report } = await exportRows(
    { client, source, sink, target: name, format, forwarding, resumption, mostRows: maxRows },
    options,
    environment,
  );
  return exitCodeAfter(report);
}
