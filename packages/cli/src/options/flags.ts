import { InvalidArgumentError, Option as Flag } from 'commander';
import { UsageError } from '../errors/errors.js';
import { nameFlag, type Option } from './option.js';

/** The flags of an option, as commander takes them. */
export function createFlags(name: string, option: Option<unknown>): Flag[] {
  const { help, placeholder, isValueOptional, isVariadic, choices, parse, off } = option;
  const value = `${placeholder ?? ''}${isVariadic ? '...' : ''}`;
  const shown = placeholder === undefined ? '' : isValueOptional ? ` [${value}]` : ` <${value}>`;
  const own = new Flag(nameFlag(name, option) + shown, help);
  if (choices) own.choices(choices.map(String));
  else if (parse)
    own.argParser((given, before: unknown) => {
      try {
        return parse(given, Array.isArray(before) ? before.map(String) : undefined);
      } catch (error) {
        // Commander adds the option's name to errors of its own.
        throw error instanceof UsageError ? new InvalidArgumentError(error.message) : error;
      }
    });
  return off === undefined ? [own] : [own, new Flag(nameFlag(name, { isOff: true }), off)];
}
