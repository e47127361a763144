/**
 * JSON as a tree that preserves what a text can express and a value cannot: a duplicate name, a number as it is
 * written, nesting that overflows any recursion.
 */
export type JsonTree = JsonScalar | JsonList | JsonRecord;

/** A value as it is written, or a fragment of a document that is not parsed. */
export interface JsonScalar {
  readonly kind: 'scalar';
  readonly text: string;
}

export interface JsonList {
  readonly kind: 'list';
  readonly items: JsonTree[];
}

export interface JsonRecord {
  readonly kind: 'record';
  /** Names as they are written, with quotes. */
  readonly fields: [name: string, value: JsonTree][];
}

export function scalar(text: string): JsonScalar {
  return { kind: 'scalar', text };
}

export function treeOf(value: unknown): JsonTree {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return scalar(JSON.stringify(value));
  return {
    kind: 'record',
    fields: Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [JSON.stringify(name), treeOf(field)]),
  };
}

export function textOf(tree: JsonTree): string {
  switch (tree.kind) {
    case 'scalar':
      return tree.text;
    case 'list':
      return `[${tree.items.map(textOf).join(',')}]`;
    case 'record':
      return `{${tree.fields.map(([name, value]) => `${name}:${textOf(value)}`).join(',')}}`;
  }
}

/** The place of a value. */
export type Place = { readonly in: JsonList; readonly at: number } | { readonly in: JsonRecord; readonly at: number };

export function valueAt(place: Place): JsonTree {
  return 'items' in place.in ? place.in.items[place.at]! : place.in.fields[place.at]![1];
}

export function setAt(place: Place, value: JsonTree): void {
  if ('items' in place.in) place.in.items[place.at] = value;
  else place.in.fields[place.at]![1] = value;
}

/** All places inside a list or a record, from front to back. */
export function placesIn(tree: JsonTree): Place[] {
  if (tree.kind === 'scalar') return [];
  const children: Place[] =
    tree.kind === 'list'
      ? tree.items.map((_, at) => ({ in: tree, at }))
      : tree.fields.map((_, at) => ({ in: tree, at }));
  return children.flatMap((place) => [place, ...placesIn(valueAt(place))]);
}
