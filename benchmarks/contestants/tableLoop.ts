// The bare driver: bound statements or COPY, 20 pages a transaction, while the next page arrives.
import { rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import axios from 'axios';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { createAdapter } from '../../packages/core/src/http/adapter/undiciAdapter.js';
import { apiKey, cellsOf, columns, type HoldingsPage, type Job } from './contestant.js';
import { readAhead } from './readAhead.js';

const pagesOfCommit = 20;

export async function exportHoldings(job: Job): Promise<number> {
  const adapter = createAdapter({ connectTimeout: 10_000, maxBodyBytes: 32 * 1024 * 1024 });
  const api = axios.create({
    adapter: async (config) => {
      const headers = { ...config.headers.toJSON(true), 'x-api-key': apiKey };
      const { status, body } = await adapter.send({ url: config.url ?? '', method: 'GET', headers });
      return { status, statusText: '', headers: {}, data: body.text, config };
    },
  });
  const pages = readAhead(job, async (path) => (await api.get<HoldingsPage>(job.url + path)).data);
  const rows = job.format === 'postgres' ? await copied(job, pages) : await inserted(job, pages);
  await adapter.close();
  return rows;
}

async function inserted({ path }: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  rmSync(path, { force: true });
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(`CREATE TABLE rows (${columns.map((name) => `${name} TEXT`).join()})`);
  const insert = db.prepare(`INSERT INTO rows VALUES (${columns.map(() => '?').join()})`);
  const rows = await inCommits(pages, (batch) => {
    db.exec('BEGIN');
    for (const row of batch) insert.run(...cellsOf(row));
    db.exec('COMMIT');
    return Promise.resolve();
  });
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = delete');
  db.close();
  return rows;
}

async function copied({ database }: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query(`DROP TABLE IF EXISTS bare; CREATE TABLE bare (${columns.map((name) => `${name} text`).join()})`);
  const rows = await inCommits(pages, async (batch) => {
    await client.query('BEGIN');
    const text = batch.map((row) => `${cellsOf(row).map(escaped).join('\t')}\n`).join('');
    await pipeline(Readable.from([Buffer.from(text)]), client.query(copyStreams.from('COPY bare FROM STDIN')));
    await client.query('COMMIT');
  });
  await client.end();
  return rows;
}

type Rows = HoldingsPage['result'];

async function inCommits(pages: AsyncIterable<HoldingsPage>, commit: (rows: Rows) => Promise<void>): Promise<number> {
  let [rows, count]: [Record<string, unknown>[], number] = [[], 0];
  let waiting = 0;
  for await (const { result } of pages) {
    rows.push(...result);
    count += result.length;
    waiting += 1;
    if (waiting < pagesOfCommit) continue;
    await commit(rows);
    [rows, waiting] = [[], 0];
  }
  if (rows.length > 0) await commit(rows);
  return count;
}

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\uFFFD',
};

function escaped(text: string): string {
  return text.replace(/[\\\t\n\r\0]/g, (found) => escapes[found] ?? found);
}
