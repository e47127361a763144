import { ConfigError } from './errors.js';

/** Checks numeric options. @throws ConfigError that names the first invalid one. */
export function checkNumbers(owner: string, numbers: object, isRight: (value: number) => boolean, range: string): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || !isRight(value))
      throw new ConfigError(`${owner}.${name} is ${String(value)}: it must be a number ${range}.`);
  }
}

/** Checks an integer option. @throws ConfigError unless it is a whole number from `min` to `max`. */
export function checkCount(
  name: string,
  value: number,
  { min = 1, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {},
): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new ConfigError(`${name} is ${value}: it must be a whole number ${range}.`, { option: name });
}
