/** With this effort every case is tried. */
const fullEffort = 4;

/**
 * How much of their cases the long walks of the tests try, as `SLUICE_TEST_EFFORT` says: 1 (default) is a quarter of them, 4 all, and
 * more only more of those that are random.
 */
export function testEffort(value = process.env['SLUICE_TEST_EFFORT'] ?? ''): number {
  const effort = value === '' ? 1 : Number(value);
  if (effort > 0 && Number.isFinite(effort)) return effort;
  throw new Error(`SLUICE_TEST_EFFORT is "${value}": give a number, 1 for a quarter of all cases, 4 for all of them.`);
}

/**
 * Where the cases begin of which a test takes some, as `SLUICE_TEST_TURN` says. CI draws it from its content, so that each quarter
 * of the cases gets its turn.
 */
export function testTurn(value = process.env['SLUICE_TEST_TURN'] ?? ''): number {
  const turn = Number(value);
  if (turn >= 0 && Number.isSafeInteger(turn)) return turn;
  throw new Error(`SLUICE_TEST_TURN is "${value}": give a whole number, 0 for the first case.`);
}

/** As many random cases as the effort is worth, of those that a full one tries. */
export function casesOf(full: number, effort = testEffort()): number {
  return Math.ceil((full * effort) / fullEffort);
}

/**
 * The cases that the effort is worth, out of all: every fourth one by default, and at least one. `first` says which, so that tests which
 * walk through the same calls one after the other take different ones.
 */
export function someOf<T>(
  all: readonly T[],
  first = 0,
  { effort = testEffort(), turn = testTurn() } = {},
): readonly T[] {
  const begin = ((first + turn) % fullEffort) % Math.max(all.length, 1);
  return all.filter((_, nth) => (nth + fullEffort - begin) % fullEffort < effort);
}
