import { from, fromEvent, lastValueFrom, takeUntil, toArray, type Observable, type OperatorFunction } from 'rxjs';
import { checkCount, checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { isPosition, startOfPartition, startOfPlan, type Position } from '../../position.js';
import { checkSchema } from '../columns/columnTypes.js';
import { done, cancellable, type PullIterator } from './cancellable.js';
import type { Json, RowSchema, SourceDefinition } from './definition.js';
import { Flow } from './flow.js';
import { withItems, type Page } from './page.js';
import { checkPagesOptions, type ListUncommitted, type PagesOptions, type WalkOptions } from './pagesOptions.js';
import { fixedPlan, type PartitionPlan } from './partitionPlan.js';
import { describeSource, type SourceInfo } from './sourceInfo.js';
import { walk } from './walk.js';

/** Options of `Source.pipePages`. */
export interface PipePagesOptions<R> {
  /** The columns of the new rows. Without them, CSV needs its own `columns`. */
  readonly schema?: RowSchema<R> | undefined;
  /**
   * Identifies the operator in the plan: change it when the operator changes. Required for a checkpoint. An export with
   * another version is refused, since it would mix rows of both operators; an export of a watch applies the new
   * operator to all changes that are not delivered yet.
   */
  readonly version?: string | undefined;
}

/** Fits a source to a concurrency, or to the plan that an earlier call has kept. */
export type SourceFit<T> = (concurrency: number, kept?: Json) => ReturnType<Source<T>['fit']>;

/**
 * A flow of rows with access to its pages.
 *
 * @example
 * source.pipe(filter(isLarge), take(10)).subscribe(console.log);
 * for await (const row of source) await save(row);
 * for await (const page of source.pages({ concurrency: 4 })) console.log(page.index, page.items.length);
 * for await (const page of source.pages({ partition: 3 })) console.log(page.items.length);
 */
export class Source<T> extends Flow<T> {
  readonly info: SourceInfo<T>;
  readonly uncommitted: ListUncommitted<T> | undefined;
  readonly #walk: (options: WalkOptions) => PullIterator<Page<T>>;
  readonly #fit: SourceFit<T> | undefined;

  constructor(
    info: SourceInfo<T>,
    walkWith: (options: WalkOptions) => PullIterator<Page<T>>,
    fit?: SourceFit<T>,
    uncommitted?: ListUncommitted<T>,
  ) {
    super((demand) =>
      mapItems<Page<T>, readonly T[]>(
        walkWith({ startAt: startOfPlan, concurrency: 1, prefetch: demand === 'push' ? 0 : 1 }),
        (page) => page.items,
      ),
    );
    this.info = info;
    this.#walk = walkWith;
    this.#fit = fit;
    this.uncommitted = uncommitted;
  }

  /**
   * Returns the same rows in a plan with enough partitions for a concurrency, if the source has several plans. Exports,
   * polls and watches fit their source themselves. Pass `kept` of an earlier call to get its plan again, at any
   * concurrency: positions are valid only in their plan.
   *
   * @example
   * const { source } = client.aptos.nfts({ ownerAddresses }).fit(8);
   * for await (const page of source.pages({ concurrency: 8 })) console.log(page.items.length);
   */
  fit(concurrency: number, kept?: Json): { readonly source: Source<T>; readonly kept?: Json | undefined } {
    checkCount('concurrency', concurrency);
    return this.#fit?.(concurrency, kept) ?? { source: this };
  }

  /** The pages of a walk, each with the position to resume from. @throws ConfigError if an option is invalid. */
  pages(options: PagesOptions = {}): Flow<Page<T>> {
    checkPagesOptions(this.info, options);
    const { concurrency = 1, prefetch, startAt, partition, ...others } = options;
    const only = this.#onlyOf(partition);
    const position = this.#positionOf(startAt, only);
    const isStart = position.before === 0 && Object.keys(position.begun).length === 0 && !position.done;
    if (this.info.partitions === Infinity && !others.partitionLog && !isStart)
      throw new ConfigError(
        `${this.info.name} discovers its partitions while it is walked, so startAt needs the partitionLog of that walk. An export with state has one.`,
      );
    return new Flow((demand) =>
      mapItems<Page<T>, readonly Page<T>[]>(
        this.#walk({
          ...others,
          startAt: position,
          concurrency,
          prefetch: prefetch ?? (demand === 'push' ? 0 : concurrency),
          partition: only,
        }),
        (page) => [page],
      ),
    );
  }

  /**
   * Applies an RxJS operator to each page's rows. The result keeps pages, positions and backpressure, so it can still
   * be pulled, exported and resumed.
   *
   * The operator is applied to each page separately: `take(2)` emits 2 rows of each, `scan` restarts, `mergeMap` may
   * reorder.
   *
   * @example source.pipePages(map(toRow), { schema: { columns: ['name', 'amount'] }, version: '1' })
   */
  pipePages<R>(operator: OperatorFunction<T, R>, options: PipePagesOptions<R> = {}): Source<R> {
    checkOptions('pipePages()', options, { schema: true, version: true });
    if (options.schema) checkSchema('The schema of pipePages()', options.schema);
    const { schema, rowsIdentity, ...info } = this.info;
    const pipePages = options.version ?? null;
    const piped: SourceInfo<R> = {
      ...info,
      identity: { of: info.identity, pipePages },
      hasOperator: true,
      rowsIdentity: rowsIdentity === undefined ? undefined : { of: rowsIdentity, pipePages },
      ...(options.version === undefined && { isUnversioned: true }),
      schema: options.schema,
    };
    const { uncommitted } = this;
    const pipeUncommitted: ListUncommitted<R> | undefined =
      uncommitted &&
      async function* (start, signal, of) {
        for await (const rows of uncommitted(start, signal, of)) yield await collect(from(rows).pipe(operator), signal);
      };
    const fit: SourceFit<R> = (concurrency, earlier) => {
      const { source, kept } = this.fit(concurrency, earlier);
      return { source: source.pipePages(operator, options), kept };
    };
    return new Source<R>(
      piped,
      (walkOptions) => {
        const pages = this.#walk(walkOptions);
        return mapItems(pages, async (page, signal) =>
          withItems(page, await collect(from(page.items).pipe(operator), signal)),
        );
      },
      this.#fit && fit,
      pipeUncommitted,
    );
  }

  /** Collects all rows, at most `max` (default 1,000,000). @throws ConfigError beyond `max`, before memory runs out. */
  async toArray(options: { readonly max?: number | undefined } = {}): Promise<T[]> {
    checkOptions('toArray()', options, { max: 'a number?' });
    const { max = 1_000_000 } = options;
    const rows: T[] = [];
    for await (const page of this.pages()) {
      if (rows.length + page.items.length > max)
        throw new ConfigError(
          `${this.info.name} has more than ${max} rows. Raise toArray's max, or iterate over the rows.`,
        );
      for (const row of page.items) rows.push(row);
    }
    return rows;
  }

  /** The partition to walk by itself; `undefined` if the plan has no other, so that positions are those of the plan. */
  #onlyOf(partition: number | undefined): number | undefined {
    if (partition === undefined) return undefined;
    const { name, partitions, maxRows } = this.info;
    checkCount('partition', partition, { min: 0 });
    if (partitions === Infinity)
      throw new ConfigError(
        `${name} discovers its partitions while it is walked, so none can be walked by itself. Leave out partition.`,
      );
    if (partition >= partitions)
      throw new ConfigError(`partition is ${partition}, but the plan has ${formatPartitions(partitions)}, from 0.`);
    if (maxRows !== undefined && partitions > 1)
      throw new ConfigError(
        'maxRows and partition exclude each other: a partition does not know how many rows come before it.',
      );
    return partitions === 1 ? undefined : partition;
  }

  #positionOf(startAt: Position | string | undefined, only: number | undefined): Position {
    const start = only === undefined ? startOfPlan : startOfPartition(only);
    if (startAt === undefined) return start;
    const { partitions } = this.info;
    if (typeof startAt !== 'string') return checkPosition(startAt, partitions, only);
    if (only === undefined && partitions > 1)
      throw new ConfigError(
        `startAt is a cursor, but this plan has ${formatPartitions(partitions)}. Give a position, or the cursor's partition.`,
      );
    return { ...start, begun: { [start.before]: { next: { cursor: startAt }, pages: 0, rows: 0 } } };
  }
}

/** Creates a source. It requests nothing until it is consumed. @throws ConfigError if a part of it is invalid. */
export function createSource<T>(definition: SourceDefinition<T>): Source<T> {
  return createFittedSource(definition);
}

/** Creates a source with several plans. */
export function createFittedSource<T>(definition: SourceDefinition<T>, fit?: SourceFit<T>): Source<T> {
  checkOptions('createSource()', definition, {
    name: 'text',
    identity: 'anything',
    walkIdentity: 'anything?',
    rowsIdentity: 'anything?',
    schema: 'an object',
    partitions: 'a number?',
    offset: 'a number?',
    maxPages: 'a number?',
    maxRows: 'a number?',
    isRepeatable: 'a boolean?',
    increment: 'an object?',
    filter: 'a function?',
    fetch: 'a function',
    endpoint: 'an object?',
  });
  return new Source(
    describeSource(definition),
    (options) => walk(definition, options, fixedPlan(definition, options)),
    fit,
  );
}

/** Creates a source whose walks discover its partitions, as far as they need them. */
export function createPlannedSource<T>(
  definition: Omit<SourceDefinition<T>, 'fetch' | 'partitions'> & { readonly levels: number },
  plan: (start: WalkOptions) => PartitionPlan<T>,
): Source<T> {
  const { levels, ...walked } = definition;
  const info = { ...describeSource({ ...walked, partitions: Infinity }), levels };
  return new Source(info, (options) => walk(walked, options, plan(options)));
}

/**
 * Checks a given position, e.g. of a stored error, against a plan, or against one partition of it.
 *
 * @throws ConfigError if it does not fit.
 */
function checkPosition(position: Position, partitions: number, only?: number): Position {
  const [first, end] = only === undefined ? [0, partitions] : [only, only + 1];
  const isInPlan = (partition: number): boolean => partition >= position.before && partition < end;
  if (
    isPosition(position) &&
    position.partition === only &&
    position.before >= first &&
    position.before <= end &&
    Object.keys(position.begun).map(Number).every(isInPlan) &&
    (position.done ?? []).every(([from, to]) => isInPlan(from) && isInPlan(to))
  )
    return position;
  const whose = isPosition(position) && position.partition !== only ? position.partition : undefined;
  const given = whose === undefined ? '' : ` It is one of partition ${whose} by itself.`;
  const walked = only === undefined ? 'this plan' : `partition ${only} by itself, in a plan`;
  throw new ConfigError(`startAt is not a position of ${walked}, which has ${formatPartitions(partitions)}.${given}`);
}

function formatPartitions(partitions: number): string {
  return Number.isFinite(partitions) ? `${partitions} partition(s)` : 'partitions that are discovered';
}

function mapItems<T, R extends object>(
  items: PullIterator<T>,
  map: (item: T, signal: AbortSignal) => R | Promise<R>,
): PullIterator<R> {
  return cancellable<R>(
    async (signal) => {
      const next = await items.next();
      if (next.done) return done;
      const value = await map(next.value, signal);
      return { done: false, value };
    },
    async () => {
      await items.return();
    },
  );
}

/** Collects what an Observable emits, until the signal aborts. */
async function collect<R>(rows: Observable<R>, signal: AbortSignal): Promise<R[]> {
  signal.throwIfAborted();
  return lastValueFrom(rows.pipe(takeUntil(fromEvent(signal, 'abort')), toArray()));
}
