import { evmStreamSchema, type EvmStream } from '@sluice/streams';
import { UsageError } from '../faults/usageError.js';
import type { Colors } from './colors.js';
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
    { title: 'status', least: 10, cell: (stream) => text(stream.status), paint: (status) => painted(status, colors) },
    { title: 'tag', least: 12, cell: (stream) => text(stream.tag) || text(stream.description) },
    { title: 'chains', least: 8, cell: (stream) => text(stream.chainIds) },
    { title: 'message', least: 16, cell: (stream) => text(stream.statusMessage), paint: colors.dim },
    { title: 'webhook', least: 20, cell: (stream) => text(stream.webhookUrl), paint: colors.dim },
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
    cell: (stream) => text(stream[field]),
  }));
}

/** A field's value for people. The API promises no types, so any value can come anywhere. */
function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(text).join(' ');
  return JSON.stringify(value);
}

/** The statuses that are known to be in use; any other text stays as it is. */
function painted(status: string, colors: Colors): string {
  switch (status) {
    case 'active':
      return colors.green(status);
    case 'paused':
      return colors.yellow(status);
    case 'error':
    case 'terminated':
      return colors.red(status);
    default:
      return status;
  }
}
