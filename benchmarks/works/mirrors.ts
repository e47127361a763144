import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { createSource, exportTo, watch, type Change, type StateStore } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { postgresMirror } from '@sluice/tables/postgres';
import { sqliteMirror, type Mirror } from '@sluice/tables/sqlite';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { postgresPrograms, startPostgres } from '../../test/kit/postgresServer.js';
import { figureOf, type Figure } from '../figures/figure.js';
import type { Work } from './work.js';

/** Rows of the first generation, and rows that the next one changes. */
const rowsOfFirst = 50_000;
const changed = 5_000;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

/** A mirror, and a bare loop that writes the same changes with one statement each, in one transaction. */
interface Contest {
  readonly mirror: () => Mirror<Row>;
  readonly bare: (changes: readonly Change<Row>[]) => Promise<void>;
}

/** Generations of a mirror, against a bare loop over the same driver that follows the same watch. */
export const mirrors: Work = async ({ rounds, folder }) => {
  const server = postgresPrograms === undefined ? undefined : await startPostgres();
  try {
    const figures: Figure[] = [];
    for (const name of ['SQLite', ...(server ? ['PostgreSQL'] : [])]) {
      const [first, later]: [number[], number[]] = [[], []];
      // The first round warms up.
      for (let round = 0; round <= rounds; round += 1) {
        const contest =
          name === 'SQLite' ? contestIn(join(folder, `mirror${round}.sqlite`)) : await contestAt(server?.url ?? '');
        const state = fileState(join(folder, `${name}${round}.state`));
        const compared = async (rows: readonly Row[]): Promise<number> => {
          const bare = await msOf(async () => {
            const changes: Change<Row>[] = [];
            for await (const change of watched(rows, state)) changes.push(change);
            await contest.bare(changes);
          });
          return bare / (await msOf(() => mirrored(rows, contest.mirror())));
        };
        const rows = Array.from({ length: rowsOfFirst }, (_, nth) => rowOf(nth, 'active'));
        const next = rows.map((row, nth) => (nth % (rowsOfFirst / changed) === 0 ? rowOf(nth, 'paused') : row));
        const ratios = [await compared(rows), await compared(next)] as const;
        if (round === 0) continue;
        first.push(ratios[0]);
        later.push(ratios[1]);
      }
      const against = 'the same watch, and a bare loop over the same driver';
      const [all, some] = [rowsOfFirst, changed].map((count) => count.toLocaleString('en'));
      figures.push(
        figureOf({ work: `rows/s of a mirror's first ${all} rows in ${name}`, against, unit: 'x' }, first),
        figureOf({ work: `changes/s of ${some} of a mirror's ${all} rows in ${name}`, against, unit: 'x' }, later),
      );
    }
    return figures;
  } finally {
    await server?.close();
  }
};

function rowOf(nth: number, state: string): Row {
  return { id: `id ${nth}`, name: `A stream of some name, with the number ${nth}`.repeat(3), state };
}

async function msOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function watched(rows: readonly Row[], state: StateStore) {
  const source = createSource<Row>({
    name: 'rows',
    identity: null,
    schema: { columns: ['id', 'name', 'state'], key: ({ id }) => id },
    fetch: () => Promise.resolve({ rows, next: 'end' }),
  });
  return watch(source, { every: 1_000, polls: 1, state });
}

async function mirrored(rows: readonly Row[], mirror: Mirror<Row>): Promise<void> {
  await exportTo(watched(rows, mirror.state), mirror).run();
}

const table = { table: 'rows', key: ['id'] };
const definition = '(id text NOT NULL UNIQUE, name text, state text)';

function contestIn(path: string): Contest {
  return {
    mirror: () => sqliteMirror<Row>({ path, ...table }),
    bare: (changes) => {
      const db = new DatabaseSync(`${path}.bare`);
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      db.exec(`CREATE TABLE IF NOT EXISTS bare ${definition}; BEGIN`);
      const added = db.prepare('INSERT INTO bare VALUES (?, ?, ?)');
      const updated = db.prepare('UPDATE bare SET name = ?, state = ? WHERE id = ?');
      for (const change of changes) {
        if (change.type === 'removed') throw new Error('Nothing is removed.');
        const { id, name, state } = change.after;
        if (change.type === 'changed') updated.run(name, state, id);
        else added.run(id, name, state);
      }
      db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = delete');
      db.close();
      return Promise.resolve();
    },
  };
}

async function contestAt(url: string): Promise<Contest> {
  const connected = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  };
  const client = await connected();
  await client.query(`DROP TABLE IF EXISTS rows, bare, _sluice; CREATE TABLE bare ${definition}`);
  await client.end();
  return {
    mirror: () => postgresMirror<Row>({ url, ...table }),
    bare: async (changes) => {
      const client = await connected();
      await client.query('BEGIN');
      let lines = '';
      for (const change of changes) {
        if (change.type === 'removed') throw new Error('Nothing is removed.');
        const { id, name, state } = change.after;
        if (change.type === 'changed')
          await client.query('UPDATE bare SET name = $1, state = $2 WHERE id = $3', [name, state, id]);
        else lines += `${id}\t${name}\t${state}\n`;
      }
      if (lines !== '')
        await pipeline(Readable.from([Buffer.from(lines)]), client.query(copyStreams.from('COPY bare FROM STDIN')));
      await client.query('COMMIT');
      await client.end();
    },
  };
}
