import { DatabaseSync } from '@photostructure/sqlite';

/** A version of a stream: times are minutes after `start`. */
export interface Version {
  readonly id: string;
  readonly status: string;
  readonly from: number;
  readonly to?: number;
  readonly ended?: 'changed' | 'removed';
  readonly generation: number;
  readonly fields?: Readonly<Record<string, string>>;
}

export interface MadeHistory {
  readonly versions: readonly Version[];
  /** Minutes. */
  readonly polls: readonly number[];
  readonly key?: readonly string[];
  /** The source that is recorded with it. Default: that of streams. */
  readonly source?: string;
}

const start = Date.parse('2026-03-01T12:00:00.000Z');

export function timeAt(minutes: number): string {
  return new Date(start + minutes * 60_000).toISOString();
}

const columns = ['id', 'status', 'statusMessage', 'tag', 'demo', 'chainIds'];

/** The statements that make a history as a watch writes it, in SQLite or PostgreSQL. */
export function historySql(
  kind: 'sqlite' | 'postgres',
  table: string,
  { versions, polls, key, source = 'streams.list' }: MadeHistory,
): string {
  const isSqlite = kind === 'sqlite';
  const time = isSqlite ? 'TEXT' : 'timestamptz';
  const json = isSqlite ? 'TEXT' : 'json';
  const boolean = isSqlite ? 'INTEGER' : 'boolean';
  const text = (value: string | undefined): string =>
    value === undefined ? 'NULL' : `'${value.replaceAll("'", "''")}'`;
  const truth = (value: boolean): string => (isSqlite ? String(Number(value)) : String(value));
  const types: Readonly<Record<string, string>> = { demo: boolean, chainIds: json };
  const declared = columns.map((name) => `"${name}" ${types[name] ?? (isSqlite ? 'TEXT' : 'text')}`);
  const keyColumns = key ?? ['_key'];
  const rows = versions.map(({ id, status, from, to, ended, generation, fields = {} }) => {
    const values = [id, status, fields['statusMessage'], fields['tag']].map(text);
    const own = [text(timeAt(from)), text(to === undefined ? undefined : timeAt(to)), text(ended), String(generation)];
    return `(${[...values, truth(id === '1'), text('["0x1"]'), ...(key ? [] : [text(id)]), ...own].join(', ')})`;
  });
  const record = { source, kinds: { demo: 'boolean', chainIds: 'json' }, ignored: [], reserved: '#"' };
  return `
    CREATE TABLE IF NOT EXISTS _sluice (target text NOT NULL, name text NOT NULL, nth bigint NOT NULL, record text NOT NULL, PRIMARY KEY (target, name, nth));
    INSERT INTO _sluice VALUES ('${table}', 'record/rows', 0, ${text(JSON.stringify(record))});
    CREATE TABLE "${table}" (${[...declared, ...(key ? [] : ['"_key" text'])].join(', ')}, "_valid_from" ${time}, "_valid_to" ${time}, "_ended" text, "_generation" integer, UNIQUE (${[...keyColumns, '_valid_from'].map((name) => `"${name}"`).join(', ')}));
    CREATE TABLE "${table}_polls" ("generation" integer PRIMARY KEY, "at" ${time}, "complete" ${boolean});
    ${rows.length === 0 ? '' : `INSERT INTO "${table}" VALUES ${rows.join(', ')};`}
    ${polls.length === 0 ? '' : `INSERT INTO "${table}_polls" VALUES ${polls.map((at, nth) => `(${String(nth + 1)}, ${text(timeAt(at))}, ${truth(true)})`).join(', ')};`}`;
}

/** Makes a history in a file of SQLite. */
export function makeHistory(path: string, table: string, made: MadeHistory): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(historySql('sqlite', table, made));
  } finally {
    db.close();
  }
}
