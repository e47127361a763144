import { type ErrorReport, fieldOf, isError, reportOf, textOf } from './errorReport.js';
import { isList } from './values.js';

/** Rewrites all texts of a report, e.g. to redact secrets. */
export function rewriteReport(report: ErrorReport, rewrite: (text: string) => string): ErrorReport {
  return reportOf(rewriteThrown(report, rewrite));
}

/** Removes secrets from a text, and then cuts it to a length. */
interface Redactor {
  redact?(text: string, length?: number): string;
}

/** Longest text in an error or event. Texts of plugins may have any length, and each is searched for secrets. */
export const longestText = 10_000;

/** A thrown value without secrets in its texts. */
export function redactThrown(thrown: unknown, redactor: Redactor | undefined): unknown {
  return redactor?.redact ? rewriteThrown(thrown, (text) => redactor.redact?.(text, longestText) ?? '') : thrown;
}

/** Deeper values are left out of errors. */
const deepest = 50;

/**
 * Rewrites all texts of a thrown value, e.g. to redact secrets. Errors, with their causes and details, are changed in
 * place, so that they keep their identity. Other objects may be somebody's rows: they are copied if a text changes.
 */
function rewriteThrown(thrown: unknown, rewrite: (text: string) => string): unknown {
  return new Rewriting(rewrite).of(thrown, 0);
}

class Rewriting {
  readonly #rewrite: (text: string) => string;
  /** The result for each object. Until it is known: errors themselves, `undefined` for others: no copy has a cycle. */
  readonly #made = new Map<object, unknown>();

  constructor(rewrite: (text: string) => string) {
    this.#rewrite = rewrite;
  }

  of(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#rewrite(value);
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
    if (this.#made.has(value)) return this.#made.get(value);
    if (depth > deepest) return undefined;
    this.#made.set(value, isError(value) ? value : undefined);
    const made = this.#madeOf(value, depth + 1);
    this.#made.set(value, made);
    return made;
  }

  #madeOf(value: object, depth: number): unknown {
    if (isError(value)) return this.#error(value, depth);
    if (value instanceof Set) {
      const items = [...value].map((item) => this.of(item, depth));
      return sameItems(items, [...value]) ? value : new Set(items);
    }
    if (value instanceof Map) {
      const entries = [...value].map(([key, item]) => [this.of(key, depth), this.of(item, depth)] as const);
      return sameItems(entries.flat(), [...value].flat()) ? value : new Map(entries);
    }
    if (isList(value)) {
      const items = value.map((item) => this.of(item, depth));
      return sameItems(items, value) ? value : items;
    }
    const fields = fieldsOf(value);
    const made = fields.map(([name, field]) => [this.#rewrite(name), this.of(field, depth)] as const);
    return sameItems(made.flat(), fields.flat()) ? value : Object.fromEntries(made);
  }

  #error(error: object, depth: number): unknown {
    // A stack quotes the message. Name, message and stack may be own, inherited, or made by a getter.
    for (const name of new Set(['name', 'message', 'stack', ...Reflect.ownKeys(error)])) {
      const value = fieldOf(error, name);
      const made = this.of(value, depth);
      const shown = typeof name === 'string' ? this.#rewrite(name) : name;
      if (Object.is(made, value) && shown === name) continue;
      const isSet = Reflect.defineProperty(error, shown, { value: made, writable: true, configurable: true });
      // The error is frozen, so a new one replaces it.
      if (!isSet || (shown !== name && !Reflect.deleteProperty(error, name)))
        return new Error(this.#rewrite(textOf(fieldOf(error, 'message'))));
    }
    return error;
  }
}

function sameItems(items: readonly unknown[], others: readonly unknown[]): boolean {
  return items.every((item, nth) => Object.is(item, others[nth]));
}

function fieldsOf(value: object): readonly [string, unknown][] {
  return Object.keys(value).map((name) => [name, fieldOf(value, name)]);
}
