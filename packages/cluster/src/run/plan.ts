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

/**
 * The source of a piece of the plan, as this machine makes it.
 *
 * @throws ConfigError if it differs from the submitted one: its rows would not belong together
 */
export async function openChecked(header: RunHeader, piece: PlanPiece, open: OpenSource): Promise<PageSource<unknown>> {
  const {
    source,
    piece: { identity, partitions },
  } = openPiece(open, piece.params);
  await checkSource(header, source);
  if (identity === piece.identity && partitions === piece.partitions) return source;
  throw new ConfigError(
    `${source.info.name} of this machine is not the one that was submitted to ${header.name}: its definition, options or version differ. Use the same on all machines.`,
    { changed: ['identity'] },
  );
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
