import { DatabaseSync } from '@photostructure/sqlite';
import type { PostgresResult } from '../src/postgres/connection.js';

type Row = Readonly<Record<string, unknown>>;
type Parameter = string | null;
type Sqlite = InstanceType<typeof DatabaseSync>;

/** An error as the driver gives those of a server. */
export class ServerError extends Error {
  readonly code: string;
  readonly severity = 'ERROR';

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What was committed: the texts of the statements that wrote. */
export type OnCommit = (statements: readonly string[]) => void;

/**
 * A server of PostgreSQL as the sinks for tables see it. SQLite runs the statements that both understand; those of
 * PostgreSQL alone are known by their text. Transactions are READ COMMITTED: a statement sees what is committed and what
 * its own transaction wrote. Where PostgreSQL locks rows, one lock keeps off all other writers.
 */
export class SimulatedPostgres {
  readonly locks = new Locks();
  readonly #committed = new DatabaseSync(':memory:');
  /** What is committed, and what the transaction that holds the lock for writing wrote. */
  readonly #working = new DatabaseSync(':memory:');
  readonly #sessions = new Set<ServerSession>();
  readonly #onCommit: OnCommit;
  #pids = 0;

  constructor(onCommit: OnCommit = () => undefined) {
    this.#onCommit = onCommit;
  }

  connect(): ServerSession {
    const session = new ServerSession(this, (this.#pids += 1));
    this.#sessions.add(session);
    return session;
  }

  get sessions(): readonly ServerSession[] {
    return [...this.#sessions];
  }

  /** Runs a query on what is committed, as a reader does. Nothing, if there is no such table. */
  read(sql: string, ...parameters: readonly Parameter[]): readonly Row[] {
    try {
      return rowsOf(this.#committed, sql, parameters);
    } catch (error) {
      if (error instanceof Error && error.message.includes('no such table')) return [];
      throw error;
    }
  }

  close(): void {
    this.#committed.close();
    this.#working.close();
  }

  /** What a session reads of. */
  visibleTo(session: ServerSession): Sqlite {
    return this.locks.holds(writing, session) ? this.#working : this.#committed;
  }

  begin(): void {
    this.#working.exec('BEGIN');
  }

  commit(statements: readonly Statement[]): void {
    this.#working.exec('COMMIT');
    this.#committed.exec('BEGIN');
    for (const { sql, rows } of statements) runOn(this.#committed, sql, rows);
    this.#committed.exec('COMMIT');
    this.#onCommit(statements.map(({ sql }) => sql));
  }

  rollBack(): void {
    this.#working.exec('ROLLBACK');
  }

  ended(session: ServerSession): void {
    this.#sessions.delete(session);
  }
}

/** The lock of the transaction that writes. */
const writing = 'writing';

/** A statement that writes, once for each row of parameters. */
interface Statement {
  readonly sql: string;
  readonly rows: readonly (readonly Parameter[])[];
}

/** One connection, on the side of the server. */
export class ServerSession {
  readonly pid: number;
  /** Called when somebody else ends it. */
  onTerminated: () => void = () => undefined;
  #isEnded = false;
  readonly #server: SimulatedPostgres;
  #transaction: 'none' | 'open' | 'failed' = 'none';
  #written: Statement[] = [];

  constructor(server: SimulatedPostgres, pid: number) {
    this.#server = server;
    this.pid = pid;
  }

  hasEnded(): boolean {
    return this.#isEnded;
  }

  get isWaiting(): boolean {
    return this.#server.locks.isWaiting(this);
  }

  /** Runs a statement; waits while another session holds a lock that it needs. @throws ServerError */
  async execute(text: string, parameters: readonly Parameter[] = []): Promise<PostgresResult> {
    return this.#guarded(text, () => this.#execute(text, parameters));
  }

  /** COPY … FROM STDIN, with all of its input. */
  async copy(text: string, input: string): Promise<PostgresResult> {
    const [, table = '', columns = ''] = /^COPY (.+) \((.+)\) FROM STDIN$/.exec(text) ?? [];
    const rows = input.split('\n').slice(0, -1).map(fieldsOf);
    const marks = rows[0]?.map((_, nth) => `?${nth + 1}`).join(', ') ?? '';
    const sql = `INSERT INTO ${table} (${columns}) VALUES (${marks})`;
    return this.#guarded(text, () => this.#write(sql, rows));
  }

  /** Fails the transaction, instead of its next statement. */
  fail(code: string, message: string): ServerError {
    this.#undo();
    const isOpen = this.#transaction !== 'none';
    this.#leave();
    if (isOpen) this.#transaction = 'failed';
    return new ServerError(code, message);
  }

  /** Gives up what it waits for. */
  cancelWait(error: ServerError): void {
    this.#server.locks.cancel(this, error);
  }

  /** The connection is gone, and the server knows. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.cancelWait(new ServerError('57P01', 'terminating connection due to administrator command'));
    this.#undo();
    this.#server.locks.releaseAll(this);
    this.#server.ended(this);
  }

  async #guarded(text: string, work: () => Promise<PostgresResult>): Promise<PostgresResult> {
    if (this.hasEnded()) throw new ServerError('57P01', 'the session has ended');
    if (this.#transaction === 'failed' && !/^(ROLLBACK|COMMIT)$/.test(text))
      throw new ServerError('25P02', 'current transaction is aborted');
    try {
      return await work();
    } catch (error) {
      if (this.hasEnded()) throw error;
      const { code, message } = error instanceof ServerError ? error : codedError(error);
      throw this.fail(code, message);
    }
  }

  async #execute(text: string, parameters: readonly Parameter[]): Promise<PostgresResult> {
    if (text.startsWith('BEGIN')) {
      this.#transaction = 'open';
      return none;
    }
    // Nobody calls one.
    if (text.startsWith('SET CONSTRAINTS') || text.startsWith('CREATE FUNCTION')) return none;
    switch (text) {
      case 'COMMIT':
        if (this.#written.length > 0) this.#server.commit(this.#written);
        this.#written = [];
        this.#leave();
        return none;
      case 'ROLLBACK':
        this.#undo();
        this.#leave();
        return none;
    }
    const own = this.#ownStatement(text, parameters);
    if (own) return await own;
    if (!/^(?:INSERT|UPDATE|DELETE|CREATE|DROP|ALTER)\b/.test(text)) return this.#query(text, parameters);
    return this.#write(sqliteText(text), [parameters]);
  }

  /** Statements that only PostgreSQL knows; `undefined` if this is not one. */
  #ownStatement(
    text: string,
    [first = '']: readonly Parameter[],
  ): Promise<PostgresResult> | PostgresResult | undefined {
    const { locks } = this.#server;
    if (text.startsWith("SELECT current_setting('server_version_num')"))
      return resultOf([{ version: '170000', backend: this.pid }]);
    if (text.includes('pg_advisory_xact_lock('))
      return locks.acquire(`transaction ${first}`, this).then(() => resultOf([{}]));
    if (text.includes('pg_try_advisory_xact_lock(')) return resultOf([{ locked: true }]);
    if (text.includes('pg_try_advisory_lock(')) {
      return resultOf([{ locked: locks.tryAcquire(`session ${first}`, this) }]);
    }
    if (text.includes('FROM pg_locks')) {
      const holder = locks.holderOf(`session ${first}`);
      return resultOf(holder ? [{ pid: holder.pid, application_name: `sluice ${holder.pid}`, client_addr: null }] : []);
    }
    if (text.includes('pg_terminate_backend(')) {
      const other = this.#server.sessions.find(({ pid }) => String(pid) === first);
      other?.end();
      other?.onTerminated();
      return resultOf([{ pg_terminate_backend: other !== undefined }]);
    }
    if (text.includes('FROM pg_attribute')) return resultOf(this.#columnsOf(first ?? ''));
    // No table needs the name of its schema.
    if (text.includes('FROM pg_namespace')) return resultOf([]);
    if (text.includes('to_regprocedure(')) return resultOf([]);
    // Nobody drops a table, and makes another one in its place.
    if (text.startsWith('SELECT to_regclass('))
      return resultOf([{ identity: this.#kindOf(first ?? '').length > 0 ? '16384' : null }]);
    if (text.includes('FROM pg_class')) return resultOf(this.#kindOf(first ?? ''));
    return undefined;
  }

  #columnsOf(quotedName: string): Row[] {
    const found = rowsOf(this.#server.visibleTo(this), `PRAGMA table_info(${quotedName})`, []);
    return found.map(({ name, type }) => ({
      name,
      declared: declaredType(String(type)),
      computed: false,
      required: false,
    }));
  }

  #kindOf(quotedName: string): Row[] {
    const kind = `SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1`;
    const name = quotedName.slice(1, -1).replaceAll('""', '"');
    return rowsOf(this.#server.visibleTo(this), kind, [name]).map(({ type }) => ({ table: type === 'table' }));
  }

  #query(text: string, parameters: readonly Parameter[]): PostgresResult {
    return resultOf(rowsOf(this.#server.visibleTo(this), sqliteText(text), parameters));
  }

  async #write(sql: string, rows: readonly (readonly Parameter[])[]): Promise<PostgresResult> {
    await this.#server.locks.acquire(writing, this);
    // It may have ended as it was granted the lock.
    if (this.hasEnded()) throw new ServerError('57P01', 'the session has ended');
    if (this.#written.length === 0) this.#server.begin();
    this.#written.push({ sql, rows });
    return { rows: [], rowCount: runOn(this.#server.visibleTo(this), sql, rows) };
  }

  #undo(): void {
    if (this.#written.length > 0) this.#server.rollBack();
    this.#written = [];
  }

  /** The end of a transaction, and of its locks. */
  #leave(): void {
    this.#transaction = 'none';
    this.#server.locks.releaseAll(this, (name) => !name.startsWith('session '));
  }
}

const none: PostgresResult = { rows: [], rowCount: null };

function resultOf(rows: readonly Row[]): PostgresResult {
  return { rows, rowCount: rows.length };
}

/** Locks that one session holds at a time, and those who wait for them in order. */
class Locks {
  readonly #holders = new Map<string, ServerSession>();
  readonly #waiting: { name: string; session: ServerSession; resolve: () => void; reject: (error: Error) => void }[] =
    [];

  holds(name: string, session: ServerSession): boolean {
    return this.#holders.get(name) === session;
  }

  holderOf(name: string): ServerSession | undefined {
    return this.#holders.get(name);
  }

  isWaiting(session: ServerSession): boolean {
    return this.#waiting.some((waiter) => waiter.session === session);
  }

  tryAcquire(name: string, session: ServerSession): boolean {
    const holder = this.#holders.get(name);
    if (!holder) this.#holders.set(name, session);
    return !holder || holder === session;
  }

  acquire(name: string, session: ServerSession): Promise<void> {
    if (this.tryAcquire(name, session)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ name, session, resolve, reject });
    });
  }

  cancel(session: ServerSession, error: Error): void {
    const at = this.#waiting.findIndex((waiter) => waiter.session === session);
    const [waiter] = at < 0 ? [] : this.#waiting.splice(at, 1);
    waiter?.reject(error);
  }

  releaseAll(session: ServerSession, isReleased: (name: string) => boolean = () => true): void {
    for (const [name, holder] of this.#holders) if (holder === session && isReleased(name)) this.#release(name);
  }

  #release(name: string): void {
    this.#holders.delete(name);
    const at = this.#waiting.findIndex((waiter) => waiter.name === name);
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (!next) return;
    this.#holders.set(name, next.session);
    next.resolve();
  }
}

/** A quoted name or text, in which nothing is replaced; or a parameter. */
const quotedOrParameter = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$\d+/g;
/** Types that SQLite would take for numbers. */
const typeOfColumn = /("(?:[^"]|"")*") (numeric|boolean|timestamptz|json)\b/g;

/** The same statement for SQLite. Values of a column keep their text, as PostgreSQL keeps their digits. */
function sqliteText(text: string): string {
  const sql = text
    .replace(quotedOrParameter, (found) => (found.startsWith('$') ? `?${found.slice(1)}` : found))
    .replaceAll('COLLATE "C"', 'COLLATE BINARY');
  return sql.startsWith('CREATE TABLE') ? sql.replace(typeOfColumn, '$1 $2_text') : sql;
}

/** The type of a column, as PostgreSQL calls it. */
function declaredType(type: string): string {
  const name = type.toLowerCase().replace(/_text$/, '');
  return name === 'timestamptz' ? 'timestamp with time zone' : name;
}

function rowsOf(db: Sqlite, sql: string, parameters: readonly Parameter[]): Row[] {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all(...parameters).map((row: Row) =>
    // The driver gives a bigint as text.
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
    ),
  );
}

function runOn(db: Sqlite, sql: string, rows: readonly (readonly Parameter[])[]): number {
  if (rows.length === 0) return 0;
  const statement = db.prepare(sql);
  return rows.reduce((sum, parameters) => sum + statement.run(...parameters).changes, 0);
}

/** An error of SQLite as one of PostgreSQL. */
function codedError(error: unknown): ServerError {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes('UNIQUE')) return new ServerError('23505', message);
  return new ServerError(message.includes('no such table') ? '42P01' : 'XX000', message);
}

const escapes: Readonly<Record<string, string>> = { '\\\\': '\\', '\\t': '\t', '\\n': '\n', '\\r': '\r' };

/** A line of COPY's text format, as its values. */
function fieldsOf(line: string): Parameter[] {
  return line
    .split('\t')
    .map((field) => (field === '\\N' ? null : field.replace(/\\[\\tnr]/g, (found) => escapes[found] ?? found)));
}
