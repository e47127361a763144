import fc from 'fast-check';
import type { ApiName } from '../../test/kit/apiReference.js';
import { edit, edited, type Edit } from './edit.js';
import { treeOf } from './jsonTree.js';
import { mutated, mutation } from './mutation.js';
import { nastyValue } from './nastyValue.js';

/** The material of hostile documents. */
export interface DocumentOrigin {
  readonly api: ApiName;
  /** The rows of valid responses. */
  readonly rows: readonly unknown[];
  /** A secret that the server knows, and repeats wherever it can. */
  readonly secret: string;
}

/** Valid documents of an API, mutated a few times as a tree, and some also as text. They shrink to fewer mutations. */
export function hostileDocument(origin: DocumentOrigin): fc.Arbitrary<string> {
  return fc.tuple(validDocument(origin), hostileChange(origin)).map(([valid, change]) => change(valid));
}

/** How a document becomes a hostile text. */
export function hostileChange({ api, secret }: DocumentOrigin): fc.Arbitrary<(document: unknown) => string> {
  return fc
    .record({
      mutations: fc.array(mutation(api, nastyValue(secret)), { maxLength: 4 }),
      edits: fc.oneof(
        { weight: 4, arbitrary: fc.constant<Edit[]>([]) },
        { weight: 1, arbitrary: fc.array(edit, { minLength: 1, maxLength: 2 }) },
      ),
    })
    .map(
      ({ mutations, edits }) =>
        (document) =>
          edits.reduce<string>(edited, mutated(treeOf(document), mutations)),
    );
}

/** Documents as the APIs send them. */
function validDocument({ api, rows }: Omit<DocumentOrigin, 'secret'>): fc.Arbitrary<object> {
  const some = fc.array(fc.nat(rows.length - 1), { maxLength: 3 }).map((indices) => indices.map((at) => rows[at]));
  const result = fc.oneof(
    { weight: 8, arbitrary: some },
    { weight: 1, arbitrary: fc.constantFrom(null, undefined) },
    { weight: 1, arbitrary: fc.nat(rows.length - 1).map((at) => rows[at]) },
  );
  const cursor = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(null, undefined, '') },
    { weight: 2, arbitrary: fc.constantFrom('c1', 'c2', 'b==', '/+%20?&#', '%2541', 'ü', '0') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  );
  return api === 'streams'
    ? fc.record({ total: fc.constantFrom(undefined, null, 0, 3, 1e9), cursor, result })
    : fc.record({ cursor, hasNextPage: fc.constantFrom(undefined, null, false, false, true), result });
}

/** A document in readable form, with invisible characters as escapes. */
export function shortened(text: string): string {
  const ends =
    text.length > 1_500 ? `${text.slice(0, 1_000)} … ${text.length - 1_500} characters … ${text.slice(-500)}` : text;
  return JSON.stringify(ends);
}
