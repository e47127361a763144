/** Random numbers that depend only on the name: integers from 0 up to, but not including, `below`. */
export type Random = (below: number) => number;

/** @example seeded('7 job 13')(6) // like a die, and always the same one */
export function seeded(name: string): Random {
  let state = 0x811c9dc5;
  // FNV-1a, then the steps of mulberry32: not cryptographic, but uniform enough.
  for (const character of name) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return Math.floor((((word ^ (word >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** The items in random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const keyed = items.map((item) => ({ item, key: random(2 ** 32) }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
