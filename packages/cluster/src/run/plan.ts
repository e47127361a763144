import { createHash } from 'node:crypto';
import { ConfigError, type Json, type PageSource, type SourceInfo } from '@sluice/core';
import { decodeParams, sha256, type CompletePlan, type PlanChunk } from './decodeRecords.js';
import type { OpenSource, PlanPiece, RunHeader, RunPlan, SourcePartition } from './run.js';
import { partitionsPerShard } from './storedFile.js';

/** Partitions in one file of a plan. */
const maxPartitions = partitionsPerShard;

/** What a run's header says of its rows. */
export type RowsHeader = Pick<RunHeader, 'columns' | 'types'>;

/** A piece of a plan with its source. */
interface OpenedPiece {
  readonly piece: PlanPiece;
  readonly source: PageSource<unknown>;
}

/** Where a target keeps a plan. Whatever is there already stays as it is. */
export interface PlanStore {
  /** Names it in errors. */
  readonly name: string;
  /** What to submit another plan to: `folder`. */
  readonly kind: string;
  /** The run's header, or a new one. @throws ConfigError if it is another run's */
  header(source: PageSource<unknown>): Promise<RunHeader>;
  /** Whether the plan of that run is complete. Only then its chunks need not be stored again. */
  isComplete(): Promise<boolean>;
  /** Stores a chunk, or finds the same one. @throws ConfigError if there is another one */
  putChunk(chunk: PlanChunk): Promise<void>;
  /** The number of chunks that are stored. */
  chunks(): Promise<number>;
  /** Marks the plan as complete, or finds it so. @throws ConfigError if it is another one */
  complete(plan: CompletePlan): Promise<void>;
}

/**
 * Stores a plan. Each part is stored once or found to be the same, so a submit that was killed is resumed by another one
 * of the same plan.
 *
 * @throws ConfigError if the target has another plan, or the source can't be divided
 */
export async function storePlan(plan: RunPlan, store: PlanStore): Promise<void> {
  let found: { readonly header: RunHeader; readonly isComplete: boolean } | undefined;
  const hash = createHash('sha256');
  let partitions = 0;
  let chunks = 0;
  const check = async (source: PageSource<unknown>): Promise<void> => {
    found ??= { header: await store.header(source), isComplete: await store.isComplete() };
    await checkSource(found.header, source);
  };
  for await (const chunk of chunksOf(plan, check)) {
    hash.update(JSON.stringify(chunk));
    // A complete plan is compared by its hash.
    if (found?.isComplete === false) await store.putChunk(chunk);
    partitions = chunk.first + chunk.pieces.reduce((sum, piece) => sum + piece.partitions, 0);
    chunks += 1;
  }
  if ((await store.chunks()) > chunks)
    throw new ConfigError(
      `${store.name} has another plan, with more partitions than these ${partitions}. Submit the same parameters again, or another plan to another ${store.kind}.`,
      { path: store.name, changed: ['params'] },
    );
  await store.complete({ hash: hash.digest('hex'), partitions });
}

/** A header for a new run, with these random bits. */
export async function newHeader(
  { name, source }: RunPlan,
  { info }: PageSource<unknown>,
  newId: () => string,
): Promise<RunHeader> {
  const salt = newId();
  const fingerprint = await info.endpoint?.keyFingerprint?.(salt);
  return {
    id: newId(),
    name,
    source,
    ...rowsHeaderOf(info),
    ...(fingerprint !== undefined && { key: { salt, fingerprint } }),
  };
}

/**
 * Cuts a plan into chunks of at most 1,000 partitions, the same ones for the same plan, and checks each piece.
 *
 * @throws ConfigError if the source of a piece can't be divided among machines
 */
async function* chunksOf(
  plan: RunPlan,
  check: (source: PageSource<unknown>) => void | Promise<void>,
): AsyncGenerator<PlanChunk> {
  let [first, pieces, size]: [number, PlanPiece[], number] = [0, [], 0];
  for await (const params of plan.params) {
    const { piece, source } = openPiece(plan.open, params);
    await check(source);
    if (size + piece.partitions > maxPartitions) {
      yield { first, pieces };
      [first, pieces, size] = [first + size, [], 0];
    }
    pieces.push(piece);
    size += piece.partitions;
  }
  if (size > 0) yield { first, pieces };
  if (first + size === 0) throw new ConfigError(`The plan of ${plan.name} is empty: it has no parameters.`);
}

function openPiece(open: OpenSource, given: Json): OpenedPiece {
  // As a worker will get them.
  const params: unknown = JSON.parse(JSON.stringify(given));
  const source = open(decodeParams(params));
  const { name, partitions, maxRows, isUnversioned, isEndless, identity } = source.info;
  const refuse = (why: string): ConfigError => new ConfigError(`${name} can't be divided among machines: ${why}`);
  if (partitions === Infinity) throw refuse('it discovers its partitions while it is walked.');
  if (isEndless) throw refuse('it never ends.');
  if (maxRows !== undefined) throw refuse('maxRows bounds its rows, which no partition can count alone. Leave it out.');
  if (isUnversioned) throw refuse('an operator of pipePages has no version, so workers could differ. Give it one.');
  if (partitions > maxPartitions)
    throw refuse(`a piece of the plan has ${partitions} partitions. Cut it into pieces of at most ${maxPartitions}.`);
  return { piece: { params: given, partitions, identity: sha256(JSON.stringify(identity)) }, source };
}

/** The columns of a source's rows. */
function rowsHeaderOf({ schema }: SourceInfo<never>): RowsHeader {
  return {
    columns: schema?.columns ?? null,
    types: Object.fromEntries(Object.entries(schema?.types ?? {}).flatMap(([name, of]) => (of ? [[name, of]] : []))),
  };
}

/** Options of {@link PieceSources}. */
interface PieceSourcesOptions {
  readonly header: RunHeader;
  readonly partitions: number;
  /** `undefined` if this machine does not have the source. */
  readonly open: OpenSource | undefined;
  /** Reads the chunk that has a partition. */
  readonly chunkOf: (partition: number) => Promise<PlanChunk | undefined>;
}

/** The sources of a plan's partitions, as this machine makes them. */
export class PieceSources {
  readonly #header: RunHeader;
  readonly #partitions: number;
  readonly #chunkOf: (partition: number) => Promise<PlanChunk | undefined>;
  readonly #open: OpenSource | undefined;
  /** The last piece: to make a source of ten thousand wallets takes longer than a commit. */
  #last: { readonly piece: PlanPiece; readonly source: Promise<PageSource<unknown>> } | undefined;

  /** The last chunk that was needed: mostly the next one, too. */
  #chunk: { readonly chunk: PlanChunk; readonly end: number } | undefined;

  constructor({ header, partitions, open, chunkOf }: PieceSourcesOptions) {
    this.#header = header;
    this.#partitions = partitions;
    this.#open = open;
    this.#chunkOf = chunkOf;
  }

  /** @throws ConfigError if it differs from the submitted one: its rows would not belong together */
  async of(partition: number): Promise<SourcePartition> {
    let at = this.#chunk;
    if (!at || partition < at.chunk.first || partition >= at.end) {
      const chunk = await this.#chunkOf(partition);
      const size = chunk?.pieces.reduce((sum, piece) => sum + piece.partitions, 0) ?? 0;
      at = chunk && { chunk, end: chunk.first + size };
      this.#chunk = at;
    }
    let within = partition - (at?.chunk.first ?? 0);
    for (const piece of at?.chunk.pieces ?? []) {
      if (within >= 0 && within < piece.partitions) return { source: await this.#sourceOf(piece), partition: within };
      within -= piece.partitions;
    }
    throw new ConfigError(
      `${this.#header.name} has no partition ${partition}: its plan has ${this.#partitions}, from 0.`,
    );
  }

  async #sourceOf(piece: PlanPiece): Promise<PageSource<unknown>> {
    if (this.#last?.piece !== piece) this.#last = { piece, source: this.#checked(piece) };
    const { source } = this.#last;
    try {
      return await source;
    } catch (error) {
      this.#last = undefined;
      throw error;
    }
  }

  async #checked(piece: PlanPiece): Promise<PageSource<unknown>> {
    const { name, source: wanted } = this.#header;
    if (!this.#open)
      throw new ConfigError(
        `${name} needs the source ${wanted}, which this machine does not have. Give it by this name.`,
      );
    const {
      source,
      piece: { identity, partitions },
    } = openPiece(this.#open, piece.params);
    await checkSource(this.#header, source);
    if (identity === piece.identity && partitions === piece.partitions) return source;
    throw new ConfigError(
      `${source.info.name} of this machine is not the one that was submitted to ${name}: its definition, options or version differ. Use the same on all machines.`,
      { changed: ['identity'] },
    );
  }
}

/** @throws ConfigError if a source's columns or key differ from those of the run. */
async function checkSource(header: RunHeader, { info }: PageSource<unknown>): Promise<void> {
  const { columns, types } = rowsHeaderOf(info);
  const changed = [
    ...(JSON.stringify(columns) === JSON.stringify(header.columns) ? [] : ['columns']),
    ...(JSON.stringify(types) === JSON.stringify(header.types) ? [] : ['types']),
  ];
  if (changed.length > 0)
    throw new ConfigError(
      `${info.name} has other ${changed.join(' and ')} here than in ${header.name}. Use the same version on all machines.`,
      { changed },
    );
  const fingerprint = header.key && (await info.endpoint?.keyFingerprint?.(header.key.salt));
  if (
    fingerprint === header.key?.fingerprint &&
    (header.key !== undefined) === (info.endpoint?.keyFingerprint !== undefined)
  )
    return;
  throw new ConfigError(
    `${header.name} was submitted with another API key, whose project may have other rows. Use the same key on all machines.`,
    { changed: ['apiKey'] },
  );
}
