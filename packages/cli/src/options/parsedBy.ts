import { InvalidArgumentError } from 'commander';
import { UsageError } from '../faults/usageError.js';

/** Lets commander use a parser of ours: what it refuses is told with the option's name. */
export function parsedBy<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw error instanceof UsageError ? new InvalidArgumentError(error.message) : error;
    }
  };
}
