import fc from 'fast-check';
import { nastyPieces } from './hostileTexts.js';

/** One change of a text, whatever its content. */
export type Edit =
  | { readonly kind: 'insert'; /** A fraction of the text. */ readonly at: number; readonly text: string }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'delete'; readonly at: number; readonly length: number }
  | { readonly kind: 'quotes' };

/** Changes of every kind. */
export const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      // Mostly at one of the ends.
      at: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
      text: fc.constantFrom(...nastyPieces),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('cut' as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.nat(5),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Edit>({ kind: 'quotes' }) },
);

/** A text after a change. */
export function edited(text: string, change: Edit): string {
  if (change.kind === 'quotes') return text.replaceAll('"', "'");
  const at = Math.round(change.at * text.length);
  if (change.kind === 'cut') return text.slice(0, at);
  const behind = change.kind === 'delete' ? at + change.length : at;
  return text.slice(0, at) + (change.kind === 'insert' ? change.text : '') + text.slice(behind);
}
