import { DatabaseSync } from '@photostructure/sqlite';

/** The rows of a query of a SQLite file, without the names of its columns. */
export function readTable(path: string, sql: string): unknown[][] {
  const db = new DatabaseSync(path);
  try {
    return db
      .prepare(sql)
      .all()
      .map((row: object): unknown[] => Object.values(row));
  } finally {
    db.close();
  }
}
