/**
 * A value as JSON that preserves what JSON.stringify loses: infinite numbers, and the sign of zero. Names keep their
 * order.
 */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) => {
    if (typeof each !== 'number') return each;
    return Number.isFinite(each) && !Object.is(each, -0) ? each : `number ${Object.is(each, -0) ? '-0' : String(each)}`;
  });
}

/** Reverts {@link exactJson}: a reviver for `JSON.parse`. */
export function revived(_name: string, value: unknown): unknown {
  switch (value) {
    case 'number -0':
      return -0;
    case 'number Infinity':
      return Infinity;
    case 'number -Infinity':
      return -Infinity;
    default:
      return value;
  }
}
