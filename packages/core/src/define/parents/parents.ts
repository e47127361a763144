import type { Clock } from '../../clock.js';
import { amend, CheckpointError, ConfigError, PaginationError, SluiceError } from '../../errors.js';
import { definedJson, type Json } from '../../json.js';
import { isDone, type Position } from '../../position.js';
import type { PageRequest, UndecodedPage } from '../../rows/source/definition.js';
import type { Partition, PartitionPlan } from '../../rows/source/partitionPlan.js';
import type { Since, SinceWindow, WalkedWindow } from '../../rows/source/increment.js';
import type { ListedKeys } from '../../rows/source/listedKeys.js';
import type { Page } from '../../rows/source/page.js';
import type { PullIterator } from '../../rows/source/cancellable.js';
import type { Source } from '../../rows/source/source.js';
import type { WalkOptions } from '../../rows/source/pagesOptions.js';
import type { StateLog } from '../../stateLog.js';
import { otherTotal } from '../../rows/source/chainErrors.js';
import { hashOf } from '../../rows/source/fingerprint.js';
import { findGap } from '../../totals.js';
import { isRecord, kindOf } from '../../values.js';
import { rowKey } from '../../rows/watch/snapshotRows.js';
import { decodeParentList, decodeParents, encodeParents, type Parent, type ParentPage } from './decodeParents.js';
import type { ListingPlan } from '../listingPlan.js';
import type { IncrementalPaging } from '../pages/paging.js';

/** How the parents of a listing become its partitions. */
export interface ParentRules<Row, Params extends object> {
  /** The source's name. */
  readonly name: string;
  readonly parents: Source<unknown>;
  /** The parameters for a parent. */
  readonly paramsOf: (parent: object) => object;
  /** @throws ConfigError if the definition names a parameter that is not among `names`. */
  readonly requireNames: (names: readonly string[]) => void;
  /** The values of the partitions of a parent; `undefined` if the parent is one partition. */
  readonly valuesOf: (params: Params) => readonly object[] | undefined;
  /** The plan of a parent's partitions. @throws ConfigError if a request can't be sent or two are the same. */
  readonly planOf: (params: Params, values: readonly object[] | undefined) => ListingPlan;
  /** The increment of the listings, which may divide each parent's listing into windows. */
  readonly increment: IncrementalPaging | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly fetch: (plan: ListingPlan, page: PageRequest) => Promise<UndecodedPage<Row>>;
  readonly warn: (message: string) => void;
  readonly isSecret: (text: string) => boolean;
}

interface OpenParent {
  readonly path: readonly string[];
  readonly values: object | undefined;
  readonly window: WalkedWindow | undefined;
  /** The windows of the same parent that have not ended, in their order. */
  readonly unfinished: Set<number>;
  /** Absent if the parent stands for missing rows. */
  readonly plan: ListingPlan | undefined;
}

/**
 * The parents of one walk. Partitions are numbered in the order in which their parents were found, which the log keeps.
 *
 * It requests a page of parents only when the walk needs more, and forgets a parent's parameters when its listing ends.
 * So it holds one page of parents, those that the walk has begun, and the keys of all parents.
 */
export class Parents<Row, Params extends object> implements PartitionPlan<Row> {
  known = 0;
  isComplete = false;
  readonly #rules: ParentRules<Row, Params>;
  readonly #start: WalkOptions;
  readonly #log: StateLog | undefined;
  /** The keys of the parents' own listing; absent if they are not compared. */
  readonly #keys: ListedKeys | undefined;
  /** The hash of each parent's parameters, by the path of its keys as JSON. */
  readonly #paths = new Map<string, string>();
  /** The hashes of the parents' first requests. */
  readonly #requested = new Set<string>();
  readonly #doubts = new Set<string>();
  /** The names of all parameters of parents. */
  readonly #names = new Set<string>();
  /** The parents whose listings may have more pages, by partition. */
  readonly #open = new Map<number, OpenParent>();
  readonly #steps = this.#find();
  #pages: PullIterator<Page<unknown>> | undefined;
  /** When the export began (wall time in ms), so that a resumed run has the same windows. */
  #began: number | undefined;
  #isClosed = false;
  /** The log has a record of this export. */
  #isBegun = false;

  constructor(rules: ParentRules<Row, Params>, start: WalkOptions) {
    this.#rules = rules;
    this.#start = start;
    this.#log = start.partitionLog?.log(1);
    this.#keys = start.keys?.above();
  }

  async more(): Promise<void> {
    const { done = false } = await this.#steps.next();
    this.isComplete = done;
  }

  /**
   * Windows that end after the walk's beginning wait for earlier ones: rows that change meanwhile move into them. So does
   * the last one, with which the progress of all ends.
   */
  mayBegin(partition: number): boolean {
    const { window, unfinished = [] } = this.#open.get(partition) ?? {};
    const { increment } = this.#rules;
    if (!window || !increment) return true;
    if (partition < window.last && increment.compare(window.to, window.until) <= 0) return true;
    const [first] = unfinished;
    return first === partition;
  }

  open(partition: number): Partition<Row> {
    const open = this.#open.get(partition);
    if (!open) throw new Error(`${this.#rules.name} has no partition ${partition} that is open.`);
    const { name, fetch } = this.#rules;
    const { cache } = this.#start;
    const { path, plan } = open;
    const since = this.#sinceOf(open, partition);
    const text = (): string => this.#textOf(path, open);
    return {
      number: partition,
      fetch: async (request) => (plan ? fetch(plan, { ...request, partition: 0, since, cache }) : missingRows),
      place: () => `${name} of ${text()}`,
      text,
      explain: (error) => (SluiceError.is(error) ? withParent(error, text()) : error),
      marks: { parents: path },
      isPart: since !== undefined,
      hasOwnTotal: true,
    };
  }

  /** The rows to request of a partition. */
  #sinceOf({ path, values, window }: OpenParent, partition: number): Since | undefined {
    const { since } = this.#start;
    const own = since?.ofParent?.(markOf(path, values), partition, window) ?? since;
    return window ? { ...own, from: window.from, to: window.to, isOpen: window.isOpen } : own;
  }

  ended(partition: number): void {
    this.#open.get(partition)?.unfinished.delete(partition);
    this.#open.delete(partition);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pages?.return().catch(() => undefined);
    // Waits for the current step: a record must not be torn.
    await this.#steps.return();
    await this.#log?.close();
    await this.#keys?.close();
  }

  /** Takes the parents of the log in the first step, then requests a page of parents in each step. */
  async *#find(): AsyncGenerator<void, void, undefined> {
    let reached = await this.#load();
    yield;
    this.#pages = this.#walkParents(reached);
    for (;;) {
      const next = await this.#pages.next().catch((error: unknown) => {
        throw this.#located(error);
      });
      // A cancelled walk ends like a complete one.
      if (this.#isClosed) return;
      if (next.done) break;
      const page: ParentPage<Params> = { parents: this.#newParents(next.value), next: next.value.position };
      await this.#record(page);
      this.#take(page);
      reached = next.value.position;
      yield;
    }
    this.#compareTotal(reached);
  }

  /** Walks the parents. If they have parents as well, that walk records its partitions one level up. */
  #walkParents(startAt: Position | undefined): PullIterator<Page<unknown>> {
    const { partitionLog, requireTotal, onShort } = this.#start;
    const pages = this.#rules.parents.pages({
      startAt,
      // The next page of parents is requested when it is needed: parents fetched ahead would not be recorded.
      prefetch: 0,
      partitionLog: partitionLog && { ...partitionLog, log: (level) => partitionLog.log(level + 1) },
      requireTotal,
      onShort,
      repeats: this.#keys && 'keep',
      keys: this.#keys,
    });
    return pages[Symbol.asyncIterator]();
  }

  /** Takes the parents of the log. @returns where the walk of the parents continues */
  async #load(): Promise<Position | undefined> {
    const { startAt, partitionLog } = this.#start;
    const { before, begun, done = [] } = startAt;
    let reached: Position | undefined;
    if (partitionLog && this.#log) {
      const { runId } = partitionLog;
      for await (const record of this.#log.read()) {
        const page = decodeParents<Params>(record);
        // The log is of another export, which has ended: the first record of this export replaces it.
        if (!this.#isBegun && page?.runId !== runId) break;
        if (!page) throw this.#unreadable('has a record that is not one of parents');
        this.#began ??= page.began;
        this.#isBegun = true;
        this.#take(page);
        reached = page.next;
      }
    }
    if (reached) await this.#keys?.load(reached);
    const reachedIn = [...Object.keys(begun).map(Number), ...done.map(([, last]) => last)];
    const needed = Math.max(before, ...reachedIn.map((partition) => partition + 1));
    if (this.known < needed) throw this.#unreadable('does not have the parents that the checkpoint refers to');
    const { increment, clock } = this.#rules;
    if (increment?.windows) this.#began ??= clock.now();
    return reached;
  }

  /** Compares the parents' own listing with its total: if parents are missing, so are their rows. */
  #compareTotal(reached: Position | undefined): void {
    const { name, parents, warn } = this.#rules;
    const gap = findGap(reached?.totals);
    if (!gap) return;
    const more = `, and so may their rows of ${name}`;
    const error = otherTotal(parents.info.name, gap, { repeated: reached?.repeated, more });
    if (this.#start.requireTotal) throw error;
    warn(error.summary);
    this.#start.onShort?.(gap);
  }

  /** The parents of a page with new paths. Checks that the requests of each can be made. */
  #newParents({ items, isIncomplete, parents: above = [] }: Page<unknown>): readonly Parent<Params>[] {
    const { name, parents, paramsOf, valuesOf, requireNames, planOf } = this.#rules;
    const found: [readonly string[], Json][] = [];
    const paths = new Map<string, string>();
    for (const row of items) {
      const { schema } = parents.info;
      const path = schema?.key ? [...above, rowKey((each) => schema.key?.(each), row)] : above;
      const text = JSON.stringify(path);
      if (!isRecord(row))
        throw new ConfigError(`${name} can't have ${kindOf(row)} of ${parents.info.name} as a parent.`);
      const params = paramsOf(row);
      const made = definedJson(params, `The parameters of ${name} for ${this.#textOf(path)}`);
      const hash = hashOf(made);
      const known = this.#paths.get(text) ?? paths.get(text);
      if (known !== undefined && known !== hash) this.#doubt('left out', path);
      if (known !== undefined) continue;
      paths.set(text, hash);
      this.#addNames(params);
      found.push([path, made]);
    }
    // Missing parents are a partition as well, so that a resumed run knows of them.
    if (isIncomplete) found.push([above, null]);
    return decodeParentList<Params>(found).flatMap((parent): readonly Parent<Params>[] => {
      const [path, params] = parent;
      if (params === null) return [parent];
      const values = valuesOf(params);
      values?.forEach((own) => this.#addNames(own));
      requireNames([...this.#names]);
      const plan = planOf(params, values);
      for (let nth = 0; nth < plan.partitions; nth += 1) {
        const hash = requestHash(plan, nth);
        if (this.#requested.has(hash)) this.#doubt('twice', path);
        this.#requested.add(hash);
      }
      return (values ?? [undefined]).map((own) => {
        const from = this.#beginOf(path, own);
        return own || from !== undefined
          ? [path, params, { ...(own && { values: own }), ...(from !== undefined && { from }) }]
          : parent;
      });
    });
  }

  /** Warns once of each kind. It is not an error, since the rows of a parent may have changed meanwhile. */
  #doubt(what: 'left out' | 'twice', path: readonly string[]): void {
    if (this.#doubts.has(what)) return;
    this.#doubts.add(what);
    const { name, parents, warn } = this.#rules;
    const which = this.#textOf(path);
    warn(
      what === 'left out'
        ? `${name}: ${which} came before with other parameters, so its rows are left out. If it is another row, give ${parents.info.name} a key with more fields, e.g. ['region', 'id'].`
        : `${name}: the listing of ${which} has the same request as one before it, so rows come twice. If it is another listing, the request lacks one of the params, or these lack a field; fields of a row above are carried down by the fields of its children.`,
    );
  }

  /** Where the windows of a parent begin. */
  #beginOf(path: readonly string[], values: object | undefined): string | undefined {
    const { increment } = this.#rules;
    const { since } = this.#start;
    if (!increment?.windows) return undefined;
    return since?.beginOf?.(markOf(path, values)) ?? since?.from ?? increment.begin;
  }

  /** Makes parents durable before their listings are requested, so that positions never refer to an unknown parent. */
  async #record(page: ParentPage<Params>): Promise<void> {
    const log = this.#log;
    if (!log || !this.#start.partitionLog) return;
    const { runId } = this.#start.partitionLog;
    const { name, parents, isSecret } = this.#rules;
    if (isSecret(JSON.stringify(page.parents)))
      throw new PaginationError(
        'secret-in-cursor',
        `${name} can't continue: the API sent a row of ${parents.info.name} whose key or parameters contain the API key, and these are written to the state. Tell the API's operator.`,
      );
    const began = this.#began === undefined ? {} : { began: this.#began };
    const record = { ...page, parents: encodeParents(page.parents) };
    await this.#keys?.save(page.next);
    if (this.#isBegun) await log.append(record);
    else await log.replace([{ runId, ...began, ...record }]);
    this.#isBegun = true;
  }

  #take({ parents }: ParentPage<Params>): void {
    const { startAt } = this.#start;
    for (const [path, params, { values, from } = {}] of parents) {
      if (params !== null) this.#paths.set(JSON.stringify(path), hashOf(params));
      this.#addNames({ ...params, ...values });
      const windows = this.#windowsFrom(from);
      const first = this.known;
      this.known += windows.length;
      const open = Array.from(windows, (_, nth) => first + nth).filter((partition) => !isDone(startAt, partition));
      if (open.length === 0) continue;
      const plan = params === null ? undefined : this.#rules.planOf(params, values && [values]);
      const unfinished = new Set(open);
      if (plan) this.#requested.add(requestHash(plan, 0));
      for (const partition of open)
        this.#open.set(partition, { path, values, window: windows[partition - first], unfinished, plan });
    }
  }

  /** The windows of a parent's partitions; without windows, the parent is one partition. */
  #windowsFrom(from: string | undefined): readonly (WalkedWindow | undefined)[] {
    const { increment } = this.#rules;
    if (!increment?.windows || from === undefined || this.#began === undefined) return [undefined];
    const until = increment.read(new Date(this.#began).toISOString()) ?? from;
    const listed = windowsBefore(this.#start.since?.before, increment.windows(from, this.#began), increment);
    const last = this.known + listed.length - 1;
    return listed.map((window) => ({ ...window, last, until }));
  }

  #addNames(params: object): void {
    for (const name of Object.keys(params)) this.#names.add(name);
  }

  /** Names a parent. Omits keys that are too long to search for secrets: a cut key might end with half of a secret. */
  #textOf(path: readonly string[], { values, window }: Partial<OpenParent> = {}): string {
    const { parents, isSecret } = this.#rules;
    const keys = path.map((key) =>
      key.length <= longestKey && !isSecret(key) ? JSON.stringify(key.slice(0, 100)) : '',
    );
    const isShown = keys.every((key) => key !== '');
    const text = JSON.stringify(values ?? {});
    const ofValues = values && text.length <= longestKey && !isSecret(text) ? [text.slice(0, 100)] : [];
    const part = [...ofValues, ...(window ? [`from ${window.from} to ${window.to}`] : [])].join(' ');
    if (path.length === 0) return `the part ${part}`;
    return `${isShown ? keys.join(' > ') : 'a row'} of ${parents.info.name}${part && ` (${part})`}`;
  }

  /** An error of the parents' walk, without the partition and position, which belong to that walk. */
  #located(error: unknown): unknown {
    if (!SluiceError.is(error)) return error;
    delete error.position;
    const { code, summary, details } = error;
    if (code !== 'cursor-refused') return error;
    return new PaginationError('cursor-refused', summary, {
      details: { status: details['status'] },
      advice: [{ kind: 'restart' }],
      cause: error,
    });
  }

  #unreadable(what: string): CheckpointError {
    const message = `The log of the parents of ${this.#rules.name} ${what}, so it was damaged or changed.`;
    return new CheckpointError(message, {}, [{ kind: 'restart' }]);
  }
}

const longestKey = 10_000;

/** The windows up to a value. The first one stays in any case: a parent without a partition would lose its mark. */
function windowsBefore(
  before: string | undefined,
  windows: readonly SinceWindow[],
  { compare }: Pick<IncrementalPaging, 'compare'>,
): readonly SinceWindow[] {
  if (before === undefined) return windows;
  const wanted = windows.filter(({ from }, nth) => nth === 0 || compare(from, before) < 0);
  return wanted.map((window) =>
    compare(window.from, before) < 0 && compare(before, window.to) < 0 ? { from: window.from, to: before } : window,
  );
}

function requestHash(plan: ListingPlan, partition: number): string {
  const { first, details } = plan.request(partition);
  return hashOf([first(1), details]);
}

/** The error, with the parent that it concerns. */
function withParent(error: SluiceError, parent: string): SluiceError {
  if (!error.summary.includes(parent)) amend(error, `It concerns ${parent}.`);
  return Object.assign(error, { details: { ...error.details, parent } });
}

/** Identifies the mark of a partition: by its path, and by its values if a row has several partitions. */
function markOf(path: readonly string[], values: object | undefined): readonly string[] {
  return values ? [...path, JSON.stringify(values)] : path;
}

/** The only page of a partition that stands for missing rows. */
const missingRows = { received: [], decode: () => [], next: 'end', isIncomplete: true } as const;
