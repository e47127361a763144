import { hintFor, unknownOption } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { inWords, shownText } from '../../values.js';

/**
 * The type of a column's values. Columns of all types may also have `null` and absent fields.
 * - `text`.
 * - `integer`: of any size; a number, a bigint or its decimal text.
 * - `number`: a decimal number of any precision; a number, a bigint or its decimal text.
 * - `boolean`.
 * - `timestamp`: ISO 8601 text with a zone, to the microsecond, or a `Date`.
 * - `json`: any value.
 */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'json';

/** An object, so that the compiler reports a missing type. */
const columnTypes = {
  text: true,
  integer: true,
  number: true,
  boolean: true,
  timestamp: true,
  json: true,
} satisfies Record<ColumnType, true>;

interface Typed {
  readonly columns: readonly string[];
  readonly types?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Checks the types of columns: else an unknown type fails only in a sink that has types, and a misspelt column is text.
 *
 * @throws ConfigError that names the valid types or columns.
 */
export function checkTypes(owner: string, { columns, types = {} }: Typed): void {
  const known = Object.keys(columnTypes);
  const refuse = (what: string, hint: string): never => {
    throw new ConfigError(`${owner} is invalid at types: ${what}. ${hint}`, { option: 'types' });
  };
  for (const [name, type] of Object.entries(types)) {
    if (!columns.includes(name)) refuse(`${shownText(name)} is not a column`, hintFor(name, columns));
    if (type === undefined || known.some((each) => each === type)) continue;
    const given = typeof type === 'string' ? shownText(type) : inWords(type);
    refuse(`${shownText(name)} is ${given}, which is not a type`, hintFor(typeof type === 'string' ? type : '', known));
  }
}

const schemaParts = {
  columns: true,
  types: true,
  key: true,
  statusOf: true,
  nameOf: true,
  event: true,
  rows: true,
  compares: true,
};

/** Checks the schema of a source. @throws ConfigError if it has an unknown property or an invalid type. */
export function checkSchema(owner: string, schema: Typed): void {
  const unknown = unknownOption(schema, schemaParts);
  if (unknown !== undefined) throw new ConfigError(`${owner} ${unknown}`);
  checkTypes(owner, schema);
}
