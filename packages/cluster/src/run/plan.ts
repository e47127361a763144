import { createHash, hash } from 'node:crypto';
import { ConfigError, type Json, type SourceInfo } from '@sluice/core';
import type { PageSource } from '@sluice/core/kit';
import { decodeParams, type CompletePlan, type PlanChunk } from './decodeRecords.js';
import type { OpenSource, PlanPiece, RunHeader, RunPlan, SourcePartition } from './run.js';
import { partitionsPerShard } from './storedFile.js';

/** Partitions in one file of a plan. */
const maxPartitions = partitionsPerShard;

/** A plan in a target that has its header. Whatever is there already stays as it is. */
export interface BegunPlan {
  /** Names the target in errors. */
  readonly target: string;
  readonly header: RunHeader;
  /** Only then its chunks need not be stored again. */
  readonly isComplete: boolean;
  /** Stores a chunk, or finds the same one. @throws ConfigError if there is another one */
  putChunk(chunk: PlanChunk): Promise<void>;
  countChunks(): Promise<number>;
  /** Marks the plan as complete, or finds it so. @throws ConfigError if it is another one */
  complete(plan: CompletePlan): Promise<void>;
}

/**
 * Stores a plan in chunks of at most 1,000 partitions, the same ones for the same plan. Each part is stored once or found
 * to be the same, so a submit that was killed is resumed by another one of the same plan.
 *
 * @param begin stores the run's header for the first source, or finds it
 *
 * @throws ConfigError if the target has another plan, or the source of a piece can't be divided among machines
 */
export async function storePlan(
  plan: RunPlan,
  begin: (source: PageSource<unknown>) => Promise<BegunPlan>,
): Promise<RunHeader> {
  const sum = createHash('sha256');
  let begun: BegunPlan | undefined;
  let chunk: { first: number; pieces: PlanPiece[] } = { first: 0, pieces: [] };
  let chunks = 0;
  const put = async (target: BegunPlan): Promise<void> => {
    sum.update(JSON.stringify(chunk));
    // A complete plan is compared by its hash.
    if (!target.isComplete) await target.putChunk(chunk);
    chunks += 1;
  };
  for await (const params of plan.params) {
    const { piece, source } = openPiece(plan.open, params);
    begun ??= await begin(source);
    await checkSource(begun.header, source);
    const end = chunkEnd(chunk);
    if (end - chunk.first + piece.partitions > maxPartitions) {
      await put(begun);
      chunk = { first: end, pieces: [] };
    }
    chunk.pieces.push(piece);
  }
  const partitions = chunkEnd(chunk);
  if (!begun || partitions === 0) throw new ConfigError(`The plan of ${plan.name} is empty: it has no parameters.`);
  await put(begun);
  if ((await begun.countChunks()) > chunks)
    throw new ConfigError(
      `${begun.target} has another plan, with more partitions than these ${partitions}. Submit the same parameters again, or another plan to another target.`,
      { path: begun.target, changed: ['params'] },
    );
  await begun.complete({ hash: sum.digest('hex'), partitions });
  return begun.header;
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
    ...describeRows(info),
    ...(fingerprint !== undefined && { key: { salt, fingerprint } }),
  };
}

/** A piece of a plan with its source. @throws ConfigError if that can't be divided among machines */
function openPiece(open: OpenSource, params: Json): { piece: PlanPiece; source: PageSource<unknown> } {
  // As a worker will get them.
  const source = open(decodeParams(JSON.parse(JSON.stringify(params))));
  const { name, partitions, maxRows, isUnversioned, isEndless, identity } = source.info;
  const refuse = (why: string): ConfigError => new ConfigError(`${name} can't be divided among machines: ${why}`);
  if (partitions === Infinity) throw refuse('it discovers its partitions while it is walked.');
  if (isEndless) throw refuse('it never ends.');
  if (maxRows !== undefined) throw refuse('maxRows bounds its rows, which no partition can count alone. Leave it out.');
  if (isUnversioned) throw refuse('an operator of pipePages has no version, so workers could differ. Give it one.');
  if (partitions > maxPartitions)
    throw refuse(`a piece of the plan has ${partitions} partitions. Cut it into pieces of at most ${maxPartitions}.`);
  return { piece: { params, partitions, identity: hash('sha256', JSON.stringify(identity)) }, source };
}

/** The columns of a source's rows. */
function describeRows({ schema }: SourceInfo<never>): Pick<RunHeader, 'columns' | 'types'> {
  return {
    columns: schema?.columns ?? null,
    types: Object.fromEntries(Object.entries(schema?.types ?? {}).flatMap(([name, of]) => (of ? [[name, of]] : []))),
  };
}

/** A plan that is stored, on this machine. */
interface StoredPlan {
  readonly header: RunHeader;
  readonly partitions: number;
  /** `undefined` if this machine does not have the source. */
  readonly open: OpenSource | undefined;
  /** Reads the chunk that has a partition. */
  readonly readChunk: (partition: number) => Promise<PlanChunk | undefined>;
}

/** The sources of a plan's partitions, as this machine makes them. */
export class PieceSources {
  readonly #plan: StoredPlan;
  /** The last piece: to make a source of ten thousand wallets takes longer than a commit. */
  #last: { readonly piece: PlanPiece; readonly source: Promise<PageSource<unknown>> } | undefined;
  /** The last chunk that was needed: mostly the next one, too. */
  #chunk: PlanChunk | undefined;

  constructor(plan: StoredPlan) {
    this.#plan = plan;
  }

  /** @throws ConfigError if it differs from the submitted one: its rows would not belong together */
  async find(partition: number): Promise<SourcePartition> {
    if (!this.#chunk || partition < this.#chunk.first || partition >= chunkEnd(this.#chunk))
      this.#chunk = await this.#plan.readChunk(partition);
    let within = partition - (this.#chunk?.first ?? 0);
    for (const piece of this.#chunk?.pieces ?? []) {
      if (within >= 0 && within < piece.partitions) return { source: await this.#open(piece), partition: within };
      within -= piece.partitions;
    }
    const { header, partitions } = this.#plan;
    throw new ConfigError(`${header.name} has no partition ${partition}: its plan has ${partitions}, from 0.`);
  }

  async #open(piece: PlanPiece): Promise<PageSource<unknown>> {
    if (this.#last?.piece !== piece) this.#last = { piece, source: openSubmitted(this.#plan, piece) };
    try {
      return await this.#last.source;
    } catch (error) {
      this.#last = undefined;
      throw error;
    }
  }
}

/** The source of a piece, if it is the one that was submitted. */
async function openSubmitted({ header, open }: StoredPlan, piece: PlanPiece): Promise<PageSource<unknown>> {
  if (!open)
    throw new ConfigError(
      `${header.name} needs the source ${header.source}, which this machine does not have. Give it by this name.`,
    );
  const { source, piece: here } = openPiece(open, piece.params);
  await checkSource(header, source);
  if (here.identity === piece.identity && here.partitions === piece.partitions) return source;
  throw new ConfigError(
    `${source.info.name} of this machine is not the one that was submitted to ${header.name}: its definition, options or version differ. Use the same on all machines.`,
    { changed: ['identity'] },
  );
}

/** The number of partitions up to the end of a chunk. */
function chunkEnd({ first, pieces }: PlanChunk): number {
  return pieces.reduce((sum, { partitions }) => sum + partitions, first);
}

/** @throws ConfigError if a source's columns or key differ from those of the run. */
async function checkSource(header: RunHeader, { info }: PageSource<unknown>): Promise<void> {
  const { columns, types } = describeRows(info);
  const changed = [
    ...(JSON.stringify(columns) === JSON.stringify(header.columns) ? [] : ['columns']),
    ...(JSON.stringify(types) === JSON.stringify(header.types) ? [] : ['types']),
  ];
  if (changed.length > 0)
    throw new ConfigError(
      `${info.name} has other ${changed.join(' and ')} here than in ${header.name}. Use the same version on all machines.`,
      { changed },
    );
  const fingerprint = await info.endpoint?.keyFingerprint?.(header.key?.salt ?? '');
  if (fingerprint === header.key?.fingerprint) return;
  throw new ConfigError(
    `${header.name} was submitted with another API key, whose project may have other rows. Use the same key on all machines.`,
    { changed: ['apiKey'] },
  );
}
