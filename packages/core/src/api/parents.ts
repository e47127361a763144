import { CheckpointError, ConfigError, DecodeError, PaginationError, SluiceError } from '../errors.js';
import { definedJson, type Json } from '../json.js';
import { isTransient } from '../isTransient.js';
import type { Position, StatedTotals } from '../position.js';
import type { PageRequest, UndecodedPage } from '../source/definition.js';
import type { Discovery, DiscoveryStart, ParentRow } from '../source/discovery.js';
import type { Page } from '../source/page.js';
import type { PullIterator } from '../source/cancellable.js';
import type { Source } from '../source/source.js';
import { shortListing } from '../source/chainErrors.js';
import { isRecord, kindOf } from '../values.js';
import { rowKey } from '../watch/snapshotRows.js';
import { decodeParentList, decodeParents, type Parent, type ParentPage } from './decodeParents.js';
import type { ListingPlan } from './listingPlan.js';

/** How the parents of a listing become its partitions. */
export interface ParentRules<Row, Params> {
  /** The source's name. */
  readonly name: string;
  readonly parents: Source<unknown>;
  readonly isSkipping: boolean;
  /** The parameters for a parent. */
  readonly paramsOf: (parent: object) => object;
  readonly planOf: (params: Params) => ListingPlan;
  readonly fetch: (plan: ListingPlan, params: Params, page: PageRequest) => Promise<UndecodedPage<Row>>;
  readonly warn: (message: string) => void;
  readonly isSecret: (text: string) => boolean;
}

interface OpenParent<Params> {
  readonly key: string;
  readonly params: Params;
  readonly plan: ListingPlan;
  /** Whether the last request was for its first page. */
  isAtStart: boolean;
}

/**
 * The parents of one walk. A partition is a parent's index in the order in which they were found, which the log keeps.
 *
 * It requests a page of parents only when the walk needs more, and forgets a parent's parameters when its listing ends.
 * So it holds a page of parents and the walk's window, and the keys of all.
 */
export class Parents<Row, Params> implements Discovery<Row> {
  count = 0;
  readonly #rules: ParentRules<Row, Params>;
  readonly #start: DiscoveryStart;
  readonly #keys = new Set<string>();
  /** The parents whose listings may have more pages, by partition. */
  readonly #open = new Map<number, OpenParent<Params>>();
  readonly #steps = this.#find();
  #pages: PullIterator<Page<unknown>> | undefined;
  #isClosed = false;
  /** The log has a record of this export. */
  #isBegun = false;

  constructor(rules: ParentRules<Row, Params>, start: DiscoveryStart) {
    this.#rules = rules;
    this.#start = start;
  }

  async more(): Promise<boolean> {
    const { done = false } = await this.#steps.next();
    return !done;
  }

  parentOf(partition: number): ParentRow | undefined {
    const key = this.#open.get(partition)?.key;
    return key === undefined ? undefined : { key, text: () => this.#textOf(key) };
  }

  async fetch(request: PageRequest): Promise<UndecodedPage<Row>> {
    const parent = this.#open.get(request.partition);
    if (!parent) throw new Error(`${this.#rules.name} has no partition ${request.partition} that is open.`);
    parent.isAtStart = request.at === undefined;
    const page = await this.#rules.fetch(parent.plan, parent.params, { ...request, partition: 0 });
    if (page.next === 'end') this.#open.delete(request.partition);
    return page;
  }

  async skips(error: unknown, { partition, signal }: Parameters<Discovery<Row>['skips']>[1]): Promise<boolean> {
    const parent = this.#open.get(partition);
    const refused = SluiceError.is(error, 'cursor-refused') ? error.cause : error;
    if (!parent || !this.#rules.isSkipping || !isRefusedForGood(refused)) return false;
    // A later page may be refused for its cursor or offset alone, so the first one tells whether the parent is there.
    const refusal = parent.isAtStart ? refused : await this.#refusalOf(parent, signal);
    if (!isRefusedForGood(refusal)) return false;
    const { name, warn } = this.#rules;
    const which = parent.isAtStart ? 'its rows' : 'the rest of its rows';
    warn(`${name}: skipped ${this.#textOf(parent.key)}, so ${which} are missing: ${refusal.summary}`);
    this.#open.delete(partition);
    return true;
  }

  /** The error with which a parent's first page is refused now, if it is. */
  async #refusalOf({ plan, params }: OpenParent<Params>, signal: AbortSignal): Promise<unknown> {
    try {
      await this.#rules.fetch(plan, params, { partition: 0, at: undefined, atLeast: 1, signal });
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pages?.return().catch(() => undefined);
    // Waits for the current step: a record must not be torn.
    await this.#steps.return();
    await this.#start.partitionLog?.log.close();
  }

  /** Takes the parents of the log first, then requests more: a page with each step. */
  async *#find(): AsyncGenerator<void, void, undefined> {
    const { name, parents } = this.#rules;
    let reached = await this.#load();
    yield;
    // The next page of parents is requested when it is needed: what was fetched ahead would not be recorded.
    this.#pages = parents.pages({ startAt: reached, prefetch: 0 })[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.#pages.next().catch((error: unknown) => {
        throw this.#located(error);
      });
      // A cancelled walk ends like a complete one.
      if (this.#isClosed) return;
      if (next.done) break;
      const { items, isIncomplete, position } = next.value;
      if (isIncomplete)
        throw new DecodeError(
          `${name} can't continue: the API reports that rows of ${parents.info.name} are missing, so their listings would be, too.`,
        );
      const page: ParentPage<Params> = { parents: this.#newParents(items), next: position };
      await this.#record(page);
      this.#take(page);
      reached = position;
      yield;
    }
    this.#compareTotal(reached?.totals);
  }

  /** Takes the parents of the log. @returns where the walk of the parents continues */
  async #load(): Promise<Position | undefined> {
    const { startAt, partitionLog } = this.#start;
    const { before, begun } = startAt;
    let reached: Position | undefined;
    if (partitionLog) {
      const { log, runId } = partitionLog;
      for await (const record of log.read()) {
        const page = decodeParents<Params>(record);
        // Of another export, which has ended: the first record of this one replaces it.
        if (!this.#isBegun && page?.runId !== runId) break;
        if (!page) throw this.#unreadable('has a record that is not one of parents');
        this.#isBegun = true;
        this.#take(page);
        reached = page.next;
      }
    }
    const needed = Math.max(before, ...Object.keys(begun).map((partition) => Number(partition) + 1));
    if (this.count < needed) throw this.#unreadable('does not have the parents that the checkpoint refers to');
    return reached;
  }

  /** The parents' own listing may lack some: then their rows are missing, too. */
  #compareTotal(totals: StatedTotals | undefined): void {
    const { name, parents, warn } = this.#rules;
    if (!totals || totals.short === 0) return;
    const error = shortListing(parents.info.name, totals, `, and so may their rows of ${name}`);
    if (this.#start.requireTotal) throw error;
    warn(error.summary);
    this.#start.onShort?.(totals);
  }

  /** The parents of a page whose keys are new, each checked for what its requests need. */
  #newParents(rows: readonly unknown[]): readonly Parent<Params>[] {
    const { name, parents, paramsOf, planOf } = this.#rules;
    const found = new Map<string, Json>();
    for (const row of rows) {
      const key = rowKey((parent: unknown) => parents.info.schema?.key?.(parent), row);
      if (this.#keys.has(key) || found.has(key)) continue;
      if (!isRecord(row))
        throw new ConfigError(`${name} can't have ${kindOf(row)} of ${parents.info.name} as a parent.`);
      found.set(key, definedJson(paramsOf(row), `The parameters of ${name} for ${this.#textOf(key)}`));
    }
    const made = decodeParentList<Params>([...found]);
    for (const [, params] of made) planOf(params);
    return made;
  }

  /** Durable before the first request of their listings, so that a position never refers to an unknown parent. */
  async #record(page: ParentPage<Params>): Promise<void> {
    if (!this.#start.partitionLog) return;
    const { log, runId } = this.#start.partitionLog;
    const { name, parents, isSecret } = this.#rules;
    if (isSecret(JSON.stringify(page.parents)))
      throw new PaginationError(
        'secret-in-cursor',
        `${name} can't continue: the API sent a row of ${parents.info.name} whose key or parameters contain the API key, and these are written to the state. Tell the API's operator.`,
      );
    if (this.#isBegun) await log.append(page);
    else await log.replace([{ runId, ...page }]);
    this.#isBegun = true;
  }

  #take({ parents }: ParentPage<Params>): void {
    const { before, begun } = this.#start.startAt;
    for (const [key, params] of parents) {
      const partition = this.count;
      this.count += 1;
      this.#keys.add(key);
      const isDone = partition < before || begun[partition] === 'done';
      if (!isDone) this.#open.set(partition, { key, params, plan: this.#rules.planOf(params), isAtStart: true });
    }
  }

  /** A key that is too long to be searched for secrets is not shown, as its beginning might end with half of one. */
  #textOf(key: string): string {
    const { parents, isSecret } = this.#rules;
    const isShown = key.length <= longestKey && !isSecret(key);
    return `${isShown ? JSON.stringify(key.slice(0, 100)) : 'a row'} of ${parents.info.name}`;
  }

  /** An error of the parents' walk, without what refers to a partition or a position of theirs. */
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

/** Statuses that concern the credentials rather than the parent. */
const ofCredentials: readonly unknown[] = [401, 403, 407];

function isRefusedForGood(error: unknown): error is SluiceError {
  if (isTransient(error) || !SluiceError.is(error, 'http')) return false;
  const { status } = error.details;
  return typeof status === 'number' && status >= 400 && status < 500 && !ofCredentials.includes(status);
}
