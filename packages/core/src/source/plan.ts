import { refuseUnknown } from '../checks.js';
/** How values are grouped for one request each. */
export interface GroupOptions {
  /** Maximum number of values in a group. */
  readonly size: number;
  /** Maximum sum of `lengthOf` in a group. */
  readonly maxLength: number;
  /** Characters that a value takes in a request. */
  readonly lengthOf: (value: string) => number;
}

/** Splits values into groups, in order. A value that exceeds `maxLength` gets its own group. */
export function groupsOf(values: readonly string[], options: GroupOptions): string[][] {
  refuseUnknown('groupsOf()', options, { size: true, maxLength: true, lengthOf: true });
  const { size, maxLength, lengthOf } = options;
  const groups: string[][] = [];
  let length = Infinity;
  for (const value of values) {
    const last = groups.at(-1);
    if (last && last.length < size && length + lengthOf(value) <= maxLength) {
      last.push(value);
      length += lengthOf(value);
    } else {
      groups.push([value]);
      length = lengthOf(value);
    }
  }
  return groups;
}
