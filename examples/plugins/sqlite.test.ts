// The suite that all sinks of Sluice pass. After `npm start`: cd examples && npx tsx plugins/sqlite.test.ts
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseSync } from '@photostructure/sqlite';
import { testSink } from '@sluice/testing';
import { sqliteRows } from './sqlite.js';

testSink({
  test,
  factory: () => {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-'));
    const path = join(folder, 'rows.db');
    return {
      sink: () => sqliteRows(path),
      rows: () => {
        const db = new DatabaseSync(path);
        const rows = db.prepare('SELECT * FROM rows ORDER BY rowid').all();
        db.close();
        return rows;
      },
      dispose: () => rmSync(folder, { recursive: true }),
    };
  },
});
