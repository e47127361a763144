import { DuckDBInstance } from '@duckdb/node-api';

/** A table as DuckDB reads it: the types of its columns, and its rows in their order. */
export interface DuckTable {
  readonly types: Readonly<Record<string, string>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** The result of a query in DuckDB. Numbers beyond 2^53 and timestamps are text. */
export async function queryDuck(sql: string): Promise<DuckTable> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const result = await connection.runAndReadAll(sql);
    const types = result.columnTypes().map((type, nth) => [result.columnName(nth), type.alias ?? String(type)]);
    return { types: Object.fromEntries(types), rows: result.getRowObjectsJson() };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** A Parquet file as DuckDB reads it. */
export function readWithDuck(path: string): Promise<DuckTable> {
  return queryDuck(`select * from read_parquet('${path}')`);
}
