/** How something is meant: each tone has a sign and a colour. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

const tones: readonly (readonly [Tone, RegExp])[] = [
  ['bad', /^(error|errored|failed|failing|dead|broken|terminated)$/i],
  ['warn', /^(paused|pausing|warning|degraded|pending|suspended|inactive)$/i],
  ['good', /^(active|ok|running|healthy|ready|live|enabled|done)$/i],
];

/** The tone of a status that we know by its name. */
export function findTone(status: string): Tone | undefined {
  return tones.find(([, names]) => names.test(status))?.[0];
}

/** Whether it is bad and stays so: an error may pass. */
export function isFinal(status: string): boolean {
  return /^(dead|terminated)$/i.test(status);
}

/** A colour of the other ones, which belongs to the name: in every run and on every page it is the same. */
export function hueOf(status: string): number {
  let hash = 7;
  for (const character of status.toLowerCase()) hash = (31 * hash + (character.codePointAt(0) ?? 0)) % 9_973;
  return hash % hues;
}

const hues = 8;
