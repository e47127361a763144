import { isList } from '../values.js';

/** Lists of a document from which a function has made its rows. */
export interface ReadLists {
  /** The most items that one of them has. */
  readonly longest: number;
  /** Whether it is not known which of them has the rows. */
  readonly areSeveral: boolean;
}

/**
 * The list of a document that a function returns. If it makes another one: those that it goes through. If it goes
 * through none, or fails: all that have objects or lists.
 *
 * @param run is called with a view of the document that notes what is read. It must not change the document.
 */
export function countRead(document: unknown, run: (observed: unknown) => readonly unknown[]): ReadLists {
  const read = new Set<readonly unknown[]>();
  const views = new WeakMap<object, object>();
  const lists = new WeakMap<object, readonly unknown[]>();
  const view = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const known = views.get(value);
    if (known) return known;
    const made = new Proxy(value, {
      get(target, name) {
        // Methods and loops of lists begin with it. An index alone does not: it may be that of an outer list.
        if (name === 'length' && isList(target)) read.add(target);
        return view(Reflect.get(target, name));
      },
    });
    views.set(value, made);
    if (isList(value)) lists.set(made, value);
    return made;
  };
  try {
    const returned = lists.get(run(view(document)));
    if (returned) return summary(new Set([returned]));
  } catch {
    // The function has succeeded before, so it needs more than a view, e.g. to clone it.
    read.clear();
  }
  return summary(read.size > 0 ? read : listsIn(document));
}

function summary(lists: ReadonlySet<readonly unknown[]>): ReadLists {
  // Not with `...`: a page may have more lists than a call takes arguments.
  let longest = 0;
  for (const { length } of lists) longest = Math.max(longest, length);
  return { longest, areSeveral: lists.size > 1 };
}

function listsIn(value: unknown, found = new Set<readonly unknown[]>()): Set<readonly unknown[]> {
  if (typeof value !== 'object' || value === null) return found;
  if (isList(value) && value.some((item) => typeof item === 'object' && item !== null)) found.add(value);
  for (const each of Object.values(value)) listsIn(each, found);
  return found;
}
