import fc from 'fast-check';
import { pageFields, type ApiName } from '../../test/kit/apiReference.js';
import { nested } from './hostileTexts.js';
import { placesIn, scalar, setAt, textOf, valueAt, type JsonList, type JsonTree, type Place } from './jsonTree.js';
import { levels, nastyName, shape } from './nastyValue.js';

/** Where something changes: at the nth value, or at a field of the document, even if that is missing. */
type Spot = number | string;

/** One change of a document. */
export interface Mutation {
  readonly at: Spot;
  readonly change: Change;
}

type Change =
  | { readonly kind: 'replace' | 'twice-before' | 'twice-after'; readonly by: JsonTree }
  | { readonly kind: 'remove' }
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'add'; readonly name: string; readonly by: JsonTree }
  | { readonly kind: 'wrap'; readonly as: 'list' | 'record'; readonly levels: number }
  | { readonly kind: 'repeat'; readonly times: number }
  | { readonly kind: 'swap'; readonly with: number };

/** Changes of every kind, with these values. */
export function mutation(api: ApiName, values: fc.Arbitrary<JsonTree>): fc.Arbitrary<Mutation> {
  return fc.record({
    at: fc.oneof({ weight: 2, arbitrary: fc.nat(500) }, { weight: 1, arbitrary: fc.constantFrom(...pageFields[api]) }),
    change: fc.oneof(
      { weight: 8, arbitrary: values.map((by): Change => ({ kind: 'replace', by })) },
      { weight: 3, arbitrary: fc.constant<Change>({ kind: 'remove' }) },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constantFrom('twice-before' as const, 'twice-after' as const), by: values }),
      },
      { weight: 3, arbitrary: nastyName.map((each): Change => ({ kind: 'rename', name: each })) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), name: nastyName, by: values }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('wrap' as const), as: shape, levels }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('repeat' as const), times: fc.constantFrom(2, 3, 50, 1_000) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('swap' as const), with: fc.nat(500) }) },
    ),
  });
}

/** The text of a document after some changes. */
export function mutated(valid: JsonTree, mutations: readonly Mutation[]): string {
  const root: JsonList = { kind: 'list', items: [valid] };
  for (const { at, change } of mutations) apply(root, placeOf(root, at), change);
  // The change may have doubled or removed the document itself.
  return root.items.map(textOf).join('');
}

function placeOf(root: JsonList, at: Spot): Place | undefined {
  if (typeof at === 'number') {
    const places = placesIn(root);
    return places[at % Math.max(1, places.length)];
  }
  const [document] = root.items;
  if (document?.kind !== 'record') return undefined;
  const written = JSON.stringify(at);
  const index = document.fields.findIndex(([each]) => each === written);
  if (index >= 0) return { in: document, at: index };
  document.fields.push([written, scalar('null')]);
  return { in: document, at: document.fields.length - 1 };
}

function apply(root: JsonList, place: Place | undefined, change: Change): void {
  if (!place) return;
  const value = valueAt(place);
  switch (change.kind) {
    case 'replace':
      return setAt(place, structuredClone(change.by));
    case 'twice-before':
    case 'twice-after': {
      const by = structuredClone(change.by);
      const at = place.at + (change.kind === 'twice-after' ? 1 : 0);
      if ('items' in place.in) place.in.items.splice(at, 0, by);
      else place.in.fields.splice(at, 0, [place.in.fields[place.at]![0], by]);
      return;
    }
    case 'remove':
      if ('items' in place.in) place.in.items.splice(place.at, 1);
      else place.in.fields.splice(place.at, 1);
      return;
    case 'rename':
      if ('fields' in place.in) place.in.fields[place.at]![0] = JSON.stringify(change.name);
      return;
    case 'add': {
      const into = value.kind === 'scalar' ? place.in : value;
      if ('fields' in into) into.fields.push([JSON.stringify(change.name), structuredClone(change.by)]);
      else into.items.push(structuredClone(change.by));
      return;
    }
    case 'wrap':
      return setAt(place, scalar(nested(change.levels, change.as, textOf(value))));
    case 'repeat': {
      const text = textOf(value);
      // Wide or long, but never both without limit.
      const times = text.length > 2_000 ? 2 : change.times;
      return setAt(place, scalar(`[${Array.from({ length: times }, () => text).join(',')}]`));
    }
    case 'swap': {
      const places = placesIn(root);
      const other = places[change.with % places.length]!;
      const one = structuredClone(value);
      const another = structuredClone(valueAt(other));
      setAt(place, another);
      // The content of the first one was removed with it.
      if (placesIn(root).some((each) => each.in === other.in && each.at === other.at)) setAt(other, one);
    }
  }
}
