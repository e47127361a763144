import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from '@photostructure/sqlite';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import type { TableMode } from '@sluice/exporters/sqlite';
import { bundled } from '../../scripts/bundled.js';
import { withoutProxies } from '../../test/kit/environment.js';
import { startPostgres, type PostgresServer } from '../../test/kit/postgresServer.js';
import { Random } from '../../test/kit/random.js';
import { type ExportProcess, killUntilDone } from '../../test/kit/tableKills.js';
import { fetchedAgain, maxFetchedAgain, queriesOf, type RunQueries } from '../crash/fetchedAgain.js';
import type { TableOrder } from './tableOrder.js';

export type Target = 'sqlite' | 'postgres';

/** Three partitions side by side, of about 20 pages each. */
const size = { holdings: 3_000, owners: 3, pageSize: 50, concurrency: 3, commitEvery: 2, prefetch: 1 } as const;
const modes: readonly TableMode[] = ['fail', 'append', 'merge', 'replace'];
/** What tells rows apart, in few characters: names can be long. */
const compared = [
  ...['owner_address', 'token_data_id_hash', 'property_version', 'amount', 'length(name)'],
  'last_transaction_timestamp',
];

/** A database that outlives the processes that write it. */
interface StoredTables {
  readonly place: string;
  /** Rows, each as one line. */
  readonly lines: (sql: string) => Promise<readonly string[]>;
  /** Settles when nobody writes them any more: a COMMIT may be on its way when its process dies. */
  readonly settled: () => Promise<void>;
  /** The staging table of a table as SQL has it, if there is one. */
  readonly stage: () => Promise<string | undefined>;
}

export interface TableOutcome {
  readonly kills: number;
  readonly crashes: number;
  readonly exports: number;
  readonly maxFetchedAgain: number;
  /** What was wrong, one sentence each. */
  readonly differences: readonly string[];
}

/** Kills exports into one database until enough kills and crashes of its server have happened. */
export async function killTableExports({
  to,
  seed,
  folder,
  kills,
  crashes,
  onProgress,
}: {
  readonly to: Target;
  readonly seed: number;
  /** A folder of its own. */
  readonly folder: string;
  readonly kills: number;
  /** Of a server. */
  readonly crashes: number;
  readonly onProgress: (outcome: TableOutcome) => void;
}): Promise<TableOutcome> {
  await using sandbox = await startSandbox({ seed, ...size, latency: [1, 15] });
  const server = to === 'postgres' ? await startPostgres() : undefined;
  const children = new Set<ChildProcess>();
  try {
    const tables = server ? inPostgres(server) : inSqlite(join(folder, 'tables.sqlite'));
    const campaign = new TableCampaign(sandbox, tables, new Random(`${seed} tables`), children, server);
    await campaign.prepare();
    const isMissing = (): boolean => campaign.kills < kills || (server !== undefined && campaign.crashes < crashes);
    while (isMissing() && campaign.differences.length === 0) {
      await campaign.next();
      onProgress(campaign);
    }
    return campaign;
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await server?.close();
  }
}

class TableCampaign implements TableOutcome {
  kills = 0;
  crashes = 0;
  exports = 0;
  maxFetchedAgain = 0;
  readonly differences: string[] = [];
  readonly #sandbox: Sandbox;
  readonly #tables: StoredTables;
  readonly #random: Random;
  readonly #children: Set<ChildProcess>;
  readonly #server: PostgresServer | undefined;
  /** The rows of exports that nothing disturbs. */
  #all: readonly string[] = [];
  #first: readonly string[] = [];

  constructor(
    sandbox: Sandbox,
    tables: StoredTables,
    random: Random,
    children: Set<ChildProcess>,
    server: PostgresServer | undefined,
  ) {
    this.#sandbox = sandbox;
    this.#tables = tables;
    this.#random = random;
    this.#children = children;
    this.#server = server;
  }

  async prepare(): Promise<void> {
    for (const [table, owners] of [
      ['whole', this.#sandbox.owners],
      ['first_owners', this.#someOwners],
    ] as const) {
      const { code, stderr } = await this.#start({ table, owners, mode: 'fail' }).ended;
      if (code !== 0) throw new Error(`An undisturbed export failed: ${stderr}`);
    }
    [this.#all, this.#first] = [await this.#rowsOf('whole'), await this.#rowsOf('first_owners')];
  }

  /** One export, which is killed until it is done. */
  async next(): Promise<void> {
    const nth = (this.exports += 1);
    const mode = modes[nth % modes.length] ?? 'fail';
    const table = `t${nth}`;
    const order = { table, owners: this.#sandbox.owners, mode, ...(mode === 'replace' && { key: keyColumns }) };
    const before = mode === 'fail' ? [] : this.#first;
    if (mode !== 'fail') await this.#start({ ...order, owners: this.#someOwners }).ended;
    const after = mode === 'append' ? [...this.#first, ...this.#all].toSorted() : this.#all;
    const say = (what: string): void => void this.differences.push(`export ${nth} (${mode}): ${what}`);
    const runs: RunQueries[] = [];
    const killed = await killUntilDone({
      ...{ sandbox: this.#sandbox, random: this.#random, start: () => this.#start(order) },
      ...(this.#server && { disturb: () => this.#crash() }),
      onEnd: async (requestsBefore) => {
        await this.#tables.settled();
        runs.push(queriesOf(this.#sandbox.requests.slice(requestsBefore)));
        const rows = await this.#rowsOf(table);
        const isPublished = same(rows, after);
        if (!isPublished && !same(rows, before))
          say(`a reader saw ${rows.length} rows, neither those before nor those after`);
        const { rows: committed, staged, isFinished } = await this.#checkpointOf(table);
        if (staged !== undefined && staged !== committed)
          say(`the checkpoint has ${committed} rows, and ${staged} are staged`);
        if (isFinished && !isPublished) say('the checkpoint says that it has finished, and the rows are not there');
      },
    }).catch((error: unknown) => {
      say(error instanceof Error ? error.message : String(error));
      return 0;
    });
    this.kills += killed;
    if (!same(await this.#rowsOf(table), after)) say('the table does not have the rows of the plan, each once');
    const { rows, isFinished } = await this.#checkpointOf(table);
    if (!isFinished || rows !== size.holdings) say(`the checkpoint says ${rows} rows, finished: ${isFinished}`);
    const counts = fetchedAgain(runs);
    this.maxFetchedAgain = Math.max(this.maxFetchedAgain, ...counts);
    const allowed = maxFetchedAgain(size);
    for (const count of counts) if (count > allowed) say(`${count} pages were fetched again, not at most ${allowed}`);
  }

  get #someOwners(): readonly string[] {
    return this.#sandbox.owners.slice(0, 2);
  }

  async #crash(): Promise<void> {
    this.crashes += 1;
    await this.#server?.crash();
  }

  #start({ table, owners, mode, key }: Pick<TableOrder, 'table' | 'owners' | 'mode' | 'key'>): ExportProcess {
    const { apiKey, aptosUrl } = this.#sandbox;
    const { pageSize, concurrency, commitEvery, prefetch } = size;
    const order: TableOrder = {
      ...{ apiKey, aptosUrl, owners, pageSize, place: this.#tables.place, table, mode },
      ...{ concurrency, commitEvery, prefetch, ...(key && { key }) },
    };
    const child = spawn(process.execPath, [bundled(new URL('child.ts', import.meta.url)), JSON.stringify(order)], {
      ...{ env: withoutProxies(process.env), stdio: ['ignore', 'ignore', 'pipe'] },
    });
    this.#children.add(child);
    const ended = (async () => {
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      this.#children.delete(child);
      return { code: typeof code === 'number' ? code : null, stderr };
    })();
    return { kill: () => void child.kill('SIGKILL'), ended };
  }

  async #rowsOf(table: string): Promise<readonly string[]> {
    const fields = compared.map((name) => `coalesce(CAST(${name} AS text), '-')`);
    const rows = await this.#tables.lines(`SELECT ${fields.join(" || ' ' || ")} FROM ${table}`);
    return rows.toSorted();
  }

  /** What the checkpoint says, and how many rows are staged if it is not published. */
  async #checkpointOf(table: string): Promise<{ rows: number; staged: number | undefined; isFinished: boolean }> {
    const recordOf = async (name: string): Promise<string> => {
      const [found] = await this.#tables.lines(
        `SELECT record FROM _sluice WHERE target = '${table}' AND name = 'record/${name}'`,
      );
      return found ?? '{}';
    };
    const checkpoint: { rows?: number; finishedAt?: string; sinkPosition?: { stage: string } } = JSON.parse(
      await recordOf('checkpoint'),
    );
    const { rows = 0, finishedAt, sinkPosition } = checkpoint;
    const { stage }: { stage?: string } = JSON.parse(await recordOf('published'));
    const isStaged = sinkPosition !== undefined && sinkPosition.stage !== stage;
    const stagingTable = isStaged ? await this.#tables.stage() : undefined;
    const [staged] = stagingTable ? await this.#tables.lines(`SELECT count(*) FROM ${stagingTable}`) : [];
    return { rows, staged: staged === undefined ? undefined : Number(staged), isFinished: finishedAt !== undefined };
  }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, nth) => line === b[nth]);
}

function inSqlite(path: string): StoredTables {
  const lines = (sql: string): readonly string[] => {
    const db = new DatabaseSync(path);
    try {
      const rows: readonly object[] = db.prepare(sql).all();
      return rows.map((row) => String(Object.values(row)[0]));
    } catch (error) {
      if (error instanceof Error && error.message.includes('no such table')) return [];
      throw error;
    } finally {
      db.close();
    }
  };
  return {
    place: path,
    lines: (sql) => Promise.resolve(lines(sql)),
    settled: () => Promise.resolve(),
    stage: () =>
      Promise.resolve(lines("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_sluice_*'")[0]),
  };
}

function inPostgres(server: PostgresServer): StoredTables {
  const lines = async (sql: string): Promise<readonly string[]> => {
    const json = await server
      .query(`SELECT coalesce(json_agg(line::text), '[]') FROM (${sql}) AS found(line)`)
      .catch((error: unknown) => {
        if (String(error).includes('does not exist')) return '[]';
        throw error;
      });
    return JSON.parse(json);
  };
  return {
    place: server.url,
    lines,
    async settled() {
      for (let open = '1'; open !== '0';)
        [open = '0'] = await lines("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sluice %'");
    },
    stage: async () =>
      (await lines("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '\\_sluice\\_%'"))[0],
  };
}

const keyColumns = ['owner_address', 'token_data_id_hash', 'property_version'];
