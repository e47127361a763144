import { SinkError } from '../../errors.js';

/** A row by the names of its fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** @throws SinkError if a row is not an object, which types do not prevent in JavaScript. */
export function checkRow(row: unknown, target: string): Fields {
  if (hasFields(row)) return row;
  throw new SinkError(
    `A row is ${row === null ? 'null' : typeof row}, and ${target} needs objects. Make them with pipePages(map(…)).`,
  );
}

/** Reads one field. An inherited name such as `constructor` is a field only if it is the row's own property. */
export function fieldReader(column: string): (fields: Fields) => unknown {
  if (!(column in Object.prototype)) return (fields) => fields[column];
  return (fields) => (Object.hasOwn(fields, column) ? fields[column] : undefined);
}

function hasFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
