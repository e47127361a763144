import { isList } from '../values.js';

/**
 * The length of the longest list of a document that a function goes through. If it goes through none, or fails: of the
 * longest one that has objects or lists.
 *
 * @param run is called with a view of the document that notes what is read. It must not change the document.
 */
export function countRead(document: unknown, run: (observed: unknown) => void): number {
  let longest: number | undefined;
  const views = new WeakMap<object, object>();
  const view = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const known = views.get(value);
    if (known) return known;
    const made = new Proxy(value, {
      get(target, name) {
        // Methods and loops of lists begin with it. An index alone does not: it may be that of an outer list.
        if (name === 'length' && isList(target)) longest = Math.max(longest ?? 0, target.length);
        return view(Reflect.get(target, name));
      },
    });
    views.set(value, made);
    return made;
  };
  try {
    run(view(document));
  } catch {
    // The function has succeeded before, so it needs more than a view, e.g. to clone it.
    longest = undefined;
  }
  return longest ?? longestList(document);
}

function longestList(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = isList(value) && value.some((item) => typeof item === 'object' && item !== null) ? value.length : 0;
  return Object.values(value).reduce<number>((longest, each) => Math.max(longest, longestList(each)), own);
}
