import { randomBytes } from 'node:crypto';
import { ConfigError } from '@sluice/core';
import type { Claim, PageSource } from '@sluice/core/kit';
import { isFollowed, type RunRows, type RunTable, type StoredRun } from '@sluice/tables/runs';
import { decodeRecord, sealRecord, type CompletePlan, type PlanChunk } from './decodeRecords.js';
import { newHeader, PieceSources, storePlan, type BegunPlan } from './plan.js';
import type { OpenSource, Run, RunHeader, RunPlan, RunStatus, RunTarget, SourcePartition, StoredRow } from './run.js';

/** Partitions of which one query says which are done. */
const partitionsPerQuery = 10_000;
/** A row's place in the plan is a number of 63 bits, of which its partition has these. */
const maxPartitions = 2 ** 23;

/** How rows become those of the table. */
type RowsOptions = RunRows<StoredRow>['options'];

/** A run's record in a database. */
interface TableRunRecord extends RunHeader {
  readonly rows: RowsOptions;
}

/** A table of a database as the target of runs, one after the other. */
export function tableTarget(table: RunTable, address: string, rows: RowsOptions): RunTarget {
  return {
    address,
    async submit(plan) {
      try {
        return await submitTo(table, plan, rows);
      } finally {
        await table.close();
      }
    },
    async open(sources = {}) {
      const found = await table.find();
      if (found) return openRun(table, found, sources);
      throw new ConfigError(`${table.name} has no run: nothing was submitted to it.`, { table: table.name });
    },
  };
}

async function submitTo(table: RunTable, plan: RunPlan, rows: RowsOptions): Promise<Run> {
  const header = await storePlan(plan, (source) => beginPlan(table, plan, source, rows));
  return openRun(table, await findRun(table, header), { [plan.source]: plan.open });
}

async function beginPlan(
  table: RunTable,
  plan: RunPlan,
  source: PageSource<unknown>,
  rows: RowsOptions,
): Promise<BegunPlan> {
  const { id, record, plan: known } = await beginRun(table, plan, source, rows);
  const another = (): ConfigError =>
    new ConfigError(
      `${table.name} has another plan of ${plan.name}. Submit the same parameters again, or another plan by another name.`,
      { table: table.name, changed: ['params'] },
    );
  return {
    target: table.name,
    header: decodeRecord(JSON.parse(record), table.name),
    isComplete: known !== undefined,
    async putChunk(chunk) {
      if (!(await table.putChunk(id, chunk.first, encodeRecord(chunk)))) throw another();
    },
    countChunks: () => table.chunks(id),
    async complete(complete) {
      if (complete.partitions > maxPartitions)
        throw new ConfigError(
          `The plan of ${plan.name} has ${complete.partitions} partitions. A table takes ${maxPartitions}: cut the plan into several.`,
        );
      if ((await table.complete(id, encodeRecord(complete), complete.partitions)) !== encodeRecord(complete))
        throw another();
    },
  };
}

/** The run in the database, or a new one. @throws ConfigError if it is of another source, or its rows become other ones */
async function beginRun(
  table: RunTable,
  plan: RunPlan,
  source: PageSource<unknown>,
  rows: RowsOptions,
): Promise<StoredRun> {
  const header = await newHeader(plan, source, newId);
  const record: TableRunRecord = { ...header, rows };
  const run = { id: header.id, name: plan.name, record: encodeRecord(record) };
  const known = await table.find({ name: plan.name });
  const isContinued = known !== undefined && !isFollowed(known, rows);
  const stored = isContinued ? known : await table.begin(run, { options: rows, schema: source.info.schema });
  const { source: name, rows: options } = decodeRecord<TableRunRecord>(JSON.parse(stored.record), table.name);
  if (name !== plan.source)
    throw new ConfigError(
      `${table.name} has a run ${plan.name} of ${name}. Submit that of ${plan.source} by another name.`,
      { table: table.name },
    );
  if (JSON.stringify(options) === JSON.stringify(rows)) return stored;
  throw new ConfigError(
    `${plan.name} was submitted to ${table.name} with other options: ${JSON.stringify(options)}, and not ${JSON.stringify(rows)}. Use the same ones, or another name.`,
    { table: table.name, changed: ['mode'] },
  );
}

/** @throws ConfigError if the plan is not complete */
function openRun(table: RunTable, stored: StoredRun, sources: Readonly<Record<string, OpenSource>>): Run {
  const header = decodeRecord<TableRunRecord>(JSON.parse(stored.record), table.name);
  if (stored.plan === undefined)
    throw new ConfigError(`The plan of ${header.name} is not complete: submit it again, which resumes it.`, {
      table: table.name,
    });
  const plan = decodeRecord<CompletePlan>(JSON.parse(stored.plan), table.name);
  return new TableRun(table, header, plan, sources[header.source]);
}

/** A run in a database whose plan is complete. */
class TableRun implements Run {
  readonly header: TableRunRecord;
  readonly partitions: number;
  readonly #table: RunTable;
  readonly #sources: PieceSources;

  constructor(table: RunTable, header: TableRunRecord, { partitions }: CompletePlan, open: OpenSource | undefined) {
    this.header = header;
    this.partitions = partitions;
    this.#table = table;
    const readChunk = (partition: number): Promise<PlanChunk | undefined> => this.#readChunk(partition);
    this.#sources = new PieceSources({ header, partitions, open, readChunk });
  }

  sourceOf(partition: number): Promise<SourcePartition> {
    return this.#sources.find(partition);
  }

  async claim(partition: number, restarts?: number): Promise<Claim<unknown> | 'done' | 'cancelled'> {
    const { id: run, rows: options } = this.header;
    const { source } = await this.sourceOf(partition);
    const { schema } = source.info;
    return this.#table.claim({ run, partition, id: newId(), restarts, options, schema });
  }

  async *pending(): AsyncGenerator<number, void, undefined> {
    // The records of its partitions may have been removed.
    if ((await findRun(this.#table, this.header)).state === 'finished') return;
    for (let first = 0; first < this.partitions; first += partitionsPerQuery) {
      const end = Math.min(first + partitionsPerQuery, this.partitions);
      const done = new Set(await this.#table.done(this.header.id, first, end));
      for (let partition = first; partition < end; partition += 1) if (!done.has(partition)) yield partition;
    }
  }

  async status(): Promise<RunStatus> {
    const { done, rows, state, isIncomplete, rowsNotRemoved } = await findRun(this.#table, this.header);
    // The records of all partitions are read for it. An incomplete run says already that rows are missing.
    const isCompared = state === 'finished' && !isIncomplete;
    const gap = isCompared ? await this.#table.totalGap(this.header.id) : {};
    return {
      partitions: this.partitions,
      done,
      rows,
      isCancelled: state === 'cancelled',
      ...(isIncomplete && { isIncomplete }),
      ...(rowsNotRemoved > 0 && { rowsNotRemoved }),
      ...gap,
    };
  }

  cancel(): Promise<void> {
    return this.#table.cancel(this.header.id);
  }

  clean(): Promise<number> {
    return this.#table.clean(this.header.id);
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  async #readChunk(partition: number): Promise<PlanChunk | undefined> {
    const chunk = await this.#table.findChunk(this.header.id, partition);
    return chunk === undefined ? undefined : decodeRecord(JSON.parse(chunk), this.#table.name);
  }
}

async function findRun(table: RunTable, { id, name }: RunHeader): Promise<StoredRun> {
  const found = await table.find({ id });
  if (found) return found;
  throw new ConfigError(`${name} is gone from the database of ${table.name}: somebody removed it.`);
}

function newId(): string {
  return randomBytes(16).toString('hex');
}

function encodeRecord(record: object): string {
  return JSON.stringify(sealRecord(record));
}
