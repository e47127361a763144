/** Where two texts begin to differ. */
export function difference(actual: string | undefined, expected: string): string {
  if (actual === undefined) return 'There is no file.';
  let at = 0;
  while (at < expected.length && actual[at] === expected[at]) at += 1;
  const near = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 30), at + 30));
  return `${actual.length} characters instead of ${expected.length}; at ${at} ${near(actual)} instead of ${near(expected)}`;
}
