import type { ListedLetter } from '@sluice/exporters/webhook';
import type { Colors } from '../terminal/colors.js';
import { formatTime } from '../terminal/formatTime.js';
import { table, type Column } from '../terminal/table.js';

/** A dead letter without its record, which may be large. */
export type LetterRow = Omit<ListedLetter['letter'], 'record'> & Pick<ListedLetter, 'isReplayed'>;

const shape: readonly Column<LetterRow>[] = [
  { title: 'status', cell: statusOf },
  { title: 'when', least: 19, cell: ({ at }) => timeOf(at) },
  { title: 'attempts', align: 'right', cell: ({ attempts }) => String(attempts) },
  { title: 'id', cell: ({ id }) => id },
  { title: 'key', cell: ({ key }) => key ?? '' },
  { title: 'answer', cell: ({ answer }) => answer },
];

/** Dead letters, a line each. */
export function letterTable(
  letters: readonly LetterRow[],
  place: { readonly columns: number; readonly colors: Colors },
): string {
  return table(shape, letters, place).text;
}

/** `parked`: it was never sent, since one before it with its key was refused. */
function statusOf({ status, isReplayed }: LetterRow): string {
  return `${status === null ? 'parked' : String(status)}${isReplayed ? ', replayed' : ''}`;
}

/** Somebody may have changed it by hand. */
function timeOf(at: string): string {
  const moment = new Date(at);
  return Number.isNaN(moment.getTime()) ? at : formatTime(moment);
}
