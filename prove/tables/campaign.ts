import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from '@photostructure/sqlite';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import type { TableMode } from '@sluice/tables/sqlite';
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
const keyColumns = ['owner_address', 'token_data_id_hash', 'property_version'];
/** Exports, one after the other, and what their tables do besides storing rows. */
const kinds: readonly {
  readonly mode: TableMode;
  readonly key?: readonly string[];
  /** `drops`: it drops rows until somebody changes that. `has children`: rows of another table go with its rows. */
  readonly table?: 'drops' | 'has children';
}[] = [
  { mode: 'fail' },
  { mode: 'append', table: 'drops' },
  { mode: 'merge', key: keyColumns, table: 'has children' },
  { mode: 'replace', key: keyColumns },
  { mode: 'append' },
  { mode: 'merge', key: keyColumns, table: 'drops' },
  { mode: 'replace', key: keyColumns, table: 'has children' },
  { mode: 'merge' },
];
/** What tells rows apart, in few characters: names can be long. */
const compared = [
  'owner_address',
  'token_data_id_hash',
  'property_version',
  'amount',
  'length(name)',
  'last_transaction_timestamp',
];

/** A database that outlives the processes that write it. */
interface StoredTables {
  readonly place: string;
  /** The type of a whole number. */
  readonly integer: string;
  /** Rows, each as one line. */
  readonly lines: (sql: string) => Promise<readonly string[]>;
  readonly run: (sql: string) => Promise<void>;
  /** Statements that let a table drop rows, and that end this. */
  readonly dropping: (table: string, condition: string) => { readonly begin: readonly string[]; readonly end: string };
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
  await using sandbox = await startSandbox({ seed, holdings: size.holdings, owners: size.owners, latency: [1, 15] });
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
    const { mode, key, table: does = 'stores' } = kinds[nth % kinds.length] ?? { mode: 'fail' };
    const table = `t${nth}`;
    const order = { table, owners: this.#sandbox.owners, mode, ...(key && { key }) };
    const before = mode === 'fail' ? [] : this.#first;
    if (mode !== 'fail') await this.#start({ ...order, owners: this.#someOwners }).ended;
    if (does === 'has children') await this.#addChildren(table);
    const dropping = this.#tables.dropping(table, `NEW.owner_address = '${this.#sandbox.owners.at(-1)}'`);
    if (does === 'drops') for (const sql of dropping.begin) await this.#tables.run(sql);
    const after = mode === 'append' ? [...this.#first, ...this.#all].toSorted() : this.#all;
    const say = (what: string): void => void this.differences.push(`export ${nth} (${mode}, ${does}): ${what}`);
    const runs: RunQueries[] = [];
    const kill = () =>
      killUntilDone({
        sandbox: this.#sandbox,
        random: this.#random,
        start: () => this.#start(order),
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
      });
    try {
      if (does === 'drops') await this.#checkRefused(kill, dropping.end, say);
      this.kills += await kill();
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
    if (does === 'has children') {
      const children = await this.#tables.lines(`SELECT count(*) FROM children_${table}`);
      if (Number(children[0]) !== this.#first.length) say(`${children[0]} of ${this.#first.length} children are there`);
    }
    if (!same(await this.#rowsOf(table), after)) say('the table does not have the rows of the plan, each once');
    const { rows, isFinished } = await this.#checkpointOf(table);
    if (!isFinished || rows !== size.holdings) say(`the checkpoint says ${rows} rows, finished: ${isFinished}`);
    const counts = fetchedAgain(runs);
    this.maxFetchedAgain = Math.max(this.maxFetchedAgain, ...counts);
    const allowed = maxFetchedAgain(size);
    for (const count of counts) if (count > allowed) say(`${count} pages were fetched again, not at most ${allowed}`);
  }

  /** An export is refused, and never complete, while its table drops rows. It is done when the table does not any more. */
  async #checkRefused(kill: () => Promise<number>, end: string, say: (what: string) => void): Promise<void> {
    let stderr = '';
    const killed = await kill().catch((error: unknown) => {
      stderr = String(error);
      return 0;
    });
    const [, kills = String(killed)] = /Run again after (\d+) kills/.exec(stderr) ?? [];
    this.kills += Number(kills);
    if (!/has added \d+ of \d+ rows/.test(stderr)) say(`the table dropped rows, and the export was done: ${stderr}`);
    await this.#tables.run(end);
  }

  /** One child for each row. */
  async #addChildren(table: string): Promise<void> {
    const key = keyColumns.join(', ');
    await this.#tables.run(`CREATE UNIQUE INDEX key_${table} ON ${table} (${key})`);
    const types = keyColumns.map((name) => `${name} ${name === 'property_version' ? this.#tables.integer : 'text'}`);
    await this.#tables.run(
      `CREATE TABLE children_${table} (${types.join(', ')}, FOREIGN KEY (${key}) REFERENCES ${table} (${key}) ON DELETE CASCADE)`,
    );
    await this.#tables.run(`INSERT INTO children_${table} SELECT ${key} FROM ${table}`);
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
      apiKey,
      aptosUrl,
      owners,
      pageSize,
      place: this.#tables.place,
      table,
      mode,
      concurrency,
      commitEvery,
      prefetch,
      ...(key && { key }),
    };
    const child = spawn(process.execPath, [bundled(new URL('child.ts', import.meta.url)), JSON.stringify(order)], {
      env: withoutProxies(process.env),
      stdio: ['ignore', 'ignore', 'pipe'],
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
    const checkpoint: { rows?: number; finishedAt?: string; sinkPosition?: { run: string } } = JSON.parse(
      await recordOf('checkpoint'),
    );
    const { rows = 0, finishedAt, sinkPosition } = checkpoint;
    const { run }: { run?: string } = JSON.parse(await recordOf('published'));
    const isStaged = sinkPosition !== undefined && sinkPosition.run !== run;
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
    integer: 'text',
    lines: (sql) => Promise.resolve(lines(sql)),
    run(sql) {
      const db = new DatabaseSync(path);
      db.exec(sql);
      db.close();
      return Promise.resolve();
    },
    dropping: (table, condition) => ({
      begin: [
        `CREATE TRIGGER drop_${table} BEFORE INSERT ON ${table} WHEN ${condition} BEGIN SELECT RAISE(IGNORE); END`,
      ],
      end: `DROP TRIGGER drop_${table}`,
    }),
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
    integer: 'numeric',
    lines,
    run: async (sql) => void (await server.query(sql)),
    dropping: (table, condition) => ({
      begin: [
        'CREATE OR REPLACE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
        `CREATE TRIGGER drop_${table} BEFORE INSERT ON ${table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION drop_row()`,
      ],
      end: `DROP TRIGGER drop_${table} ON ${table}`,
    }),
    async settled() {
      for (let open = '1'; open !== '0';)
        [open = '0'] = await lines("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sluice %'");
    },
    stage: async () =>
      (await lines("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '\\_sluice\\_%'"))[0],
  };
}
