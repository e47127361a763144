/** How values are put into groups that one request can carry. */
export interface GroupOptions {
  /** Most values in a group. */
  readonly size: number;
  /** Most characters a group's values may add up to. */
  readonly maxLength: number;
  /** Characters that one value takes. */
  readonly lengthOf: (value: string) => number;
}

/** Splits values into groups, in order. A value that is too long by itself gets a group of its own. */
export function groupsOf(values: readonly string[], { size, maxLength, lengthOf }: GroupOptions): string[][] {
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
