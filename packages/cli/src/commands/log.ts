import { systemClock, type Change } from '@sluice/core';
import { jsonlFormat } from '@sluice/exporters/jsonl';
import type { Run } from '../config/config.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import { findDeclared } from '../source/declaredRows.js';
import { readHistory } from '../target/readHistory.js';
import { tableName } from '../target/tableTarget.js';
import type { Colors } from '../terminal/colors.js';
import { lineOptions } from '../watch/changeTarget.js';
import { changeText } from '../watch/changeText.js';
import { holdingView, recordView, type RowView, streamView } from '../watch/rowView.js';

type Row = Readonly<Record<string, unknown>>;

/** `sluice log TABLE`: prints the changes that a history has, as `sluice watch` has printed them. */
export const log: Run<'log'> = async ({ table, key, since, format = 'text' }, environment) => {
  const { stdout, stderr } = environment;
  refuseClosed(stdout);
  const named = tableName(table, 'The table');
  if (!named)
    throw new UsageError(
      `${table} is not a table: name one as FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE.`,
    );
  const from = since === undefined ? undefined : new Date(systemClock.now() - since).toISOString();
  let changes = 0;
  await readHistory(named, environment, async (history) => {
    const view = viewOf(history.columns, stdout.colors);
    const shown = format === 'text' ? changeText(view, lineOptions(stdout)) : jsonlFormat<Change<Row>>();
    const encoder = shown.encoder(undefined);
    for await (const batch of batchesOf(history.changes({ since: from, key }))) {
      changes += batch.length;
      await stdout.write(encoder.encode(batch));
    }
  });
  if (changes === 0) stderr.print('No changes.\n');
  return exitCodes.done;
};

/** Changes that are written at once. */
const maxBatch = 10_000;

/** Changes of one time. The rows at the start share a line. */
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

function viewOf(columns: readonly string[], colors: Colors): RowView<Row> {
  switch (findDeclared(columns)?.source) {
    case 'streams.list':
      return streamView(colors);
    case 'aptos.nfts':
      return holdingView(colors);
    default:
      return recordView(() => columns, colors);
  }
}
