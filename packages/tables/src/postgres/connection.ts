import { Socket } from 'node:net';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ConfigError, SinkError, SluiceError } from '@sluice/core';
import { isRecord } from '@sluice/core/kit';
import { causeOf } from '@sluice/core/health';
import {
  ConnectionLost,
  quote,
  quoteTable,
  RefusedValue,
  type Connection,
  type DatabaseOutage,
  type Refusal,
  type Session,
  type SqlValue,
  type Unique,
} from '../sql/database.js';
import { copyChunks } from './copyText.js';
import { findPassword } from './passwordFile.js';

/** The oldest server that the tests have run with, as `server_version_num` has it. */
const oldest = 130_000;
/** Statements that are sent at once, and their characters, about. */
const mostOfExchange = { statements: 500, characters: 1_000_000 };
/** Rows of a cursor that are in memory at once. */
const rowsOfFetch = 500;
const connectTimeout = 15_000;
/**
 * Rows that swap values, or refer to rows that follow, break a constraint for a moment. Whoever waits for a lock for ever
 * says nothing, so a server without a limit gets one.
 */
const begin = (ms: number): string =>
  `BEGIN; SET CONSTRAINTS ALL DEFERRED; SELECT set_config('lock_timeout', '${ms}', true) WHERE current_setting('lock_timeout') = '0'`;
/** In ms. */
const usualLockWait = 60_000;
/** Each statement sees the same. */
const beginReading = begin(usualLockWait).replace('BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
/** A worker that was stopped keeps no lock for longer. Shorter than what others wait for it. */
const asWorker = "; SET LOCAL idle_in_transaction_session_timeout = '10s'";
/** Ms that a cancelled export waits for a server that does not respond, and that the end of a connection may take. */
const longestEnd = 2_000;

/** How a client of the package `pg` connects. Its own type would make users install it who export no table. */
export interface PostgresConfig {
  readonly connectionString: string;
  readonly keepAlive: boolean;
  /** In ms. */
  readonly connectionTimeoutMillis: number;
  readonly application_name: string;
  readonly stream: () => Socket;
}

/** What is used of the packages `pg` and `pg-copy-streams`. */
export interface PostgresDriver {
  readonly client: (config: PostgresConfig) => PostgresClient;
}

/** A client of the package `pg`. */
export interface PostgresClient {
  /** `error`: the connection was lost; `end`: it is closed. */
  on(event: 'error' | 'end', listener: () => void): unknown;
  connect(): Promise<unknown>;
  /** The process of the server, as the connection was told; absent if it was not. */
  backend(): number | undefined;
  query(text: string, values?: readonly unknown[]): Promise<PostgresResult>;
  /** Runs a statement for each list of values, many in one exchange; gives the rows that each one changed. */
  queryEach(text: string, values: readonly (readonly (string | null)[])[]): Promise<readonly (number | null)[]>;
  /** Takes what follows a COPY … FROM STDIN. When it has finished, it has the number of rows that were added. */
  copy(text: string): Writable & { readonly rowCount: number };
  end(): Promise<unknown>;
}

export interface PostgresResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly rowCount: number | null;
}

/** Options of {@link openPostgres}. */
export interface OpenOptions {
  /** Gives the driver. Default: that of the packages `pg` and `pg-copy-streams`. */
  readonly load?: (() => Promise<PostgresDriver>) | undefined;
  /**
   * The connection of one worker of many: it stays open while nothing is written, which does not keep the process alive,
   * and a transaction ends whose worker was stopped. Default `false`.
   */
  readonly isWorker?: boolean;
}

/**
 * Opens a connection to a server.
 *
 * @throws ConfigError if the driver is not installed; SinkError, without the password, if the server refuses or is not
 * there.
 */
export async function openPostgres(
  config: Pick<PostgresConfig, 'connectionString'>,
  where: string,
  signal: AbortSignal,
  { load = loadDriver, isWorker = false }: OpenOptions = {},
): Promise<Connection> {
  const driver = await load();
  signal.throwIfAborted();
  const socket = new Socket();
  const client = driver.client({
    keepAlive: true,
    connectionTimeoutMillis: connectTimeout,
    application_name: `sluice ${process.pid}`,
    stream: () => socket,
    ...config,
  });
  let end: 'open' | 'lost' = 'open';
  const isLost = (): boolean => end === 'lost';
  // Without a listener, the end of an idle connection would end the process.
  client.on('error', () => (end = 'lost'));
  client.on('end', () => (end = 'lost'));
  const session = createSession(client);
  const stopWaiting = endIfAborted(signal, socket);
  let isPooled: boolean;
  try {
    await client.connect();
    const [server] = await session.rows(
      "SELECT current_setting('server_version_num') AS version, pg_backend_pid() AS backend",
    );
    const version = Number(server?.['version']);
    if (version < oldest)
      throw new SinkError(
        `The server at ${where} is PostgreSQL ${Math.floor(version / 10_000)}; ${oldest / 10_000} is the oldest that is supported.`,
      );
    // A pooler tells each client a process of its own, since it cancels queries of several sessions.
    isPooled = client.backend() !== Number(server?.['backend']);
  } catch (error) {
    await close(client, socket);
    signal.throwIfAborted();
    throw explainError(error, where);
  } finally {
    stopWaiting();
  }
  if (isWorker) socket.unref();
  return {
    isPooled,
    async transaction(work, { isOneMoment = false, maxLockWait = usualLockWait } = {}) {
      if (isLost()) throw new ConnectionLost(`The connection to ${where} has ended.`);
      const stopWaiting = endIfAborted(signal, socket);
      socket.ref();
      try {
        await client.query(isOneMoment ? beginReading : begin(maxLockWait) + (isWorker ? asWorker : ''));
        const result = await work(session);
        await client.query('COMMIT');
        return result;
      } catch (error) {
        if (isLost() || isConnectionFault(error))
          throw new ConnectionLost(`The connection to ${where} was lost.`, { cause: explainError(error, where) });
        await client.query('ROLLBACK').catch(() => (end = 'lost'));
        throw explainError(error, where);
      } finally {
        stopWaiting();
        if (isWorker) socket.unref();
      }
    },
    close: () => close(client, socket),
  };
}

/** Cuts a connection whose server does not respond soon after the signal. The transaction may still be committed. */
function endIfAborted(signal: AbortSignal, socket: Socket): () => void {
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => void (timer = setTimeout(() => socket.destroy(), longestEnd));
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', begin);
  };
}

async function close(client: PostgresClient, socket: Socket): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), longestEnd);
  socket.ref();
  // A socket that is gone already emits nothing that would end the wait.
  if (!socket.destroyed) await client.end().catch(() => undefined);
  clearTimeout(timer);
}

async function loadDriver(): Promise<PostgresDriver> {
  try {
    // Both are CommonJS: a bundle has no names of their exports.
    const [{ default: pg }, { default: copy }] = await Promise.all([import('pg'), import('pg-copy-streams')]);
    return {
      client(config) {
        const client = new pg.Client(config);
        const { host, port, database, user, password } = client;
        // After that of the URL and of PGPASSWORD, and only if the server wants one.
        if ((password ?? null) === null)
          Object.assign(client, { password: () => findPassword({ host, port, database, user }) });
        const literal = (value: string): string => client.escapeLiteral(value);
        return {
          on: (event, listener) => client.on(event, listener),
          connect: () => client.connect(),
          // Not in its types.
          backend: () => ('processID' in client && typeof client.processID === 'number' ? client.processID : undefined),
          query: (text, values) => client.query<Record<string, unknown>>(text, values && [...values]),
          async queryEach(text, lists) {
            const counts: (number | null)[] = [];
            for (const statements of exchangesOf(lists, (values) => inlineParameters(text, values, literal))) {
              const results: unknown = await client.query(statements.join(';'));
              for (const result of isList(results) ? results : [results]) counts.push(readRowCount(result));
            }
            return counts;
          },
          copy: (text) => client.query(copy.from(text)),
          end: () => client.end(),
        };
      },
    };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new ConfigError('To write to PostgreSQL, install its driver: npm install pg pg-copy-streams.');
  }
}

/** The statements for lists of values, as many together as are sent at once. */
function* exchangesOf<V>(lists: readonly V[], statementOf: (values: V) => string): Generator<readonly string[]> {
  let statements: string[] = [];
  let characters = 0;
  for (const values of lists) {
    const statement = statementOf(values);
    statements.push(statement);
    characters += statement.length;
    if (statements.length < mostOfExchange.statements && characters < mostOfExchange.characters) continue;
    yield statements;
    statements = [];
    characters = 0;
  }
  if (statements.length > 0) yield statements;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function readRowCount(result: unknown): number | null {
  const { rowCount } = isRecord(result) ? result : {};
  return typeof rowCount === 'number' ? rowCount : null;
}

/** A quoted name or text, in which a question mark is no parameter; or a parameter. */
const quotedOrMark = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\?/g;

/** The same, where parameters have numbers. */
const quotedOrParameter = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d+)/g;

/** A statement with its values, since several statements in one exchange take no parameters. */
function inlineParameters(
  text: string,
  values: readonly (string | null)[],
  literal: (value: string) => string,
): string {
  return text.replace(quotedOrParameter, (found, nth?: string) => {
    if (nth === undefined) return found;
    const value = values[Number(nth) - 1] ?? null;
    return value === null ? 'NULL' : literal(value);
  });
}

function createSession(client: PostgresClient): Session {
  const numbered = (sql: string): string => {
    let nth = 0;
    return sql.replace(quotedOrMark, (found) => (found === '?' ? `$${(nth += 1)}` : found));
  };
  const texts = (parameters: readonly SqlValue[]): readonly (string | null)[] =>
    parameters.map((value) => (value === null ? null : String(value)));
  const query = (sql: string, parameters: readonly SqlValue[]) => client.query(numbered(sql), texts(parameters));
  let cursors = 0;
  return {
    rows: async (sql, ...parameters) => (await query(sql, parameters)).rows,
    async *each(sql, ...parameters) {
      const cursor = `_sluice_rows_${(cursors += 1)}`;
      await query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, parameters);
      for (let found = rowsOfFetch; found === rowsOfFetch;) {
        const { rows } = await client.query(`FETCH ${rowsOfFetch} FROM ${cursor}`);
        found = rows.length;
        yield* rows;
      }
    },
    run: async (sql, ...parameters) => (await query(sql, parameters)).rowCount ?? 0,
    async runEach(sql, lists, columns = []) {
      const counts = await client.queryEach(numbered(sql), lists.map(texts)).catch((error: unknown) => {
        throw findUnknownCharacter(error, columns, lists) ?? error;
      });
      return counts.map((count) => count ?? 0);
    },
    async insert(table, columns, rows) {
      const names = columns.map(quote).join(', ');
      const copy = client.copy(`COPY ${quoteTable(table)} (${names}) FROM STDIN`);
      await pipeline(Readable.from(copyChunks(rows)), copy).catch((error: unknown) => {
        throw findRefusedValue(error, columns) ?? findUnknownCharacter(error, columns, rows) ?? error;
      });
      return copy.rowCount;
    },
    async readColumns(table) {
      const { rows } = await query(
        "SELECT attname AS name, format_type(atttypid, atttypmod) AS declared, attgenerated <> '' OR attidentity = 'a' AS computed, NOT attnotnull AS nullable, EXISTS (SELECT 1 FROM pg_constraint WHERE confrelid = attrelid AND contype = 'f' AND confupdtype = 'c' AND attnum = ANY (confkey)) AS followed, attnotnull AND NOT atthasdef AND attidentity = '' AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = attrelid AND NOT tgisinternal) AS required, (SELECT quote_ident(nspname) || '.' || quote_ident(collname) FROM pg_collation l JOIN pg_namespace n ON n.oid = collnamespace WHERE l.oid = attcollation AND attcollation <> 'pg_catalog.default'::regcollation) AS collation FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [quoteTable(table)],
      );
      if (rows.length === 0) return undefined;
      return rows.map(({ name, declared, computed, nullable, followed, required, collation }) => ({
        name: String(name),
        // In a session with quote_all_identifiers, other names of types are quoted, too.
        declared: String(declared).replace(/^"([^"]*)"$/, '$1'),
        isGenerated: computed === true,
        isNullable: nullable === true,
        isFollowed: followed === true,
        isRequired: required === true,
        ...(typeof collation === 'string' && { collation }),
      }));
    },
    async readTraits(table) {
      const [found] = (await query(traits, [quoteTable(table), quoteTable(table)])).rows;
      if (!found) return undefined;
      const { uniques } = found;
      return {
        kind: found['table'] === true ? 'table' : found['writable'] === true ? 'writable' : 'other',
        hasRules: found['ruled'] === true,
        isUnlogged: found['unlogged'] === true,
        isReferenced: found['referenced'] === true,
        ...(found['table'] === true && { isAdded: 'xmin = pg_current_xact_id()::xid' }),
        uniques: isList(uniques) ? uniques.filter(isUnique) : [],
      };
    },
    async readChanges(table) {
      const [found] = (await query(changes, [quoteTable(table)])).rows;
      return {
        added: Number(found?.['added']),
        changed: Number(found?.['changed']),
        removed: Number(found?.['removed']),
      };
    },
  };
}

/** Of a view, what it is made of counts, too; of a partitioned table, its partitions. */
const parts = `
  WITH RECURSIVE part(oid) AS (
    SELECT to_regclass(?)::oid
    UNION
    SELECT next.oid FROM part, LATERAL (
      SELECT refobjid FROM pg_rewrite w JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = w.oid AND refclassid = 'pg_class'::regclass WHERE ev_class = part.oid
      UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = part.oid
    ) AS next(oid)
  )`;

/** An index whose collation is not that of its column takes other texts for equal. */
const traits = `${parts}
  SELECT relkind IN ('r', 'p') AS table,
    relkind = 'f' OR (relkind = 'v' AND pg_relation_is_updatable(c.oid, true) & 28 = 28) AS writable,
    EXISTS (SELECT 1 FROM part JOIN pg_class USING (oid) WHERE relpersistence = 'u') AS unlogged,
    EXISTS (
      SELECT 1 FROM part JOIN pg_class p USING (oid)
      WHERE relkind IN ('v', 'f') OR relhasrules OR row_security_active(p.oid)
      OR EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = p.oid AND NOT tgisinternal)
    ) AS ruled,
    EXISTS (SELECT 1 FROM pg_constraint WHERE confrelid = c.oid AND contype = 'f' AND confdeltype IN ('c', 'n', 'd')) AS referenced,
    (SELECT json_agg(json_build_object('columns', names, 'isPartial', indpred IS NOT NULL, 'isDeferred', NOT indimmediate, 'isOfNulls', to_json(i) ->> 'indnullsnotdistinct' = 'true')) FROM pg_index i, LATERAL (
      SELECT json_agg(attname ORDER BY nth) AS names, bool_and(attcollation = i.indcollation[nth - 1]) AS same
      FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, nth) JOIN pg_attribute ON attrelid = i.indrelid AND attnum = number
      WHERE nth <= i.indnkeyatts
    ) AS u WHERE i.indrelid = c.oid AND indisunique AND indisvalid AND indexprs IS NULL AND same AND (relkind = 'p' OR NOT relhassubclass)) AS uniques
  FROM pg_class c WHERE c.oid = to_regclass(?)`;

const changes = `${parts}
  SELECT sum(pg_stat_get_xact_tuples_inserted(oid)) AS added, sum(pg_stat_get_xact_tuples_updated(oid)) AS changed, sum(pg_stat_get_xact_tuples_deleted(oid)) AS removed FROM part`;

function isUnique(value: unknown): value is Unique {
  return isRecord(value) && isList(value['columns']);
}

/** 22 is a value that the type does not take, 23514 a constraint of the name of its column. */
function findRefusedValue(error: unknown, columns: readonly string[]): RefusedValue | undefined {
  if (!(error instanceof Error) || !/^(22...|23514)$/.test(readState(error) ?? '')) return undefined;
  const where = 'where' in error ? String(error.where) : '';
  // In the language of the server: COPY table, line 3, column amount: "x".
  const [, line = '', rest = ''] = /^COPY \S+ \D*(\d+)([^]*)$/m.exec(where) ?? [];
  const constraint = 'constraint' in error ? error.constraint : undefined;
  const column = columns
    .filter((name) => name === constraint || rest.includes(` ${name}: "`) || rest.endsWith(` ${name}`))
    .reduce<string | undefined>((longest, name) => (name.length > (longest?.length ?? -1) ? name : longest), undefined);
  if (line === '' || column === undefined) return undefined;
  // Its own message names the staging table.
  const why = readState(error) === '23514' ? 'it would be cut' : error.message;
  return new RefusedValue(why, { row: Number(line) - 1, column, cause: error });
}

/** The encoding of the database lacks a character. The server says which one, by its bytes, and not where it is. */
function findUnknownCharacter(
  error: unknown,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
): RefusedValue | undefined {
  const character = readState(error) === '22P05' && error instanceof Error ? decodeCharacter(error.message) : undefined;
  if (character === undefined) return undefined;
  const hasIt = (value: SqlValue): boolean => typeof value === 'string' && value.includes(character);
  const row = rows.findIndex((values) => values.some(hasIt));
  const column = columns[rows[row]?.findIndex(hasIt) ?? -1];
  if (column === undefined) return undefined;
  return new RefusedValue(`the encoding of its database has no ${character}, and UTF8 has`, {
    row,
    column,
    cause: error,
  });
}

/** @example decodeCharacter('character with byte sequence 0xe6 0xbc 0xa2 in encoding …') // '漢' */
function decodeCharacter(message: string): string | undefined {
  const [bytes] = /0x[0-9a-f]{2}(?: 0x[0-9a-f]{2})*/.exec(message) ?? [];
  return bytes && Buffer.from(bytes.replace(/0x| /g, ''), 'hex').toString();
}

/** The server, or the way to it, ended: 08 is a connection, 57P a shutdown. */
function isConnectionFault(error: unknown): boolean {
  if (SluiceError.is(error)) return false;
  const state = readState(error);
  return state === undefined ? isFromDriver(error) : /^(08|57P0)/.test(state);
}

const socketCodes = /^(E(?!RR_)[A-Z_]+|ERR_STREAM_PREMATURE_CLOSE)$/;

/** A fault of the socket, or of the driver that lost it. */
function isFromDriver(error: unknown): boolean {
  return (
    error instanceof Error &&
    (('code' in error && typeof error.code === 'string' && socketCodes.test(error.code)) ||
      /connection|client was closed|not queryable|timeout expired|^SASL/i.test(error.message))
  );
}

/** Why a table refused a value of a statement, by its type, a constraint or an index; `undefined` if it did not. */
export function readRefusal(error: unknown): Refusal | undefined {
  const state = readState(error);
  if (!/^2[23]/.test(state ?? '') || !(error instanceof Error)) return undefined;
  const detail = 'detail' in error && typeof error.detail === 'string' ? `: ${error.detail}` : '.';
  return { message: error.message + detail, isTwin: state === '23505' };
}

/** Why a table can't be altered: 42 is a missing right or another kind of table, 54 a limit, 0A what is not supported. */
export function readAlterRefusal(error: unknown): string | undefined {
  return /^(42|54|0A)/.test(readState(error) ?? '') && error instanceof Error ? error.message : undefined;
}

/** The code of an error of the server. @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
function readState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined;
}

/** Errors of the server and of the way to it as those of a sink; all others as they are. */
function explainError(error: unknown, where: string): unknown {
  if (SluiceError.is(error) || !(error instanceof Error)) return error;
  const state = readState(error);
  if (state === undefined && !isFromDriver(error)) return error;
  const code = state ?? driverCode(error);
  const isTemporary = state === undefined || serverFaults.test(state);
  return new SinkError(`${where}: ${explainState(state, error)}`, { details: { database: where, code, isTemporary } });
}

/** The code of a fault of the socket. The driver's own errors have none. */
function driverCode(error: Error): string | undefined {
  if (error.message.startsWith('SASL')) return '28P01';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (/timeout expired/i.test(error.message)) return 'ETIMEDOUT';
  return /terminated|closed|not queryable/i.test(error.message) ? 'ECONNRESET' : undefined;
}

/** Why the server runs no transaction now, if it may run the same one later. */
export function findOutage(error: unknown, hasWorked: boolean): DatabaseOutage | undefined {
  if (!SluiceError.is(error, 'sink')) return undefined;
  const { code } = error.details;
  if (typeof code !== 'string') return undefined;
  if (socketCodes.test(code) && !/^E(ACCES|PERM)$/.test(code))
    return { cause: causeOf({ code: 'network', details: { platformCode: code } }) };
  const causeIn = (causes: typeof outages): string | undefined =>
    causes.find(([states]) => code.startsWith(states))?.[1];
  const cause = causeIn(outages);
  if (cause !== undefined) return { cause, isConnected: /^(40|55)/.test(code) };
  const later = hasWorked ? causeIn(laterOutages) : undefined;
  return later === undefined ? undefined : { cause: later };
}

/** What the server says of itself, and not of rows or of whoever connects: by the start of a code, the longest ones first. */
const outages: readonly (readonly [states: string, cause: string])[] = [
  ['53300', 'too many connections'],
  ['53100', 'disk of the server full'],
  ['57P03', 'server not ready'],
  ['55P03', 'locked by another transaction'],
  ['40001', 'conflict with another transaction'],
  ['40P01', 'conflict with another transaction'],
  ['57P0', 'server shut down'],
  ['53', 'server out of resources'],
  ['08', 'connection lost'],
];

/** What is a wrong setting at first, and a server that was changed or replaced later. */
const laterOutages: typeof outages = [
  ['25006', 'server is read-only'],
  ['28', 'user or password refused'],
  ['3D000', 'database not there'],
];

/** What the server says of connections, users, rights, room, locks, shutdowns and its disk, and not of rows. */
const serverFaults = /^(08|25006|28|40|42501|53|55P03|57|58)/;

function explainState(state: string | undefined, error: Error): string {
  const { message } = error;
  switch (state) {
    case '3D000':
    case '3F000':
      return `${message}. Create it, or name another one.`;
    case '22P05':
      return `the encoding of the database lacks a character: ${message}. Create a database with ENCODING 'UTF8', or change the value with pipePages(map(…)).`;
    case '25006':
      return `nothing can be written here: ${message}. Use the primary server, and a user that may write.`;
    case '53300':
      return `the server takes no more connections: ${message}. Try again later, or raise that limit.`;
    case '28P01':
    case '28000':
      return `the server refused the user or the password: ${message}. Give the password in PGPASSWORD or a file.`;
    case '42501':
      return `the user lacks a right: ${message}. Grant it (CREATE on the schema, and all on the table), or use another user.`;
    case '53100':
      return 'the disk of the server is full. Make room, then run it again: what was committed is kept.';
    case '57014':
      return `the server ended a statement: ${message}. Raise statement_timeout for this user, then run it again.`;
    case '55P03':
      return 'somebody holds a lock on the table. End that transaction, then run it again: what was committed is kept.';
    case undefined:
      if (message.startsWith('SASL')) return 'the server wants a password. Give it in PGPASSWORD or a file.';
      // An error of several addresses has no message of its own.
      return `the server can't be reached (${message || ('code' in error && String(error.code))}).`;
    default:
      return `${message} (${state}).`;
  }
}
