import type { ExpectedFault } from './expectedPage.js';
import type { ExpectedWalk, Mark } from './expectedWalk.js';
import { holdsKey, keyTraces, withoutKey } from './keyTraces.js';
import type { Outcome, SeenError } from './outcome.js';

/** Whether a walk was one of those that it has to be; a sentence if it was none. */
export function judged(
  outcome: Outcome,
  marks: readonly Mark[],
  walks: readonly ExpectedWalk[],
  { secret, sent }: { readonly secret: string; readonly sent: readonly string[] },
): string | undefined {
  const { error, traces } = outcome;
  if (error && error.code === undefined) return `It threw what is no error of ours: ${error.stack ?? error.message}`;
  if (traces.length > 0 && isWholeOnly(secret, sent))
    return `The error shows the key: ${traces[0]} (${error?.message})`;
  if (traces.some((trace) => holdsKey(secret, trace))) return `The error shows the key (${error?.message})`;
  const faults = walks.map((walk) => differenceFrom(walk, outcome, marks));
  return faults.includes(undefined) ? undefined : faults[0];
}

/** Where a key was cut into pieces by chance, no excerpt can know them for what they are. */
function isWholeOnly(secret: string, sent: readonly string[]): boolean {
  return sent.every((text) => keyTraces(secret, withoutKey(secret, text)).length === 0);
}

function differenceFrom(walk: ExpectedWalk, { rows, error }: Outcome, marks: readonly Mark[]): string | undefined {
  if (!walk.fault && error) return `It failed, where rows were expected: ${error.name} ${error.message}`;
  if (walk.fault && !error) return `It gave ${rows.length} rows, where ${said(walk.fault)} was expected`;
  if (walk.fault && error && !isOf(walk.fault, error))
    return `It failed with ${error.code} at "${error.path}", where ${said(walk.fault)} was expected: ${error.message}`;
  const wrong = walk.rows.findIndex((row, at) => row !== rows[at]);
  if (wrong >= 0)
    return `Row ${wrong} is ${rows[wrong]?.slice(0, 500)}, and should be ${walk.rows[wrong]?.slice(0, 500)}`;
  if (rows.length !== walk.rows.length) return `It gave ${rows.length} rows, and should have given ${walk.rows.length}`;
  const [asked, wanted] = [marks, walk.marks].map((each) => each.map(spelled).join(' | '));
  return asked === wanted ? undefined : `It asked for ${asked}, and should have asked for ${wanted}`;
}

function isOf({ codes, paths }: ExpectedFault, { code = '', path }: SeenError): boolean {
  return codes.includes(code) && (code !== 'decode' || !paths || path === undefined || paths.includes(path));
}

function said({ codes, paths = [] }: ExpectedFault): string {
  return `${codes.join(' or ')}${paths.length > 0 ? ` at ${paths.map((path) => `"${path}"`).join(' or ')}` : ''}`;
}

function spelled({ cursor, offset }: Mark): string {
  return `${cursor === undefined ? '' : `cursor ${JSON.stringify(cursor)}`}${offset === undefined ? '' : `offset ${offset}`}`;
}
