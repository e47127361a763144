import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, LockError } from '@sluice/core';
import type { Release } from '@sluice/core/kit';
import {
  quote,
  quoteTable,
  type Connection,
  type Database,
  type Session,
  type TableHolder,
  type TableName,
} from '../sql/database.js';
import { findOutage, openPostgres, readAlterRefusal, readRefusal, type OpenOptions } from './connection.js';

/** Where a database of PostgreSQL is. */
export interface PostgresPlace {
  /** Where the database is, as `postgres://user@host:5432/database`. */
  readonly url: string;
  /** Default: that of the URL, then `PGPASSWORD`. */
  readonly password?: string | undefined;
  /** Ends the connection that holds the table, and takes it over. Default `false`. */
  readonly breakLock?: boolean | undefined;
}

export const placeNames = { url: 'text', password: true, breakLock: true } as const satisfies Readonly<
  Record<keyof PostgresPlace, 'text' | true>
>;

/**
 * What the sinks need to know of PostgreSQL.
 *
 * @throws ConfigError if the URL is not one of PostgreSQL.
 */
export function postgresDatabase(
  { url, password, breakLock = false }: PostgresPlace,
  options?: OpenOptions,
): { readonly database: Database; readonly where: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol))
    throw new ConfigError('The url of the database begins with postgres://, as postgres://user@host/database.', {
      option: 'url',
    });
  // The driver would drop both silently.
  const dropped = parsed.hash !== '' ? 'a #' : parsed.searchParams.has('schema') ? 'a parameter schema' : undefined;
  if (dropped !== undefined)
    throw new ConfigError(
      `The url of the database has ${dropped}, which it does not take: name the table apart, as TABLE or SCHEMA.TABLE.`,
      { option: 'url' },
    );
  const where = parsed.host + parsed.pathname;
  // Within the URL, since the driver prefers it to an option, even if it has none.
  if (password !== undefined) parsed.searchParams.set('password', password);
  const config = { connectionString: parsed.href };
  const database: Database = {
    name: 'postgres',
    connect: (signal) => openPostgres(config, where, signal, options),
    lock: (connection, table, signal, isShared = false) =>
      lockTable(connection, table, { signal, breakLock, isShared }),
    findOutage,
    async holder(session, table) {
      const found = await findHolder(session, lockName(table));
      return found && describeHolder(found);
    },
    async lockDefinitions(session) {
      await session.rows('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', 'sluice');
    },
    findNameFault,
    foldName: (name) => name,
    hasSchemas: true,
    withSchema,
    types,
    timestamp: formatTimestamp,
    readRefusal: readRefusal,
    readAlterRefusal,
    exactCollation: '"C"',
    allowSwaps: 'make the constraint DEFERRABLE, or let one of its columns be null',
    fireDeferred: 'SET CONSTRAINTS ALL IMMEDIATE',
    stagesDeclaredTypes: true,
    cut: findCut,
    atFunction,
    async identify(session, table) {
      const [found] = await session.rows('SELECT to_regclass(?)::oid::text AS identity', quoteTable(table));
      return found && String(found['identity']);
    },
    rowId: 'ctid',
    order: { column: '_sluice_order', definition: 'bigint NOT NULL' },
  };
  return { database, where };
}

function findNameFault(name: string, of: 'column' | 'table'): string | undefined {
  const parts = of === 'table' ? name.split('.') : [name];
  if (name.includes('\0')) return 'has a NUL character';
  if (parts.some((part) => Buffer.byteLength(part) > longestName))
    return `is longer than the ${longestName} bytes that PostgreSQL keeps of one`;
  if (of === 'column' && /^(tableoid|ctid|[cx]min|[cx]max)$/.test(name)) return 'is that of a column of every table';
  if (of === 'column') return name === '' ? 'is empty' : undefined;
  // Rows in `pg_temp` would be gone with the connection.
  if (parts.length > 1 && name.startsWith('pg_')) return 'is in a schema that PostgreSQL keeps for itself';
  if (parts.includes('')) return 'has a dot with nothing before or after it. Write TABLE or SCHEMA.TABLE';
  if (parts.length > 2) return 'has more than one dot. Write TABLE or SCHEMA.TABLE';
  if (parts.some((part) => /^".*"$/s.test(part)))
    return 'is in quotation marks, which would be part of it. Leave them out: names are taken letter by letter';
  return undefined;
}

/** The schema of the table, or else that in which it would be created. A schema with a dot has no name that SQL takes. */
async function withSchema(session: Session, table: string): Promise<string> {
  if (table.includes('.')) return table;
  const [found] = await session.rows(
    'SELECT coalesce((SELECT nspname FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE c.oid = to_regclass(?)), current_schema()) AS schema',
    quoteTable(table),
  );
  const schema = found?.['schema'];
  return typeof schema === 'string' && !schema.includes('.') ? `${schema}.${table}` : table;
}

/** In bytes: it cuts longer names silently. */
const longestName = 63;

/** A column of a type that fits holds a value unchanged, or refuses it: `numeric(9,2)` rounds, `char(9)` pads. */
const types: Database['types'] = {
  text: { name: 'text', fits: /^(text|citext|character varying(\(\d+\))?)$/ },
  integer: { name: 'numeric', fits: /^(numeric(\(\d+,0\))?|bigint|integer|smallint|text)$/ },
  number: { name: 'numeric', fits: /^(numeric|text)$/ },
  boolean: { name: 'boolean', fits: /^boolean$/ },
  timestamp: { name: 'timestamptz', fits: /^timestamp with time zone$/ },
  json: { name: 'json', fits: /^(jsonb?|text)$/ },
  generation: { name: 'bigint', fits: /^(bigint|integer)$/ },
};

/** A history knows nothing of the time before the first poll that it has. */
const atFunction: NonNullable<Database['atFunction']> = ({ table, at, polls }) => {
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const signature = `${quoteTable(at)}(timestamptz)`;
  const name = literal(table.given);
  const body = `
    DECLARE first timestamptz := (SELECT min("at") FROM ${quoteTable(polls)});
    BEGIN
      IF ($1 >= first) IS NOT TRUE THEN
        RAISE EXCEPTION 'The history of % begins at %, and does not know the rows of %.', ${name}, first, $1;
      END IF;
      RETURN QUERY SELECT * FROM ${quoteTable(table.full)} WHERE _valid_from <= $1 AND (_valid_to IS NULL OR _valid_to > $1);
    END`;
  return {
    find: `SELECT 1 AS found WHERE to_regprocedure(${literal(signature)}) IS NOT NULL`,
    create: `CREATE FUNCTION ${signature} RETURNS SETOF ${quoteTable(table.full)} LANGUAGE plpgsql STABLE AS ${literal(body)}`,
  };
};

/** `varchar(9)` would cut blanks at the end of a longer text. */
function findCut(name: string, declared: string): string | undefined {
  const [, length] = /^character varying\((\d+)\)$/.exec(declared) ?? [];
  return length === undefined ? undefined : `char_length(${quote(name)}) > ${length}`;
}

/** In UTC, in the only form whose years it takes all: the same text for the same time. */
function formatTimestamp(micros: bigint): string | undefined {
  const sinceSecond = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const date = new Date(Number((micros - sinceSecond) / 1_000n));
  const year = date.getUTCFullYear();
  if (year < oldestYear) return undefined;
  const digits = String(year > 0 ? year : 1 - year).padStart(4, '0');
  const [, rest = ''] = /(-\d\d-\d\dT\d\d:\d\d:\d\d)\.000Z$/.exec(date.toISOString()) ?? [];
  const fraction = String(sinceSecond).padStart(6, '0').replace(/000$/, '');
  return `${digits}${rest}.${fraction}Z${year > 0 ? '' : ' BC'}`;
}

/** 4713 BC begins in November there; the year 0 is 1 BC. */
const oldestYear = -4_711;

/** Ms that a lock is waited for: the server may not have noticed yet that its holder is gone. */
const lockPauses = [100, 400, 1_500];

interface LockOptions {
  readonly signal: AbortSignal;
  readonly breakLock: boolean;
  readonly isShared: boolean;
}

/** An advisory lock, which ends with its connection; of a pooler's, with its transaction. */
async function lockTable(
  connection: Connection,
  table: TableName,
  { signal, breakLock, isShared }: LockOptions,
): Promise<Release> {
  const name = lockName(table);
  const lock = `pg_try_advisory_${connection.isPooled ? 'xact_' : ''}lock${isShared ? '_shared' : ''}`;
  for (const pause of [...lockPauses, undefined]) {
    const isLocked = await connection.transaction(async (session) => {
      const [found] = await session.rows(`SELECT ${lock}(hashtextextended(?, 0)) AS locked`, name);
      return found?.['locked'] === true;
    });
    if (isLocked) return () => Promise.resolve();
    const holder = await connection.transaction((session) => findHolder(session, name));
    if (breakLock && holder && isOurs(holder))
      await connection.transaction((session) =>
        session.rows(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ?::int AND application_name = ?',
          String(holder['pid']),
          String(holder['application_name']),
        ),
      );
    else if (pause === undefined) throw lockedBy(table.given, holder);
    await delay(pause ?? 0, undefined, { signal });
  }
  throw lockedBy(table.given, undefined);
}

function lockName({ full }: TableName): string {
  return `sluice ${full}`;
}

/** A connection has the name of its process. */
const ownName = /^sluice (\d+)$/;

function isOurs({ application_name: name }: Holder): boolean {
  return ownName.test(String(name));
}

function describeHolder(holder: Holder): TableHolder {
  const [, pid] = ownName.exec(String(holder['application_name'])) ?? [];
  const host = describeHost(holder);
  return { ...(pid !== undefined && { pid: Number(pid) }), ...(host !== undefined && { host }), isRunning: true };
}

/** The address of the client; `undefined` if only other users may know it. */
function describeHost({ client_addr: address, client_port: port }: Holder): string | undefined {
  if (typeof address === 'string') return address;
  // A socket of the file system has this port.
  return Number(port) === -1 ? 'the machine of the server' : undefined;
}

type Holder = Readonly<Record<string, unknown>>;

async function findHolder(session: Session, name: string): Promise<Holder | undefined> {
  const [holder] = await session.rows(
    `SELECT a.pid, a.application_name, a.client_addr, a.client_port, l.mode = 'ShareLock' AS shared FROM pg_locks l JOIN pg_stat_activity a USING (pid)
     WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     AND (l.classid::bigint << 32) + l.objid::bigint = hashtextextended(?, 0)`,
    name,
  );
  return holder;
}

function lockedBy(table: string, holder: Holder | undefined): LockError {
  const host = holder && describeHost(holder);
  const from = host === undefined ? '' : ` from ${host}`;
  if (holder && !isOurs(holder))
    return new LockError(
      `The table ${table} is locked by ${String(holder['application_name']) || 'a program'}${from} (backend ${String(holder['pid'])}), which is not Sluice: a session of a pooler may have kept the lock of an earlier run. End that session, e.g. with RECONNECT in the console of PgBouncer.`,
      { table },
    );
  const whose = holder?.['shared'] === true ? 'a run of several workers, e.g. ' : '';
  const who = holder
    ? ` by ${whose}${String(holder['application_name'])}${from} (backend ${String(holder['pid'])})`
    : '';
  return new LockError(`The table ${table} is being written${who}.`, { table }, [
    { kind: 'allow', option: 'breakLock' },
  ]);
}
