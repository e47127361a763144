import { streams, type EvmStream } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { collectRows } from '../export/collectRows.js';
import { exportRows, type ProgressOptions } from '../export/exportRows.js';
import { rowSink, standardOutputName } from '../export/rowSink.js';
import { exitCodes } from '../faults/exitCodes.js';
import type { Invocation } from '../invocation.js';
import { standardOutput, type RowFormatName } from '../options/rowFormat.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { openClient, withClient, type ConnectionOptions } from '../settings/openClient.js';
import { formatCount } from '../terminal/formatNumber.js';
import { fieldColumns, streamColumns } from '../terminal/streamColumns.js';
import { refuseClosed } from '../terminal/output.js';
import { table } from '../terminal/table.js';

/** Options of `sluice streams list`. */
export interface StreamsListOptions extends ConnectionOptions, ProgressOptions {
  /** Default: a table on a terminal, CSV elsewhere. */
  readonly format?: 'table' | RowFormatName;
  readonly columns?: readonly string[];
  readonly pageSize?: number;
}

/** `sluice streams list`: the project's EVM streams, on stdout. */
export async function streamsList(
  options: StreamsListOptions,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const { columns, pageSize } = options;
  const { stdout, stderr, variables } = environment;
  refuseClosed(stdout);
  const { format = stdout.isTerminal ? 'table' : 'csv' } = options;
  const shape = columns && format === 'table' ? fieldColumns(columns) : streamColumns(stdout.colors);
  const baseUrl = baseUrlOf('streams', options, variables);
  const opening = openClient(options, environment, config, (client) => client.use(streams({ baseUrl })));
  return withClient(opening, environment, async (client, notes) => {
    const source = () => client.streams.list({ ...(pageSize !== undefined && { pageSize }) });
    if (format !== 'table') {
      const { sink, name } = rowSink<EvmStream>(
        { to: standardOutput, format, ...(columns && { columns }) },
        environment,
      );
      await exportRows({ client, notes, source, sink, target: name, format }, options, environment);
      return exitCodes.done;
    }
    const { sink, rows } = collectRows<EvmStream>();
    const job = { client, notes, source, sink, target: standardOutputName, format, isSummedUp: false };
    await exportRows(job, { progress: stderr.isTerminal ? 'bar' : 'plain', ...options }, environment);
    const { text, leftOut } = table(shape, rows, stdout);
    await stdout.write(text);
    if (!options.quiet && options.progress !== 'json') {
      const hint =
        leftOut.length === 0 ? '' : ` There was no room for ${leftOut.join(' and ')}; --format csv has every field.`;
      stderr.tell(stderr.colors.dim(`${formatCount(rows.length, 'stream')}.${hint}\n`));
    }
    return exitCodes.done;
  });
}
