import { DecodeError } from '../../errors.js';
import { shownText } from '../../values.js';

/** Far deeper than rows of APIs, and far below the depth at which recursion would overflow the stack. */
const maxDepth = 500;

/** @throws DecodeError unless a row can be stored, compared and restored: JSON, and not nested too deeply. */
export function checkStorable(key: string, row: unknown): void {
  const fault = asJson(row) === undefined ? 'has no form in JSON' : faultOf(row, 0);
  if (fault === undefined) return;
  const name = shownText(key);
  throw new DecodeError(`The row ${name} ${fault}. Tell the API's operator, or leave that out of the rows.`, { key });
}

function faultOf(value: unknown, depth: number): string | undefined {
  if (depth > maxDepth) return `is nested more than ${maxDepth} levels deep`;
  const plain = asJson(value);
  if (typeof plain === 'bigint') return 'contains a BigInt, which has no form in JSON';
  if (typeof plain !== 'object' || plain === null) return undefined;
  for (const field of Object.values(plain)) {
    const fault = faultOf(field, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A value as JSON represents it, because a restart restores it in this form. Nested values are not converted. */
export function asJson(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'function':
    case 'symbol':
      return undefined;
    case 'bigint':
    case 'object':
      return value === null ? null : toJsonValue(value);
    default:
      return value;
  }
}

/** Applies `toJSON`, which dates, URLs and others have. */
function toJsonValue(value: bigint | object): unknown {
  const toJson: unknown = Reflect.get(Object(value), 'toJSON');
  if (typeof toJson !== 'function') return value;
  const made: unknown = Reflect.apply(toJson, value, []);
  return made;
}
