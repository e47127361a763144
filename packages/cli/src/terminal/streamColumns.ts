import { evmStreamSchema, type EvmStream } from '@sluice/streams';
import { UsageError } from '../faults/usageError.js';
import type { Colors } from './colors.js';
import { fieldText } from './fieldText.js';
import { paintedStatus } from './paintedStatus.js';
import type { Column } from './table.js';

/** A whole UUID: one that is cut can't be copied. */
const wholeId = 36;

/**
 * The columns of a table of streams: what a person looks for first comes first.
 *
 * @param leastId how far ids may be cut.
 */
export function streamColumns(colors: Colors, leastId = wholeId): readonly Column<EvmStream>[] {
  return [
    { title: 'id', least: leastId, cell: (stream) => String(stream.id) },
    {
      title: 'status',
      least: 10,
      cell: (stream) => fieldText(stream.status),
      paint: (status) => paintedStatus(status, colors),
    },
    { title: 'tag', least: 12, cell: (stream) => fieldText(stream.tag) || fieldText(stream.description) },
    { title: 'chains', least: 8, cell: (stream) => fieldText(stream.chainIds) },
    { title: 'message', least: 16, cell: (stream) => fieldText(stream.statusMessage), paint: colors.dim },
    { title: 'webhook', least: 20, cell: (stream) => fieldText(stream.webhookUrl), paint: colors.dim },
  ];
}

/** The columns of a table that shows these fields as they are. @throws UsageError if one is unknown. */
export function fieldColumns(fields: readonly string[]): readonly Column<EvmStream>[] {
  const known = evmStreamSchema.columns;
  const unknown = fields.find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new UsageError(`There is no column ${JSON.stringify(unknown)}. The columns are: ${known.join(', ')}.`);
  return fields.map((field) => ({
    title: field,
    least: field === 'id' ? wholeId : 8,
    cell: (stream) => fieldText(stream[field]),
  }));
}
