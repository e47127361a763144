import { Random as Numbers } from '../../test/kit/random.js';

/** Random numbers that depend only on the name: integers from 0 up to, but not including, `below`. */
export type Random = (below: number) => number;

/** @example seeded('7 job 13')(6) // like a die, and always the same one */
export function seeded(name: string): Random {
  const numbers = new Numbers(name);
  return (below) => Math.floor(numbers.next() * below);
}

/** The items in random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const keyed = items.map((item) => ({ item, key: random(2 ** 32) }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
