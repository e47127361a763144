/** How a status is meant. `bad` is an outage. */
export type StatusTone = 'good' | 'warn' | 'bad';

const tones: readonly (readonly [StatusTone, RegExp])[] = [
  ['bad', /^(error|errored|failed|failing|dead|broken|terminated)$/i],
  ['warn', /^(paused|pausing|warning|degraded|pending|suspended|inactive)$/i],
  ['good', /^(active|ok|running|healthy|ready|live|enabled|done)$/i],
];

/**
 * How a status is meant, if it is known by its name; `undefined` if it is not.
 *
 * @example statusTone('Error') // 'bad'
 */
export function statusTone(status: string): StatusTone | undefined {
  return tones.find(([, names]) => names.test(status))?.[0];
}

/** The number of a colour, from 0 to 7, for a status without a known tone: it belongs to the name, so it is the same everywhere. */
export function statusHue(status: string): number {
  let hash = 7;
  for (const character of status.toLowerCase()) hash = (31 * hash + (character.codePointAt(0) ?? 0)) % 9_973;
  return hash % hues;
}

const hues = 8;
