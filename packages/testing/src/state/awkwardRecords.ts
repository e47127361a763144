/** Records that are easily damaged when they are stored. */
export const awkwardRecords: readonly object[] = [
  {},
  { text: 'two\nlines\r\nand three, \u2028\u2029\u0000\u0085', '': 'no name' },
  { text: 'Ünïcödé, 日本語, 🚰 and half of one: \ud83d', 'a "name"\n': [] },
  { numbers: [0, -1, 2.5, 1e-7, Number.MAX_SAFE_INTEGER, 1e300], none: null, yes: true, no: false },
  { nested: { lists: [[], [{}], [[1], [2, [3]]]], empty: {} } },
  { long: 'x'.repeat(300_000) },
];

/** A record that has no JSON. */
export function createUnsaveable(): object {
  const circle: Record<string, unknown> = { name: 'circle' };
  circle['self'] = circle;
  return circle;
}
