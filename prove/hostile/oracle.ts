import { received } from './answeringLink.js';
import { changesFault } from './changesFault.js';
import { expectedPage, type Expected, type ExpectedFault } from './expectedPage.js';
import { expectedWalks, type ExpectedWalk, type PageCursor } from './expectedWalk.js';
import type { HostileWalk, WalkReport } from './hostileWalks.js';
import { holdsKey, hostileKey, keyTraces, withoutKey } from './keyTraces.js';
import type { Outcome, SeenError } from './outcome.js';
import { writtenFault } from './writtenFault.js';

/** How the responses arrive after the wire. */
export interface Arrived {
  /** The permitted readings of each response. */
  readonly expected: readonly (readonly Expected[])[];
  /** What was sent besides the documents. */
  readonly sent: string;
}

/**
 * What is wrong with a walk through hostile responses, as a sentence; `undefined` if the APIs' reference allows its
 * outcome, and it had no side effect.
 *
 * @param arrived Default: each document unchanged.
 */
export function faultIn(
  { api, use, texts, first = '' }: HostileWalk,
  report: WalkReport,
  arrived: Arrived = { expected: texts.map((text) => [expectedPage(api, received(text))]), sent: '' },
): string | undefined {
  const aside = report.strays?.[0] ?? report.pollution;
  if (aside !== undefined) return aside;
  const walks = expectedWalks(api, arrived.expected, hostileKey);
  const sent = [...texts, arrived.sent];
  const judge = (as: Partial<ExpectedWalk> = {}, marks = report.marks): string | undefined =>
    judged(
      report,
      marks,
      walks.map((walk) => ({ ...walk, ...as })),
      sent,
    );
  if (use === 'rows') return judge();
  if (use === 'texts') return judge() ?? writtenFault(api, report.written ?? {}, walks);
  // Rows that were written to a file, or compared, are checked at their destination.
  if (use === 'file')
    return judge({ rows: [] }) ?? (report.error ? undefined : writtenFault(api, report.written ?? {}, walks));
  return judge({ rows: [] }, report.marks.slice(1)) ?? changesFault(api, report, first, walks);
}

/** Whether a walk is one of the permitted ones; a sentence if it is not. */
function judged(
  outcome: Outcome,
  marks: readonly PageCursor[],
  walks: readonly ExpectedWalk[],
  sent: readonly string[],
): string | undefined {
  const { error, traces } = outcome;
  if (error && error.code === undefined) return `It threw what is no error of ours: ${error.stack ?? error.message}`;
  if (traces.length > 0 && isWholeOnly(sent)) return `The error shows the key: ${traces[0]} (${error?.message})`;
  if (traces.some((trace) => holdsKey(hostileKey, trace))) return `The error shows the key (${error?.message})`;
  const faults = walks.map((walk) => differenceFrom(walk, outcome, marks));
  return faults.includes(undefined) ? undefined : faults[0];
}

/** If a key is split by chance, an excerpt cannot recognise its fragments. */
function isWholeOnly(sent: readonly string[]): boolean {
  return sent.every((text) => keyTraces(hostileKey, withoutKey(hostileKey, text)).length === 0);
}

function differenceFrom(
  walk: ExpectedWalk,
  { rows, error }: Outcome,
  marks: readonly PageCursor[],
): string | undefined {
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

function spelled({ cursor, offset }: PageCursor): string {
  return `${cursor === undefined ? '' : `cursor ${JSON.stringify(cursor)}`}${offset === undefined ? '' : `offset ${offset}`}`;
}
