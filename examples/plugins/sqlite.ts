// A sink and its plugin in one file: rows in a SQLite table, each exactly once. See docs/guides/writeSink.md.
import { resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite'; // from Node 22.13 on, 'node:sqlite' is the same
import { CheckpointError, definePlugin, SinkError, type Sink } from '@sluice/core';

export const sqlite = ({ path }: { readonly path: string }): Sink<object> => ({
  ...{ name: 'sqlite', target: path, identity: null, delivery: 'exactly-once' },
  open: async ({ schema, resumeAt, restart }) => {
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'); // a commit survives a power cut, too
    const columns = schema?.columns ?? [];
    if (restart) db.exec('DROP TABLE IF EXISTS rows');
    db.exec(`CREATE TABLE IF NOT EXISTS rows (${columns.map((name) => `"${name}"`).join()})`);

    const last = async () => Number(db.prepare('SELECT max(rowid) AS last FROM rows').get()?.last);
    const [position, found] = [Number(resumeAt?.sinkPosition ?? 0), await last()];
    if (found < position) throw new CheckpointError(`${path} has lost rows: start over with restart.`);
    if (found > 0 && !resumeAt) throw new SinkError(`${path} has rows: name another file, or start over with restart.`);
    db.prepare('DELETE FROM rows WHERE rowid > ?').run(position); // the source emits them again

    const fields = columns.map((name) => `value ->> '${name}'`).join();
    const insert = db.prepare(`INSERT INTO rows SELECT ${fields} FROM json_each(?) ORDER BY key`);
    const close = async () => (db.close(), { target: path });
    return {
      write: async ({ items }) => void insert.run(JSON.stringify(items)), // one statement is one transaction
      ...{ start: position, flush: last, seal: last, close, suspend: close },
      abort: async (_reason, { isResumable }) => {
        if (!isResumable) db.exec('DROP TABLE rows');
        db.close();
      },
    };
  },
});

export default definePlugin({
  name: 'sqlite',
  sinks: { sqlite: (file, { folder }) => sqlite({ path: resolve(folder, file) }) }, // --to sqlite:FILE
});
