import { statusTone } from '@sluice/core/health';
import type { History, RowVersion } from '@sluice/tables/sqlite';
import { Failure } from '../../errors/errors.js';
import { type DeclaredRows, findDeclared } from '../../source/declaredRows.js';
import { fieldText } from '../../terminal/format.js';
import { badFirst, Best } from '../../watch/best.js';
import { type Gap, PollGaps, unseenTime } from '../../watch/pollGaps.js';

/** What a report shows of a history. Times are in ms since 1970. */
export interface HistoryFigures {
  readonly source: string | undefined;
  readonly noun: DeclaredRows['noun'];
  readonly from: number;
  /** The last poll: what followed is not known. */
  readonly to: number;
  readonly polls: number;
  readonly incompletePolls: number;
  readonly gaps: readonly Gap[];
  /** All that were there at some time, and now. */
  readonly rows: number;
  readonly present: number;
  readonly hasStatus: boolean;
  /** The outages first. Without a status, all rows are one. */
  readonly statuses: readonly StatusCounts[];
  /** Rows in an outage or that had one first, then those that changed last. */
  readonly strips: readonly Strip[];
  readonly outages: {
    readonly count: number;
    readonly open: number;
    readonly longest: readonly Outage[];
    readonly latest: readonly Outage[];
  };
}

export interface StatusCounts {
  readonly name: string;
  readonly now: number;
  /** The mean number of rows in each of `steps` equal parts of the time. */
  readonly counts: Float64Array;
}

/** A row with its status over time. It has no segment where it was not there. */
export interface Strip {
  readonly name: string;
  readonly key: string;
  readonly segments: readonly Segment[];
  /** How it is now; absent if the row is gone. */
  readonly status: string | undefined;
  readonly versions: number;
  readonly outages: number;
  /** Ms in outages, as far as somebody looked. */
  readonly failing: number;
  readonly changedAt: number;
}

interface Segment extends Gap {
  readonly status: string;
}

/** A time in which a row's status was one that stands for a failure. */
export interface Outage extends Gap {
  readonly name: string;
  /** Of several, the first and the last one. */
  readonly status: string;
  /** The last one that there was. */
  readonly message: string;
  readonly ended: 'recovered' | 'removed' | 'not yet';
  /** Ms for which it lasted as far as somebody looked, and the others. */
  readonly seen: number;
  readonly unseen: number;
}

/** Parts of the time that counts are shown of. */
export const steps = 300;
const maxStatuses = 24;
const otherStatus = '(other)';
const noStatus = 'no status';
const maxStrips = 100;
const maxOutages = 15;
const longestText = 200;

/** Reads a history once, in memory that does not depend on its size. @throws Failure if nothing was polled. */
export async function foldHistory(history: History): Promise<HistoryFigures> {
  const { columns, source } = history;
  const declared = findDeclared(source);
  const span = await readPolls(history);
  const hasStatus = columns.includes('status');
  const counts = new CountsOverTime(span);
  const strips = new Best<Strip>(maxStrips, moreOfInterest);
  const longest = new Best<Outage>(maxOutages, (one, other) => other.seen - one.seen || other.from - one.from);
  const latest = new Best<Outage>(maxOutages, (one, other) => other.from - one.from);
  const outages = { count: 0, open: 0 };
  let rows = 0;
  const onOutage = (outage: Outage): void => {
    outages.count += 1;
    if (outage.ended === 'not yet') outages.open += 1;
    longest.add(outage);
    latest.add(outage);
  };
  let row: RowFold | undefined;
  const told = ['status', 'statusMessage', ...(declared?.told ?? [])];
  for await (const version of history.versions({ since: new Date(span.from).toISOString(), columns: told })) {
    if (row?.key !== version.key) {
      if (row) strips.add(row.end());
      rows += 1;
      row = new RowFold(version.key, { span, declared, hasStatus, onOutage });
    }
    counts.add(row.add(version), version.to === undefined);
  }
  if (row) strips.add(row.end());
  const statuses = counts.list();
  return {
    source,
    noun: declared?.noun ?? ['row', 'rows'],
    ...span,
    rows,
    present: statuses.reduce((sum, { now }) => sum + now, 0),
    hasStatus,
    statuses,
    strips: strips.list(),
    outages: { ...outages, longest: longest.list(), latest: latest.list() },
  };
}

type Span = Pick<HistoryFigures, 'from' | 'to' | 'polls' | 'incompletePolls' | 'gaps'>;

async function readPolls(history: History): Promise<Span> {
  const gaps = new PollGaps();
  let incompletePolls = 0;
  for await (const { at, isComplete } of history.polls()) {
    gaps.add(Date.parse(at));
    if (!isComplete) incompletePolls += 1;
  }
  const { first: from, last: to = 0 } = gaps;
  if (from === undefined) throw new Failure('The history has no poll yet: nothing is known of its rows.');
  // One poll has no time; it is drawn as a moment.
  return { from, to: Math.max(to, from + 1), polls: gaps.polls, incompletePolls, gaps: gaps.list() };
}

interface RowContext {
  readonly span: Span;
  readonly declared: DeclaredRows | undefined;
  readonly hasStatus: boolean;
  readonly onOutage: (outage: Outage) => void;
}

interface OpenOutage extends Pick<Outage, 'from' | 'to' | 'status' | 'message'> {
  /** The status that it began with. */
  readonly first: string;
}

/** Follows the versions of one row. */
class RowFold {
  readonly key: string;
  readonly #context: RowContext;
  /** What each step shows. */
  readonly #cells: (Segment | undefined)[] = [];
  #name: string;
  #outage: OpenOutage | undefined;
  #versions = 0;
  #outages = 0;
  #failing = 0;
  #segment: Segment | undefined;
  #changedAt = 0;
  #isPresent = false;

  constructor(key: string, context: RowContext) {
    this.key = key;
    this.#name = key;
    this.#context = context;
  }

  add({ row, from: began, to: ended, ended: reason }: RowVersion): Segment {
    const { span, declared, hasStatus } = this.#context;
    this.#versions += 1;
    // What was before the oldest poll that is left is not known.
    const from = Math.max(Date.parse(began), span.from);
    const to = ended === undefined ? Math.max(from, span.to) : Date.parse(ended);
    this.#name = shorten(fieldText(declared?.schema.nameOf?.(row)).trim()) || this.key;
    this.#isPresent = ended === undefined;
    this.#changedAt = Math.max(this.#changedAt, reason === 'removed' ? to : from);
    const status = hasStatus ? shorten(fieldText(row['status'])) || noStatus : '';
    this.#extend({ from, to, status });
    if (statusTone(status) !== 'bad') this.#endOutage('recovered');
    else {
      if (this.#outage && this.#outage.to !== from) this.#endOutage('removed');
      const outage = this.#outage ?? { from, first: status, message: '' };
      const message = shorten(fieldText(row['statusMessage'])) || outage.message;
      this.#outage = { ...outage, to, status, message };
    }
    if (reason === 'removed') this.#endOutage('removed');
    return { from, to, status };
  }

  end(): Strip {
    this.#endOutage('not yet');
    if (this.#segment) this.#draw(this.#segment);
    const status = this.#isPresent ? this.#segment?.status : undefined;
    return {
      name: this.#name,
      key: this.key,
      segments: [...new Set(this.#cells)].filter((segment) => segment !== undefined),
      status,
      versions: this.#versions,
      outages: this.#outages,
      failing: this.#failing,
      changedAt: this.#changedAt,
    };
  }

  /** Versions of one status are one segment; without a status, each version is one. */
  #extend(next: Segment): void {
    const last = this.#segment;
    const isSame = last?.to === next.from && last.status === next.status && this.#context.hasStatus;
    if (last && !isSame) this.#draw(last);
    this.#segment = last && isSame ? { ...last, to: next.to } : next;
  }

  /** Of what happens within a step, the worst is shown, so that a short outage does not get lost. */
  #draw(segment: Segment): void {
    const { span } = this.#context;
    const first = Math.max(0, Math.min(steps - 1, Math.floor(stepAt(segment.from, span))));
    const end = Math.max(first + 1, Math.min(steps, Math.ceil(stepAt(segment.to, span))));
    for (let nth = first; nth < end; nth += 1) {
      const old = this.#cells[nth];
      if (!old || severity(segment.status) >= severity(old.status)) this.#cells[nth] = segment;
    }
  }

  #endOutage(ended: Outage['ended']): void {
    const outage = this.#outage;
    if (!outage) return;
    this.#outage = undefined;
    const unseen = unseenTime(outage, this.#context.span.gaps);
    const seen = outage.to - outage.from - unseen;
    this.#outages += 1;
    this.#failing += seen;
    const { first, status } = outage;
    const shown = first === status ? status : `${first} -> ${status}`;
    this.#context.onOutage({ ...outage, status: shown, name: this.#name, ended, seen, unseen });
  }
}

/** Where a time is, in steps from the first poll. */
function stepAt(at: number, { from, to }: Gap): number {
  return (at - from) / ((to - from) / steps);
}

/** The worse, the higher. */
function severity(status: string): number {
  const tone = statusTone(status);
  return tone === 'bad' ? 2 : tone === 'warn' ? 1 : 0;
}

/** How many rows have which status, as the mean of each step. */
class CountsOverTime {
  readonly #span: Gap;
  readonly #counts = new Map<string, { now: number; readonly counts: Float64Array }>();

  constructor(span: Gap) {
    this.#span = span;
  }

  add({ from, to, status }: Segment, isNow: boolean): void {
    const name = this.#counts.has(status) || this.#counts.size < maxStatuses - 1 ? status : otherStatus;
    const found = this.#counts.get(name) ?? { now: 0, counts: new Float64Array(steps) };
    this.#counts.set(name, found);
    if (isNow) found.now += 1;
    const begin = Math.max(0, stepAt(from, this.#span));
    const end = Math.min(steps, stepAt(to, this.#span));
    for (let nth = Math.floor(begin); nth < end; nth += 1)
      found.counts[nth] = (found.counts[nth] ?? 0) + Math.min(end, nth + 1) - Math.max(begin, nth);
  }

  list(): readonly StatusCounts[] {
    const all = Array.from(this.#counts, ([name, found]): StatusCounts => ({ name, ...found }));
    return all.toSorted(
      (one, other) => badFirst(one.name, other.name) || other.now - one.now || (one.name < other.name ? -1 : 1),
    );
  }
}

function moreOfInterest(one: Strip, other: Strip): number {
  return (
    badFirst(one.status, other.status) ||
    other.failing - one.failing ||
    other.changedAt - one.changedAt ||
    (one.key < other.key ? -1 : 1)
  );
}

function shorten(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}…`;
}
