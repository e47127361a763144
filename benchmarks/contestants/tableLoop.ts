// The bare driver as fast as we can make it: bound statements or COPY, 5,000 rows a transaction, while the next page
// arrives. Columns have the types that Sluice gives them; the database checks values, if anybody does.
import { rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { columns, type HoldingsPage, type Job } from './contestant.js';
import { readAhead } from './readAhead.js';
import { adapterAxios } from './adapterAxios.js';

const pagesOfCommit = 50;

/** The types of PostgreSQL for columns that are not text. */
const types = new Map([
  ...['amount', 'property_version', 'last_transaction_version'].map((name) => [name, 'numeric'] as const),
  ['last_transaction_timestamp', 'timestamptz'],
  ['token_properties', 'json'],
]);
const texts = columns.slice(0, -1);

export async function exportHoldings(job: Job): Promise<number> {
  const { api, close } = adapterAxios();
  const pages = readAhead(job, async (path) => (await api.get<HoldingsPage>(job.url + path)).data);
  const rows = job.format === 'postgres' ? await copied(job, pages) : await inserted(job, pages);
  await close();
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
  const definitions = columns.map((name) => `${name} ${types.get(name) ?? 'text'}`);
  await client.query(`DROP TABLE IF EXISTS bare; CREATE TABLE bare (${definitions.join()})`);
  const rows = await inCommits(pages, async (batch) => {
    await client.query('BEGIN');
    let text = '';
    for (const row of batch) text += lineOf(row);
    await pipeline(Readable.from([Buffer.from(text)]), client.query(copyStreams.from('COPY bare FROM STDIN')));
    await client.query('COMMIT');
  });
  await client.end();
  return rows;
}

/** Text as it came, and the properties as JSON. */
function cellsOf(row: Record<string, unknown>): (string | null)[] {
  const cells = texts.map((name) => (row[name] as string | null | undefined) ?? null);
  const { token_properties: properties } = row;
  cells.push(properties === null || properties === undefined ? null : JSON.stringify(properties));
  return cells;
}

function lineOf(row: Record<string, unknown>): string {
  let line = '';
  for (const name of texts) line += `${escaped(row[name] as string | null | undefined)}\t`;
  const { token_properties: properties } = row;
  return `${line}${escaped(properties === null || properties === undefined ? null : JSON.stringify(properties))}\n`;
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

const special = /[\\\t\n\r\0]/;
const escapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

function escaped(text: string | null | undefined): string {
  if (text === null || text === undefined) return '\\N';
  if (!special.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replace(/[\t\n\r\0]/g, (found) => escapes[found] ?? found);
}
