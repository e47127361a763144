import type { AnswerShape } from './served/answerShape.js';
import type { Cursors } from './cursor.js';
import type { Fault } from './faults.js';
import type { Slice } from './served/holdings.js';

/** Rows and the cursor of the next page; `null` at the end. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly cursor: string | null;
}

/** A checked query, to be read when its fault is known. */
export interface PageRequest<Row> {
  readonly cursors: Cursors;
  /** All parameters that select and order the rows: a cursor is valid only for them. */
  readonly query: string;
  /** The cursor of the request. */
  readonly sent: string | undefined;
  /** The place of page 1. */
  readonly start: () => number;
  readonly read: (place: number) => Slice<Row>;
}

/** Checks the cursor, and returns the function that reads the page. Throws a `Refusal` if the cursor is not valid. */
export function openPage<Row>({ cursors, query, sent, start, read }: PageRequest<Row>): (fault?: Fault) => Page<Row> {
  const point = sent === undefined ? undefined : cursors.open(query, sent);
  return (fault) => {
    const at = point ?? { place: start(), turn: 0 };
    const mintAnother = (place: number): string => cursors.mint(query, { place, turn: at.turn + 1 });
    switch (fault?.kind) {
      case 'repeat-cursor':
        return { rows: read(at.place).rows, cursor: sent ?? cursors.mint(query, at) };
      case 'lead-back': {
        const place = Math.max(start(), at.place - fault.rows);
        return {
          rows: read(at.place).rows,
          cursor: fault.minted ? mintAnother(place) : cursors.mint(query, { place, turn: 0 }),
        };
      }
      case 'empty-page':
        return { rows: [], cursor: mintAnother(at.place) };
      case 'ignore-cursor': {
        const { rows, next } = read(start());
        return { rows, cursor: mintAnother(next ?? start() + rows.length) };
      }
      default: {
        const { rows, next } = read(at.place);
        return { rows, cursor: next === null ? null : cursors.mint(query, { place: next, turn: 0 }) };
      }
    }
  };
}

/** The fields `result` and `cursor` of a response, in the given shape. */
export function formatPage({ rows, cursor }: Page<unknown>, shape: Required<AnswerShape>): Record<string, unknown> {
  const lasts = { null: { cursor: null }, empty: { cursor: '' }, absent: {} };
  const nones = { list: { result: [] }, null: { result: null }, absent: {} };
  const some = { result: rows.length === 1 && shape.oneRow === 'object' ? rows[0] : rows };
  return {
    ...(cursor === null ? lasts[shape.end] : { cursor }),
    ...(rows.length === 0 ? nones[shape.noRows] : some),
  };
}
