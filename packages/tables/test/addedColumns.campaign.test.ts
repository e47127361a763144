// @module-tag slow
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import {
  createSource,
  exportTo,
  systemClock,
  watch,
  type ColumnType,
  type ExportOptions,
  type Sink,
} from '@sluice/core';
import { expect, test, vi } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { Random } from '../../../test/kit/random.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import { postgres, postgresMirror } from '../src/postgres.js';
import { sqlite, sqliteMirror, type Mirror, type MirrorOptions, type TableOptions } from '../src/sqlite.js';
import { startProxy, type Cut } from './cuttingProxy.js';
import { openEmptyPostgres, sqliteAt, type TestDatabase, type TextRow } from './databases.js';

type Row = Readonly<Record<string, unknown>>;

/** What the API lists of each row from the start. A definition begins with some of it, and gains more. */
const fields: Readonly<Record<string, ColumnType>> = { a: 'text', b: 'integer', c: 'json', d: 'text', e: 'integer' };

const kinds = [
  'fail',
  'append',
  'merge by columns',
  'merge by the source',
  'replace by columns',
  'replace',
  'history',
  'incremental merge',
  'incremental append',
  'mirror',
  'mirror of removed rows, too',
  'history of a watch',
] as const;
type Kind = (typeof kinds)[number];

const optionsOf: Readonly<Record<Kind, Partial<TableOptions> | MirrorOptions>> = {
  fail: {},
  append: { mode: 'append' },
  'merge by columns': { mode: 'merge', key: ['id'] },
  'merge by the source': { mode: 'merge' },
  'replace by columns': { mode: 'replace', key: ['id'], maxRemoved: '100%' },
  replace: { mode: 'replace', maxRemoved: '100%' },
  history: { mode: 'history', key: ['id'], maxRemoved: '100%' },
  'incremental merge': { mode: 'merge', key: ['id'] },
  'incremental append': { mode: 'append' },
  mirror: { table: 'items', key: ['id'] },
  'mirror of removed rows, too': { table: 'items', key: ['id'], deletedAt: true },
  'history of a watch': { table: 'items', key: ['id'], mode: 'history' },
};
const isWatched = (kind: Kind): boolean => kind.startsWith('mirror') || kind.endsWith('watch');

/** When a run is killed: before or after its nth COMMIT, or at a page. */
type Fate =
  | { readonly how: 'commit'; readonly nth: number; readonly cut: Exclude<Cut, 'none'> }
  | { readonly how: 'page'; readonly nth: number };

/** A database whose runs can be killed. */
interface Victim {
  readonly database: TestDatabase;
  /** Runs with sinks whose process is killed there: none of its statements is done from then on. */
  run<R>(fate: Fate | undefined, work: (sinks: Sinks) => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

interface Sinks {
  sink(options: TableOptions): Sink<Row>;
  mirror(options: MirrorOptions): Mirror<Row>;
}

function newSqlite(): Promise<Victim> {
  const path = join(temporaryFolder(), 'test.sqlite');
  const sinks: Sinks = {
    sink: (options) => sqlite<Row>({ path, ...options }),
    mirror: (options) => sqliteMirror<Row>({ path, ...options }),
  };
  return Promise.resolve({
    database: sqliteAt(path),
    async run(fate, work) {
      if (fate?.how !== 'commit') return work(sinks);
      let commits = 0;
      let isDead = false;
      const { exec } = DatabaseSync.prototype;
      const dying = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
        this: InstanceType<typeof DatabaseSync>,
        sql,
      ) {
        // What a killed process left undone is rolled back when somebody opens the file.
        if (isDead && sql !== 'ROLLBACK') throw new Error('killed');
        if (sql !== 'COMMIT' || (commits += 1) !== fate.nth) {
          exec.call(this, sql);
          return;
        }
        if (fate.cut === 'after the commit') exec.call(this, sql);
        isDead = true;
        throw new Error('killed');
      });
      try {
        return await work(sinks);
      } finally {
        dying.mockRestore();
      }
    },
    close: () => Promise.resolve(),
  });
}

async function newPostgres(database: TestDatabase & { readonly port: number; readonly url: string }): Promise<Victim> {
  for (const sql of ['DROP SCHEMA public CASCADE', 'CREATE SCHEMA public']) await database.query(sql);
  let fate: Fate | undefined;
  let commits = 0;
  const proxy = await startProxy(database.port, () => {
    commits += 1;
    if (fate?.how !== 'commit' || commits < fate.nth) return 'none';
    return commits === fate.nth ? fate.cut : 'before the commit';
  });
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const place = { url: url.href, retry: { for: 0 } };
  return {
    database,
    async run(next, work) {
      [fate, commits] = [next, 0];
      return work({
        sink: (options) => postgres<Row>({ ...place, ...options }),
        mirror: (options) => postgresMirror<Row>({ ...place, ...options }),
      });
    },
    close: () => proxy.close(),
  };
}

/** A listing whose rows change between nights, and whose definition gains columns at any time. */
class Line {
  readonly clock = new SkippingClock();
  readonly declared: string[];
  readonly warnings: string[] = [];
  rows: readonly Row[] = [];
  night = 0;
  #values = 0;
  readonly #undeclared: string[];
  readonly #random: Random;
  readonly #kind: Kind;

  constructor(kind: Kind, random: Random) {
    this.#kind = kind;
    this.#random = random;
    const names = random.shuffle(Object.keys(fields));
    const first = random.int(1, 3);
    this.declared = names.slice(0, first);
    this.#undeclared = names.slice(first);
  }

  grow(): void {
    const name = this.#undeclared.shift();
    if (name !== undefined) this.declared.push(name);
  }

  /** Some rows change, one may come, and one may go. */
  change(): void {
    const random = this.#random;
    const isGone = (): boolean => !this.#kind.startsWith('incremental') && random.chance(0.15);
    const left = this.rows.filter(() => !isGone());
    const known = new Map(left.map((row) => [row['id'], row]));
    const ids = Array.from({ length: random.int(1, 4) }, () => random.int(1, 8));
    for (const id of ids) known.set(id, this.#changed(id, known.get(id)));
    this.rows = [...known.values()];
  }

  #changed(id: number, before: Row = { id }): Row {
    const random = this.#random;
    // One field at least, so that a version of a history has something to differ in.
    const names = Object.keys(fields).filter((name) => !(name in before) || random.chance(0.4));
    const version = (this.#values += 1);
    const valueOf = (name: string): unknown => {
      if (random.chance(0.15)) return null;
      const type = fields[name];
      return type === 'integer' ? version : type === 'json' ? { v: version } : `${name}${version}`;
    };
    return { ...before, ...Object.fromEntries(names.map((name) => [name, valueOf(name)])), seq: version };
  }

  /** One run of the nightly command. */
  run(sinks: Sinks, onPage: (nth: number) => void): Promise<unknown> {
    const kind = this.#kind;
    const options: ExportOptions = {
      clock: { ...systemClock, now: () => this.clock.now() },
      commitEvery: 1,
      stopWithin: 0,
      onWarning: (message) => this.warnings.push(message),
      ...(kind.startsWith('incremental') && { incremental: true }),
    };
    const given = { table: 'items', schema: 'evolve', ...optionsOf[kind] } as const;
    if (!isWatched(kind)) return exportTo(this.#source(onPage), sinks.sink(given as TableOptions), options).run();
    const mirror = sinks.mirror(given as MirrorOptions);
    const watched = watch(this.#source(onPage), {
      every: 1_000,
      clock: this.clock,
      polls: 1,
      maxFailures: 0,
      confirmations: 1,
      acceptRemovals: true,
      holdAbove: 1,
      state: mirror.state,
    });
    return exportTo(watched, mirror, options).run();
  }

  #source(onPage: (nth: number) => void) {
    const { rows, declared } = this;
    let pages = 0;
    return createSource<Row>({
      name: 'items',
      // What is appended night after night is exported by other parameters.
      identity: this.#kind === 'append' ? this.night : null,
      schema: {
        columns: ['id', ...declared],
        types: { id: 'integer', ...Object.fromEntries(declared.map((name) => [name, fields[name]])) },
        key: ({ id }) => Number(id),
      },
      increment: {
        compare: (a, b) => Number(a) - Number(b),
        read: (value) => value,
        wanted: 'a number',
        mark: (latest) => latest,
      },
      fetch({ at, since }) {
        onPage((pages += 1));
        const from = Number(since?.from ?? 0);
        const nameOf = (row: Row): string => `${String(row['id'])} ${String(row['seq'])}`;
        const wanted = rows.filter((row) => Number(row['seq']) >= from && !since?.isKnown?.(nameOf(row)));
        const first = at && 'cursor' in at ? Number(at.cursor) : 0;
        const page = wanted.slice(first, first + 3);
        const seqs = page.map((row) => [nameOf(row), String(row['seq'])] as const);
        const latest = String(Math.max(from, ...seqs.map(([, seq]) => Number(seq))));
        return Promise.resolve({
          rows: page,
          next: first + 3 < wanted.length ? { cursor: String(first + 3) } : ('end' as const),
          increment: { at: 0, rows: seqs, latest },
        });
      },
    });
  }
}

const textOf = (value: unknown): string | null =>
  value === null || value === undefined
    ? null
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value as string);

/** Whether a row of the table has the values of a row of the API in some columns, and in no others anything else. */
function has(found: TextRow, row: Row, certain: readonly string[], possible = certain): boolean {
  return ['id', ...Object.keys(fields)].every((name) => {
    const value = found[name] ?? null;
    const isTheSame = value === textOf(row[name]);
    if (name === 'id' || certain.includes(name)) return isTheSame;
    return value === null || (possible.includes(name) && isTheSame);
  });
}

/** What the table has to have after each night. */
class Judge {
  readonly #kind: Kind;
  readonly #database: TestDatabase;
  /** By id: the row as it was written last, and the columns that it has, and may have. */
  readonly #known = new Map<unknown, { row: Row; certain: readonly string[]; possible: readonly string[] }>();
  readonly #appended: { row: Row; certain: readonly string[]; possible: readonly string[] }[] = [];
  /** Versions of each row: at least, and at most. */
  readonly #versions = new Map<unknown, readonly [min: number, max: number]>();
  #lastListed: readonly Row[] = [];
  #nights = 0;

  constructor(kind: Kind, database: TestDatabase) {
    this.#kind = kind;
    this.#database = database;
  }

  /** @param first the columns with which the night began */
  async check({ rows, declared }: Line, first: readonly string[]): Promise<void> {
    const kind = this.#kind;
    const found = await this.#database.query('SELECT * FROM items');
    const possible = [...declared];
    const isFirst = (this.#nights += 1) === 1;
    const columns = Object.keys(found[0] ?? {}).filter((name) => name in fields);
    // What was sealed before it gained a column is published without it.
    const wantedColumns = kind.endsWith('append') ? first : declared;
    if (kind !== 'fail' && found.length > 0) expect(columns).toEqual(expect.arrayContaining([...wantedColumns]));
    const before = new Map(this.#lastListed.map((row) => [row['id'], row]));
    const changed = rows.filter((row) => before.get(row['id'])?.['seq'] !== row['seq']);
    this.#lastListed = rows;
    if (kind === 'fail' ? isFirst : kind === 'append')
      for (const row of rows) this.#appended.push({ row, certain: first, possible });
    else if (kind === 'incremental append')
      for (const row of changed) this.#appended.push({ row, certain: first, possible });
    else if (kind === 'incremental merge')
      for (const row of changed) this.#known.set(row['id'], { row, certain: first, possible });
    else {
      if (!kind.startsWith('merge') && kind !== 'history' && !kind.endsWith('too')) this.#known.clear();
      for (const row of rows) this.#known.set(row['id'], { row, certain: possible, possible });
    }
    if (this.#appended.length > 0) {
      this.#checkBag(found);
      return;
    }
    const live = found.filter((row) => (row['_valid_to'] ?? row['_deleted_at'] ?? null) === null);
    const ids = new Set(live.map(({ id }) => id));
    expect(ids.size).toBe(live.length);
    // A row that one walk of a history lacks is there still; a removed row is not looked at.
    const wanted = kind === 'history' || kind.endsWith('too') ? rows : [...this.#known.values()].map(({ row }) => row);
    for (const { id } of wanted) expect(ids.has(textOf(id))).toBe(true);
    if (kind !== 'history') expect(live).toHaveLength(wanted.length);
    for (const one of live) {
      const known = this.#known.get(Number(one['id']));
      const isListed = rows.some(({ id }) => textOf(id) === one['id']);
      const certain = isListed || !kind.startsWith('history') ? known?.certain : [];
      expect({ kind, one, known, isRight: known && has(one, known.row, certain ?? [], known.possible) }).toMatchObject({
        isRight: true,
      });
    }
    if (kind.startsWith('history')) this.#checkVersions(found, before, rows, first, possible);
  }

  /** Each row once, in any order. */
  #checkBag(found: readonly TextRow[]): void {
    const left = [...found];
    for (const { row, certain, possible } of this.#appended) {
      const at = left.findIndex((one) => has(one, row, certain, possible));
      expect({ row, certain, isThere: at >= 0, left }).toMatchObject({ isThere: true });
      left.splice(at, 1);
    }
    expect(left).toEqual([]);
  }

  /** A column that is added begins no version; a value that changes does. */
  #checkVersions(
    found: readonly TextRow[],
    before: ReadonlyMap<unknown, Row>,
    rows: readonly Row[],
    first: readonly string[],
    last: readonly string[],
  ): void {
    const differs = (one: Row, other: Row, columns: readonly string[]): number =>
      Number(columns.some((name) => textOf(one[name]) !== textOf(other[name])));
    for (const row of rows) {
      const { id } = row;
      const [min, max] = this.#versions.get(id) ?? [0, 0];
      const was = before.get(id);
      // One that comes back may have been ended, or not.
      this.#versions.set(id, was ? [min + differs(was, row, first), max + differs(was, row, last)] : [min, max + 1]);
    }
    const counts = new Map<number, number>();
    for (const { id } of found) counts.set(Number(id), (counts.get(Number(id)) ?? 0) + 1);
    for (const [id, [min, max]] of this.#versions) {
      const count = counts.get(Number(id)) ?? 0;
      expect({ id, count, min, max, isRight: count >= min && count <= max }).toMatchObject({ isRight: true });
    }
  }
}

async function play(seed: string, kind: Kind, victim: Victim): Promise<number> {
  const random = new Random(seed);
  const line = new Line(kind, random);
  const judge = new Judge(kind, victim.database);
  let kills = 0;
  for (let nights = random.int(3, 5); nights > 0; nights -= 1) {
    line.night += 1;
    line.change();
    line.clock.time += 60_000;
    if (random.chance(0.4)) line.grow();
    const first = [...line.declared];
    for (let attempts = random.int(0, 2); attempts > 0; attempts -= 1) {
      const nth = random.int(1, 14);
      const fate: Fate = random.chance(0.8)
        ? { how: 'commit', nth, cut: random.chance(0.5) ? 'before the commit' : 'after the commit' }
        : { how: 'page', nth: random.int(1, 3) };
      await victim
        .run(fate, (sinks) =>
          line.run(sinks, (page) => {
            if (fate.how === 'page' && page === fate.nth) throw new Error('killed');
          }),
        )
        .catch(() => (kills += 1));
      line.clock.time += 1_000;
      if (random.chance(0.3)) line.grow();
    }
    // The line never stops.
    await victim.run(undefined, (sinks) => line.run(sinks, () => undefined));
    await judge.check(line, first);
  }
  const said = line.warnings.filter((warning) => warning.startsWith('Added the column'));
  expect(new Set(said).size).toBe(said.length);
  return kills;
}

/** Plays so many sequences, in each kind in turn. */
async function playAll(name: string, open: () => Promise<Victim>): Promise<void> {
  const cases = casesOf(250);
  let kills = 0;
  for (let nth = 0; nth < cases; nth += 1) {
    const kind = kinds[nth % kinds.length] ?? 'fail';
    const seed = `${name} ${nth}`;
    const victim = await open();
    kills += await play(seed, kind, victim)
      .catch((error: unknown) => {
        throw new Error(`${seed} (${kind}): ${String(error)}`, { cause: error });
      })
      .finally(() => victim.close());
  }
  expect(kills).toBeGreaterThan(cases / 2);
}

const title =
  'D11 columns that a definition gains, in random nights with kills: no value is lost, and the line never stops';
const limit = { timeout: 1_800_000 };

test(`${title} (SQLite)`, limit, () => playAll('SQLite', newSqlite));

test.runIf(postgresPrograms !== undefined)(`${title} (PostgreSQL)`, limit, async () => {
  const database = await openEmptyPostgres();
  await playAll('PostgreSQL', () => newPostgres(database));
});
