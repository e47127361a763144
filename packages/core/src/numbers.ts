import { ConfigError } from './errors.js';

/** Checks options that are numbers. @throws ConfigError naming the first that is none, or is not right. */
export function checkNumbers(owner: string, numbers: object, isRight: (value: number) => boolean, range: string): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || !isRight(value)) {
      throw new ConfigError(`${owner}.${name} is ${String(value)}: it must be a number ${range}.`);
    }
  }
}
