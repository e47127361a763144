import fc from 'fast-check';
import { nastyNames, nastyScalars, nested } from './hostileTexts.js';
import { scalar, treeOf, type JsonTree } from './jsonTree.js';

/** Names of fields that break careless readers. */
export const nastyName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...nastyNames) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
);
export const shape = fc.constantFrom('list' as const, 'record' as const);
/** How deep: around the limit, and far beyond what any recursion survives. */
export const levels = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom(1, 2, 10, 495, 496, 497, 498, 499, 500, 501, 502, 1_000) },
  { weight: 6, arbitrary: fc.constantFrom(4_000, 10_000) },
  { weight: 1, arbitrary: fc.constant(100_000) },
);

/** Values that break careless readers, including the secret in encodings that a server could use. */
export function nastyValue(secret: string): fc.Arbitrary<JsonTree> {
  const scalars = fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...nastyScalars) },
    { weight: 1, arbitrary: fc.constantFrom(...spellingsOf(secret)) },
    { weight: 1, arbitrary: fc.double().map(String) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }).map((text) => JSON.stringify(text)) },
  );
  const trees = scalars.filter((text) => !/^-?(Infinity|NaN)$/.test(text)).map(scalar);
  return fc.oneof(
    { weight: 20, arbitrary: trees },
    { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(treeOf) },
    { weight: 2, arbitrary: fc.array(trees, { maxLength: 3 }).map((items): JsonTree => ({ kind: 'list', items })) },
    {
      weight: 3,
      arbitrary: fc
        .array(
          fc.tuple(
            nastyName.map((each) => JSON.stringify(each)),
            trees,
          ),
          { maxLength: 3 },
        )
        .map((fields): JsonTree => ({ kind: 'record', fields })),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(levels, shape, fc.constantFrom('', '1', '{"id":"a"}')).map((made) => scalar(nested(...made))),
    },
    { weight: 1, arbitrary: longText.map(scalar) },
  );
}

const longText = fc
  .tuple(
    fc.constantFrom('x', 'é', '💥', '%25', '\\"', '\\\\', '\\u0041', '\\ud800', '&amp;'),
    fc.constantFrom(100, 3_000, 40_000),
  )
  .map(([unit, times]) => `"${unit.repeat(times)}"`);

/** How a server could encode a secret that it received. */
function spellingsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret);
  return [
    secret,
    encoded,
    encodeURIComponent(encoded),
    btoa(secret),
    btoa(`x${secret}y`),
    `before ${secret} behind`,
    JSON.stringify({ key: secret }),
    [...secret].map((character) => `&#${character.charCodeAt(0)};`).join(''),
  ].map((text) => JSON.stringify(text));
}
