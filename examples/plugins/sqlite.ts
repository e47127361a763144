// A sink and its plugin, for --to sqlite:FILE: rows and checkpoint in one transaction. See docs/guides/writeSink.md.
import { resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite'; // from Node 22.16 on, 'node:sqlite' is the same
import { CheckpointError, definePlugin, SinkError, type Sink } from '@sluice/core';
import { recordState } from '@sluice/core/kit';
import { fileState } from '@sluice/core/node';

export const sqliteRows = (path: string): Sink<object> => {
  let db = new DatabaseSync(':memory:'); // until the file is locked
  const waiting: (() => unknown)[] = [];
  const run = (sql: string, ...values: unknown[]) => db.prepare(sql).all(...values);
  const last = () => Number(run('SELECT max(rowid) AS last FROM rows')[0]?.last);
  const state = recordState({
    open: async (signal) => {
      db = new DatabaseSync(path);
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS saved (list, record)');
      const release = await fileState(`${path}.lock`).lock(signal); // no other process writes
      return async () => (db.close(), release());
    },
    async *read(list) {
      const select = 'SELECT record FROM saved WHERE list = ? ORDER BY rowid';
      for (const { record } of run(select, list)) yield JSON.parse(String(record));
    },
    write: async (list, records, { isReplaced }) => {
      run('BEGIN IMMEDIATE');
      try {
        for (const insertRow of waiting.splice(0)) insertRow();
        if (isReplaced) run('DELETE FROM saved WHERE list = ?', list);
        for (const each of records) run('INSERT INTO saved VALUES (?, ?)', list, JSON.stringify(each));
        run('COMMIT');
      } finally {
        if (db.isTransaction) run('ROLLBACK');
      }
    },
  });
  return {
    name: 'sqlite',
    target: path,
    identity: null,
    delivery: 'exactly-once',
    state,
    open: async ({ schema: { columns } = { columns: [] }, resumeAt, restart }) => {
      if (restart) run('DROP TABLE IF EXISTS rows');
      run(`CREATE TABLE IF NOT EXISTS rows (${columns.map((name) => `"${name}"`).join()})`);
      const start = Number(resumeAt?.sinkPosition ?? 0);
      if (last() < start) throw new CheckpointError(`${path} has lost rows: start over with restart.`);
      if (last() > 0 && !resumeAt) throw new SinkError(`${path} has rows: name another, or start over with restart.`);
      run('DELETE FROM rows WHERE rowid > ?', start); // the source emits them again
      const insert = db.prepare(`INSERT INTO rows VALUES (${columns.map(() => "? ->> '$'").join()})`);
      const valuesOf = (row: object) => columns.map((name) => JSON.stringify(Object(row)[name] ?? null));
      const flush = async () => last() + waiting.length;
      const close = async () => ({ target: path });
      return {
        start,
        flush,
        seal: flush,
        close,
        suspend: close,
        write: async ({ items }) => void waiting.push(...items.map((row) => () => insert.run(...valuesOf(row)))),
        abort: async (_reason, { isResumable }) => {
          waiting.splice(0);
          if (!isResumable) run('DROP TABLE rows');
        },
      };
    },
  };
};

export default definePlugin({ name: 'sqlite', sinks: { sqlite: (file, at) => sqliteRows(resolve(at.folder, file)) } });
