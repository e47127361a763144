import { ConfigError } from '../../errors.js';
import type { Json } from '../../json.js';
import type { Paging } from '../pages/paging.js';

/** The place of the value of `bySince` in a definition's text, e.g. `project = ops AND {since} ORDER BY updated`. */
const slot = '{since}';

/**
 * Whether a value of the definition is a text with a place for the value of `bySince`.
 *
 * @throws ConfigError if the first request would have no value.
 */
export function hasSlot(name: string, { increment }: Paging, value: unknown): boolean {
  if (!increment || typeof value !== 'string' || !value.includes(slot)) return false;
  if (increment.begin !== undefined) return true;
  throw new ConfigError(
    `${name} has ${slot} in its request, and its first one has no value for it: give bySince a begin, e.g. begin: '2024-01-01'.`,
  );
}

/** The text of a definition with the written value in it, or only the written value if there is no such text. */
export function fillSlot<Value>(text: Json | undefined, written: Value): Value | string {
  if (typeof text !== 'string' || !text.includes(slot)) return written;
  return text.replaceAll(slot, () => String(written));
}
