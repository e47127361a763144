import type { DueEvent } from '@sluice/core/kit';
import { fit, shorten } from './fit.js';
import type { DueView } from './snapshot.js';

/** Rows that are followed at most. */
const maxRows = 1_000;
const maxText = 80;

/** The rows for which rules of a watch are due. Its size is bounded. */
export class DueRows {
  readonly #rows = new Map<string, DueView>();

  fold({ key, name = key, rule, kind, earliest, latest, actBefore }: DueEvent): void {
    const id = JSON.stringify([rule, key]);
    this.#rows.delete(id);
    if (kind === 'resolved' || this.#rows.size >= maxRows) return;
    this.#rows.set(id, {
      name: shorten(name, maxText),
      key: name === key ? '' : shorten(key, maxText),
      rule: shorten(rule, maxText),
      since: Date.parse(earliest ?? latest),
      isEarlier: earliest === null,
      ...(actBefore !== undefined && { actBefore: actBefore === null ? null : Date.parse(actBefore) }),
    });
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Those on which one must act first. @param maxBytes of JSON */
  view(maxBytes: number): DueView[] {
    const urgency = ({ actBefore, since }: DueView): number => actBefore ?? since;
    return fit(
      [...this.#rows.values()].sort((one, other) => urgency(one) - urgency(other)),
      maxBytes,
    );
  }
}
