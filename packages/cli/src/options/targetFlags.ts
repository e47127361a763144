import { flagOf } from '../errors/cliTerms.js';
import { UsageError } from '../errors/errors.js';

/** Options that speak of an endpoint, by the names that commander gives them. */
export const ofEndpoints = [
  ...(['secretFile', 'headerFile', 'allowAddress', 'batch', 'deliveries'] as const),
  ...(['deadLetters', 'maxDeadLetters', 'onDead'] as const),
];
/** Options that speak of a file. */
export const ofFiles = ['format', 'columns', 'gzip', 'ifExists', 'extra', 'bom'] as const;

/** What is looked at, whatever it is. */
export type TargetFlags = Readonly<Partial<Record<(typeof ofEndpoints | typeof ofFiles)[number], unknown>>> & {
  readonly to?: string;
  readonly forward?: string;
  /** On unless it is turned off. */
  readonly guardFormulas?: boolean;
};

/**
 * Refuses two targets, and options that speak of one that was not given.
 *
 * @param named the target of a plugin's sink, if it is one.
 * @throws UsageError with the first of them.
 */
export function checkOneTarget(options: TargetFlags, named?: { readonly name: string }): void {
  const { to, forward, guardFormulas } = options;
  if (forward === undefined) {
    const given = ofEndpoints.find((option) => options[option] !== undefined);
    if (given !== undefined) throw new UsageError(`${flagOf(given)} goes with --forward URL, which is not there.`);
    if (!named) return;
  }
  if (to !== undefined && forward !== undefined)
    throw new UsageError('--to and --forward are two targets. Give one of them.');
  const given = ofFiles.find((option) => options[option] !== undefined);
  const flag = given === undefined ? (guardFormulas === false ? '--no-guard-formulas' : undefined) : flagOf(given);
  if (flag === undefined) return;
  throw new UsageError(
    named
      ? `${flag} goes with a file: the sink "${named.name}" is given each row as a whole.`
      : `${flag} goes with --to: what is forwarded is each record as a whole, as JSON.`,
  );
}
