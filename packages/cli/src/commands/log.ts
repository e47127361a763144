import { systemClock, type Change } from '@sluice/core';
import { jsonlFormat } from '@sluice/exporters/jsonl';
import type { Run } from '../config/config.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes } from '../errors/errors.js';
import type { History } from '@sluice/tables/sqlite';
import { declaredHoldings, declaredStreams } from '../source/declaredRows.js';
import { openTable, requireTable } from '../target/tableTarget.js';
import type { Colors } from '../terminal/colors.js';
import { lineOptions } from '../watch/changeTarget.js';
import { changeText, RowsAtStart } from '../watch/changeText.js';
import { holdingView, recordView, type RowView, streamView } from '../watch/rowView.js';

type Row = Readonly<Record<string, unknown>>;

/** `sluice log TABLE`: prints the changes that a history has, as `sluice watch` has printed them. */
export const log: Run<'log'> = async ({ table, key, since, format = 'text' }, environment) => {
  const { stdout, stderr } = environment;
  refuseClosed(stdout);
  const { readHistory } = await openTable(requireTable(table), environment);
  const from = since === undefined ? undefined : new Date(Math.max(0, systemClock.now() - since)).toISOString();
  let changes = 0;
  await readHistory(async (history) => {
    const view = viewOf(history, stdout.colors);
    const options = lineOptions(stdout);
    const start = new RowsAtStart(view, options);
    const encoder = (format === 'text' ? changeText(view, options) : jsonlFormat<Change<Row>>()).encoder(undefined);
    const writeStart = async (): Promise<void> => {
      for (const line of start.endLine()) await stdout.write(`${line}\n`);
    };
    for await (const batch of batchesOf(history.changes({ since: from, key }))) {
      changes += batch.length;
      const others = format === 'text' ? start.take(batch) : batch;
      if (others.length === 0) continue;
      await writeStart();
      await stdout.write(encoder.encode(others));
    }
    await writeStart();
  });
  if (changes === 0) stderr.print('No changes.\n');
  return exitCodes.done;
};

/** Changes that are written at once. */
const maxBatch = 10_000;

/** Changes of one time, or at the start. */
async function* batchesOf(changes: AsyncIterable<Change<Row>>): AsyncGenerator<Change<Row>[]> {
  let batch: Change<Row>[] = [];
  for await (const change of changes) {
    const [first] = batch;
    if (first && (batch.length >= maxBatch || timeOf(first) !== timeOf(change))) {
      yield batch;
      batch = [];
    }
    batch.push(change);
  }
  if (batch.length > 0) yield batch;
}

function timeOf({ type, observedAt }: Change<Row>): string {
  return type === 'initial' ? type : observedAt;
}

function viewOf({ source, columns }: History, colors: Colors): RowView<Row> {
  switch (source) {
    case declaredStreams.source:
      return streamView(colors);
    case declaredHoldings.source:
      return holdingView(colors);
    default:
      return recordView(() => columns, colors);
  }
}
