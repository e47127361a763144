import { ConfigError } from './errors.js';

/**
 * Checks an option that counts something.
 *
 * @throws ConfigError unless it is a whole number from `least` to `most`.
 */
export function checkCount(
  name: string,
  value: number,
  { least = 1, most = Number.MAX_SAFE_INTEGER }: { readonly least?: number; readonly most?: number } = {},
): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new ConfigError(`${name} is ${value}: it must be a whole number ${range}.`, { option: name });
}
