import { ofEndpoints, ofFiles } from '../forward/checkOneTarget.js';
import { formatOfName, standardOutput } from './rowFormat.js';

/** What a command line says of its target, by the names that commander gives its options. */
export interface GivenTarget {
  readonly to?: unknown;
  readonly forward?: unknown;
  readonly format?: unknown;
  readonly state?: unknown;
  readonly maxRows?: unknown;
}

/** Options that a target without state, such as stdout, has no use for. */
const ofState = ['commitEvery', 'trustFilesystem'];
const ofEndpointsOnly: readonly string[] = ofEndpoints;
const ofFilesOnly: readonly string[] = ofFiles;

/**
 * Whether a default goes with what was given: one that does not is left out, as if it were not there. What people give themselves is
 * refused instead.
 *
 * @param isSink whether a target is that of a sink with a name.
 */
export function isFitting(
  option: string,
  value: unknown,
  given: GivenTarget,
  isSink: (target: string) => boolean,
): boolean {
  const kind = kindOf(given, isSink);
  const target = typeof given.to === 'string' ? given.to : standardOutput;
  if (ofEndpointsOnly.includes(option)) return kind === 'endpoint';
  if (ofState.includes(option)) return kind !== 'stdout' || given.state !== undefined;
  if (option === 'onExpired') return kind === 'file';
  if (option === 'lanes') return given.maxRows === undefined;
  if (option !== 'guardFormulas' && !ofFilesOnly.includes(option)) return true;
  if (kind === 'endpoint' || kind === 'sink') return false;
  switch (option) {
    case 'ifExists':
      return kind === 'file';
    case 'format':
      return kind === 'stdout' || (value !== 'text' && formatOfName(target) === undefined);
    case 'extra':
    case 'bom':
      return (given.format ?? formatOfName(target)) !== 'jsonl';
    default:
      return true;
  }
}

function kindOf(
  { to, forward }: GivenTarget,
  isSink: (target: string) => boolean,
): 'endpoint' | 'stdout' | 'sink' | 'file' {
  if (forward !== undefined) return 'endpoint';
  if (typeof to !== 'string' || to === standardOutput) return 'stdout';
  return isSink(to) ? 'sink' : 'file';
}
