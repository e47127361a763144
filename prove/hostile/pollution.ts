/** Objects that all programs share, and that nothing may change. */
const shared: readonly object[] = [
  ...[Object, Array, Function, String, Number, Boolean, Symbol, BigInt, RegExp, Date, Error, Promise].map(
    (each): object => each.prototype,
  ),
  ...[Map, Set, WeakMap, WeakSet, Uint8Array, ArrayBuffer, URL, URLSearchParams, AbortSignal].map(
    (each): object => each.prototype,
  ),
  Object,
  Array,
  JSON,
  Math,
  Reflect,
];

const before = shared.map(look);

/** Additions to, or changes of, JavaScript's own objects since this file was loaded; a sentence, or `undefined`. */
export function pollution(): string | undefined {
  for (const [at, each] of shared.entries()) {
    const was = before[at]!;
    const is = look(each);
    const name =
      [...is.keys()].find((key) => was.get(key) !== is.get(key)) ?? [...was.keys()].find((key) => !is.has(key));
    if (name !== undefined) return `The language's own objects were changed: ${String(name)} of the ${at + 1}th.`;
  }
  return undefined;
}

/** Values, and a placeholder for computed ones. */
function look(each: object): ReadonlyMap<string | symbol, unknown> {
  return new Map(
    Reflect.ownKeys(each).map((key) => {
      const { value, get } = Object.getOwnPropertyDescriptor(each, key)!;
      return [key, value ?? get];
    }),
  );
}
