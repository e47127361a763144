import { checkNumbers, checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';

/** A state of a row that must not last: what it is, and for how long it may. */
export interface Rule<T> {
  /** Whether the row is in that state. It sees each row as a walk lists it, with the fields that the watch ignores. */
  readonly when: (row: T) => boolean;
  /** Ms for which the state must last until the row is due. 0: it is due at the first walk that shows it. */
  readonly for: number;
  /** Ms until the row is due again, at most once a walk. Default: it is due once. */
  readonly again?: number | undefined;
  /** Ms after the beginning until which one can act. Default: nothing says so. */
  readonly deadline?: number | undefined;
  /** When the state began, where the row knows: a date, ms since 1970, or text in ISO 8601. Default: what walks have shown. */
  readonly since?: ((row: T) => Date | number | string | null | undefined) | undefined;
  /** Identifies what `when` and `since` do. With another one, rows that are due are resolved, and it begins anew. */
  readonly version?: string | undefined;
}

/** Rules by name. */
export type Rules<T> = Readonly<Record<string, Rule<T>>>;

const longest = 3_650 * 86_400_000;

/** @throws ConfigError if a rule is invalid. */
export function checkRules(rules: Rules<never>): void {
  for (const [name, rule] of Object.entries(rules)) {
    const of = `The rule ${JSON.stringify(name)}`;
    if (name.trim() === '')
      throw new ConfigError('A rule has no name. Name it by what is wrong, e.g. dying.', { option: 'rules' });
    checkOptions(of, rule, {
      when: 'a function',
      for: true,
      again: true,
      deadline: true,
      since: 'a function?',
      version: 'text?',
    });
    const { again = 1, deadline = 1 } = rule;
    checkNumbers(of, { for: rule.for }, (ms) => ms >= 0 && ms <= longest, 'from 0 to ten years in ms');
    checkNumbers(of, { again, deadline }, (ms) => ms > 0 && ms <= longest, 'above 0, of at most ten years in ms');
  }
}
