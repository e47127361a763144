import { inspect } from 'node:util';
import { expect } from 'vitest';

/** A key of characters that every encoding writes in another way. */
export const canary = `ca+n/a"ry=key%7Bq\\~'<&>9Zx_-Lm`;

/** How it could be written, worked out without the code that is tested. */
const spellings: readonly string[] = [
  canary,
  ...fragments(canary, 16),
  encodeURIComponent(canary),
  encodeURIComponent(canary).toLowerCase(),
  [...Buffer.from(canary)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  JSON.stringify(canary).slice(1, -1),
  JSON.stringify(canary).slice(1, -1).replaceAll('/', '\\/'),
  JSON.stringify(JSON.stringify(canary)),
  ...[0, 1, 2].flatMap((before) => {
    const text = Buffer.from('x'.repeat(before) + canary + 'yz').toString('base64');
    return fragments(text.slice(4, -4), 24);
  }),
];

/** Asserts that neither the key nor half of it stands anywhere in what a program could print of these values. */
export function expectNoKey(...values: readonly unknown[]): void {
  for (const value of values) {
    for (const text of printed(value)) {
      const found = spellings.filter((spelling) => text.includes(spelling));
      expect(found, `in ${text.slice(0, 2_000)}`).toEqual([]);
    }
  }
}

function printed(value: unknown): string[] {
  const texts = [inspect(value, { depth: Infinity, showHidden: true, getters: true, maxStringLength: Infinity })];
  if (typeof value === 'string') texts.push(value);
  if (value instanceof Error) texts.push(value.message, value.stack ?? '', String(value), JSON.stringify(value));
  if (value instanceof Error && value.cause !== undefined) texts.push(...printed(value.cause));
  try {
    texts.push(JSON.stringify([value]));
  } catch {
    // What goes in circles can't be printed that way.
  }
  return texts;
}

function fragments(text: string, length: number): string[] {
  return Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length));
}
