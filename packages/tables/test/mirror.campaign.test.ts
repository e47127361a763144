// @module-tag slow
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { postgresPrograms, startPostgres } from '../../../test/kit/postgresServer.js';
import { Random } from '../../../test/kit/random.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import { postgresMirror, type Mirror, type MirrorOptions } from '../src/postgres.js';
import { startProxy } from './cuttingProxy.js';
import { openEmptyPostgres, sqliteAt, type TestDatabase } from './databases.js';
import type { Item } from './items.js';
import { mirrored, msOf } from './watched.js';

/** What tables have, and how many rounds that is worth. */
const kinds = [
  { kind: 'the rows', rounds: casesOf(60), options: {} },
  { kind: 'removed rows, too', rounds: casesOf(60), options: { deletedAt: true } },
  { kind: 'every version', rounds: casesOf(300), options: { mode: 'history' } },
] as const satisfies readonly { kind: string; rounds: number; options: Partial<MirrorOptions> }[];
type Kind = (typeof kinds)[number];

/** What a campaign does to one kind of database. */
interface Disturbed {
  /** The database as it is now. */
  readonly database: () => TestDatabase;
  readonly mirror: (options: Partial<MirrorOptions>) => Mirror<Item>;
  /** Disturbs a run, somehow; the run may end by it. */
  readonly disturb: () => Promise<void>;
  /** From now on, nothing is disturbed. */
  readonly calm: () => void;
}

/** A listing that changes at random, and remembers what it was at each walk. */
class RestlessItems {
  /** What was served, in short. */
  readonly served = new Set([shown([])]);
  /** The same by time. */
  readonly servedAt = new Map<number, string>();
  readonly clock = new SkippingClock();
  #rows: readonly Item[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  get rows(): readonly Item[] {
    this.served.add(this.now);
    this.servedAt.set(this.clock.now(), this.now);
    return this.#rows;
  }

  get now(): string {
    return shown(this.#rows);
  }

  goOn(): void {
    const random = this.#random;
    if (random.chance(0.03)) this.#rows = [];
    for (let left = random.int(0, 6); left > 0; left -= 1) {
      const id = random.int(1, 20);
      const others = this.#rows.filter((row) => row.id !== id);
      const row = { id, name: `name ${random.int(0, 9_999)}`, amount: String(random.int(0, 5)) };
      this.#rows = random.chance(0.3) ? others : [...others, row];
    }
  }
}

function shown(rows: readonly Pick<Item, 'id' | 'name' | 'amount'>[]): string {
  return rows
    .map(({ id, name, amount }) => `${id} ${name} ${amount}`)
    .sort()
    .join('\n');
}

/** The live rows of the table, in short. */
async function live(database: TestDatabase, { deletedAt, mode }: Partial<MirrorOptions>): Promise<string> {
  const where = deletedAt ? ' WHERE _deleted_at IS NULL' : mode === 'history' ? ' WHERE _valid_to IS NULL' : '';
  const rows = await database.query(`SELECT id, name, amount FROM items${where}`).catch((error: unknown) => {
    // Before the first generation, there is no table.
    if (/no such table|does not exist/.test(String(error))) return [];
    throw error;
  });
  return shown(rows.map(({ id, name, amount }) => ({ id: Number(id), name: name ?? '', amount: amount ?? '' })));
}

/** At the time of each poll that a history has, it has what was served then. */
async function checkHistory(database: TestDatabase, { servedAt }: RestlessItems): Promise<number> {
  const versions = (await database.query('SELECT id, name, amount, _valid_from, _valid_to FROM items')).map((row) => ({
    text: `${row['id']} ${row['name']} ${row['amount']}`,
    from: msOf(row['_valid_from']),
    to: row['_valid_to'] === null ? Infinity : msOf(row['_valid_to']),
  }));
  const polls = await database.query('SELECT generation, at FROM items_polls ORDER BY generation');
  for (const [nth, { generation, at }] of polls.entries()) {
    const time = msOf(at);
    const then = versions.filter(({ from, to }) => from <= time && time < to).map(({ text }) => text);
    expect({ generation, rows: then.sort().join('\n') }).toEqual({
      generation: String(nth + 1),
      rows: servedAt.get(time),
    });
  }
  return polls.length;
}

async function campaign(seed: string, open: (random: Random) => Promise<Disturbed>, { rounds, options }: Kind) {
  const random = new Random(seed);
  const listing = new RestlessItems(random);
  const { database, mirror, disturb, calm } = await open(random);
  const endings = { whole: 0, broken: 0, polls: 0 };
  const run = (polls: number, onPage: () => Promise<void>, running: { signal?: AbortSignal; restart?: boolean }) =>
    mirrored(listing, mirror(options), { polls, maxFailures: 0, onPage, clock: listing.clock, ...running });
  for (let round = 1; round <= rounds; round += 1) {
    listing.clock.time += random.int(1, 5_000);
    const stop = new AbortController();
    const fate = random.next();
    const at = random.int(1, 4);
    let pages = 0;
    const onPage = async (): Promise<void> => {
      listing.goOn();
      pages += 1;
      if (pages !== at) return;
      if (fate < 0.15) throw new Error('The API is gone.');
      if (fate < 0.35) stop.abort(new Error('Stopped.'));
      else if (fate < 0.6) await disturb();
    };
    await run(random.int(1, 4), onPage, { signal: stop.signal, restart: random.chance(0.03) }).then(
      () => (endings.whole += 1),
      () => (endings.broken += 1),
    );
    const table = await live(database(), options);
    // A whole snapshot, whatever has happened.
    expect({ round, isServed: listing.served.has(table), table }).toMatchObject({ round, isServed: true });
    if (round % 5 > 0) continue;
    // The same command goes on from there.
    calm();
    listing.clock.time += 1;
    await run(1, () => Promise.resolve(), {});
    expect({ round, table: await live(database(), options) }).toEqual({ round, table: listing.now });
    if ('mode' in options) endings.polls = await checkHistory(database(), listing);
  }
  if ('mode' in options) expect(endings.polls).toBeGreaterThan(rounds / 2);
  return endings;
}

describe.each(kinds)('D5 after rounds of changes, faults and kills a mirror of $kind equals its listing', (kind) => {
  const { rounds } = kind;

  test('in SQLite', async () => {
    let database = sqliteAt(join(temporaryFolder(), 'test.sqlite'));
    let kills = 0;
    const endings = await campaign(
      'mirror in SQLite',
      () =>
        Promise.resolve({
          database: () => database,
          mirror: (options) => database.mirror<Item>({ table: 'items', key: ['id'], ...options }),
          calm: () => undefined,
          disturb() {
            // What a killed process leaves on the disk; what this one does from here on is lost.
            const copy = join(temporaryFolder(), 'test.sqlite');
            for (const file of ['', '-wal'])
              if (existsSync(database.place + file)) copyFileSync(database.place + file, copy + file);
            database = sqliteAt(copy);
            kills += 1;
            return Promise.reject(new Error('Killed.'));
          },
        }),
      kind,
    );
    expect(kills).toBeGreaterThan(rounds / 20);
    expect(Math.min(endings.whole, endings.broken)).toBeGreaterThan(rounds / 10);
  });

  test.runIf(postgresPrograms !== undefined)('in PostgreSQL', async () => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    const database = await openEmptyPostgres('', server);
    let cuts = 0;
    let crashes = 0;
    let disturbances = 0;
    const endings = await campaign(
      'mirror in PostgreSQL',
      async (random) => {
        let left = 0;
        const proxy = await startProxy(server.port, () => {
          if (left === 0 || random.chance(0.5)) return 'none';
          left -= 1;
          cuts += 1;
          return random.chance(0.5) ? 'before the commit' : 'after the commit';
        });
        onTestEnd(() => proxy.close());
        const url = new URL(database.url);
        url.port = String(proxy.port);
        return {
          database: () => database,
          mirror: (options) => postgresMirror<Item>({ url: url.href, table: 'items', key: ['id'], ...options }),
          calm: () => (left = 0),
          async disturb() {
            left = random.int(1, 3);
            if (random.chance(0.2)) proxy.cutAll();
            // Not by chance, since a third of the rounds may have none then.
            if ((disturbances += 1) % 2 === 1) {
              crashes += 1;
              await server.crash();
            }
          },
        };
      },
      kind,
    );
    expect(cuts).toBeGreaterThan(rounds / 20);
    expect(crashes).toBeGreaterThan(0);
    expect(Math.min(endings.whole, endings.broken)).toBeGreaterThan(rounds / 10);
  });
});
