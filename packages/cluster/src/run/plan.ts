import { ConfigError, type Json, type PageSource, type SourceInfo } from '@sluice/core';
import { decodeParams, sha256, type PlanChunk } from './decodeRecords.js';
import type { OpenSource, PlanPiece, RunHeader, RunPlan } from './run.js';
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

/**
 * Cuts a plan into chunks of at most 1,000 partitions, the same ones for the same plan, and checks each piece.
 *
 * @throws ConfigError if the source of a piece can't be divided among machines
 */
export async function* chunksOf(
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
export function rowsHeaderOf({ schema }: SourceInfo<never>): RowsHeader {
  return {
    columns: schema?.columns ?? null,
    types: Object.fromEntries(Object.entries(schema?.types ?? {}).flatMap(([name, of]) => (of ? [[name, of]] : []))),
  };
}

/** The sources of a plan's pieces, as this machine makes them. */
export class PieceSources {
  readonly #header: RunHeader;
  readonly #open: OpenSource | undefined;
  /** The last piece: to make a source of ten thousand wallets takes longer than a commit. */
  #last: { readonly piece: PlanPiece; readonly source: Promise<PageSource<unknown>> } | undefined;

  constructor(header: RunHeader, open: OpenSource | undefined) {
    this.#header = header;
    this.#open = open;
  }

  /** @throws ConfigError if it differs from the submitted one: its rows would not belong together */
  async of(piece: PlanPiece): Promise<PageSource<unknown>> {
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
export async function checkSource(header: RunHeader, { info }: PageSource<unknown>): Promise<void> {
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
  const fingerprint = header.key && (await info.keyFingerprint?.(header.key.salt));
  if (fingerprint === header.key?.fingerprint && (header.key !== undefined) === (info.keyFingerprint !== undefined))
    return;
  throw new ConfigError(
    `${header.name} was submitted with another API key, whose project may have other rows. Use the same key on all machines.`,
    { changed: ['apiKey'] },
  );
}
