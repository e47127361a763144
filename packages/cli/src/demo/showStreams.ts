import type { StreamsApi } from '@sluice/streams';
import { formatNumber } from '../terminal/formatNumber.js';
import type { Output } from '../terminal/output.js';
import { streamColumns } from '../terminal/streamColumns.js';
import { table } from '../terminal/table.js';
import { heading, indent } from './heading.js';

/** Enough to tell them apart here. */
const shortId = 9;

/** Shows the first streams of the project, and how many there are. */
export async function showStreams(api: StreamsApi, output: Output, most: number): Promise<void> {
  const { columns, colors } = output;
  await heading(output, 'Streams of a project');
  for await (const { items, total = items.length } of api.list({ pageSize: most, maxRows: most }).pages()) {
    const { text } = table(streamColumns(colors, shortId), items, { columns, colors, indent });
    await output.write(text);
    await output.write(
      `${' '.repeat(indent)}${colors.dim(`${formatNumber(items.length)} of ${formatNumber(total)}`)}\n`,
    );
  }
}
