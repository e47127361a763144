import type { Change, Due } from '@sluice/core';
import { type EvmStream, statusChanges, streams } from '@sluice/streams';
import type { Run } from '../config/config.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes } from '../errors/errors.js';
import { exportRows } from '../export/exportRows.js';
import { collectRows, rowTarget } from '../export/rowTarget.js';
import { requireBaseUrl } from '../input/baseUrl.js';
import { standardOutput } from '../options/rowFormats.js';
import { asStreamChanges } from '../source/decodeRecords.js';
import { openClient, withClient } from '../source/openClient.js';
import { stdoutTarget } from '../target/target.js';
import { formatCount } from '../terminal/format.js';
import { table } from '../terminal/textTable.js';
import { fieldColumns, streamColumns, streamView } from '../watch/rowView.js';
import { exportSource, watchSource } from './source.js';

const source = 'streams.list';

type StreamEvent = Change<EvmStream> | Due<EvmStream>;

/** `sluice streams export`: exports the project's EVM streams. */
export const streamsExport: Run<'streams export'> = (options, environment, invocation) =>
  exportSource({ ...options, source }, environment, invocation);

/** `sluice streams watch`: reports every change of the project's EVM streams. */
export const streamsWatch: Run<'streams watch'> = (options, environment, invocation) =>
  watchSource({ ...options, source }, environment, invocation, {
    view: streamView(environment.stdout.colors),
    changes: (watch) => {
      const { only, mode } = options;
      // Changes that are left out would leave a history behind its listing, so the watch does not look for them.
      if (only !== undefined && mode === 'history') return watch({ project: ['status', 'statusMessage'] });
      const all = asStreamChanges(watch());
      const { schema } = all.info;
      return only === undefined ? all : all.pipePages(statusChanges<StreamEvent>(), { version: only, schema });
    },
  });

/** `sluice streams list`: prints the project's EVM streams. */
export const streamsList: Run<'streams list'> = async (options, environment, { config }) => {
  const { columns, pageSize } = options;
  const { stdout, stderr, variables } = environment;
  refuseClosed(stdout);
  const { format = stdout.isTerminal ? 'table' : 'csv' } = options;
  const shape = columns && format === 'table' ? fieldColumns(columns) : streamColumns(stdout.colors);
  const baseUrl = requireBaseUrl('streams', options, variables);
  const opening = openClient(options, environment, config, (client) => client.use(streams({ baseUrl })));
  return withClient(opening, environment, async (client, notices) => {
    const source = () => client.streams.list({ pageSize });
    if (format !== 'table') {
      const target = rowTarget<EvmStream>({ to: standardOutput, format, ...(columns && { columns }) }, environment);
      await exportRows({ client, notices, source, sink: await target.open(client), target }, options, environment);
      return exitCodes.done;
    }
    const { sink, rows } = collectRows<EvmStream>();
    const job = { client, notices, source, sink, target: stdoutTarget(format, sink), isSummedUp: false };
    await exportRows(job, { progress: stderr.isTerminal ? 'bar' : 'plain', ...options }, environment);
    const { text, leftOut } = table(shape, rows, stdout);
    await stdout.write(text);
    if (!options.quiet && options.progress !== 'json') {
      const hint =
        leftOut.length === 0 ? '' : ` There was no room for ${leftOut.join(' and ')}; --format csv has every field.`;
      stderr.print(stderr.colors.dim(`${formatCount(rows.length, 'stream')}.${hint}\n`));
    }
    return exitCodes.done;
  });
};
