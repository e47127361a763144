import type { DueEvent } from '@sluice/core/kit';
import { fit, shorten } from './fit.js';
import type { DueView } from './snapshot.js';

/** Rows that can be shown, and rows that are only counted, at most. */
const maxShown = 1_000;
const maxCounted = 100_000;
const maxText = 80;

/** The rows for which rules of a watch are due. Its size is bounded: of many, it knows the most urgent ones, and how many there are. */
export class DueRows {
  readonly #shown = new Map<string, DueView>();
  readonly #others = new Set<string>();

  fold({ key, name = key, rule, kind, earliest, latest, actBefore }: DueEvent): void {
    const id = JSON.stringify([rule, key]);
    this.#shown.delete(id);
    this.#others.delete(id);
    if (kind === 'resolved') return;
    this.#shown.set(id, {
      name: shorten(name, maxText),
      key: name === key ? '' : shorten(key, maxText),
      rule: shorten(rule, maxText),
      since: Date.parse(earliest ?? latest),
      isEarlier: earliest === null,
      ...(actBefore !== undefined && { actBefore: actBefore === null ? null : Date.parse(actBefore) }),
    });
    if (this.#shown.size <= maxShown) return;
    const [least] = [...this.#shown].reduce((one, other) => (urgency(other[1]) > urgency(one[1]) ? other : one));
    this.#shown.delete(least);
    if (this.#others.size < maxCounted) this.#others.add(least);
  }

  get size(): number {
    return this.#shown.size + this.#others.size;
  }

  /** Those on which one must act first. @param maxBytes of JSON */
  view(maxBytes: number): DueView[] {
    return fit(
      [...this.#shown.values()].sort((one, other) => urgency(one) - urgency(other)),
      maxBytes,
    );
  }
}

/** Less is more urgent. */
function urgency({ actBefore, since }: DueView): number {
  return actBefore ?? since;
}
