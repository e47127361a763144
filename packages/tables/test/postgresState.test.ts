import { ConfigError, LockError, type StateStore, watch } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { thrownBy } from '../../../test/kit/thrownBy.js';
import { ManualClock } from '../../testing/src/manualClock.js';
import { postgresState, type PostgresStateOptions } from '../src/postgres.js';
import { openEmptyPostgres } from './databases.js';
import { changingSource, itemsOf } from './items.js';

const { signal } = new AbortController();

async function recordsOf(state: StateStore, name: string): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const record of state.log(name).read()) records.push(record);
  return records;
}

async function opened() {
  const database = await openEmptyPostgres();
  /** The state of one process: its clock stands still, so it renews nothing. */
  const stateOf = (options: Partial<PostgresStateOptions> = {}) =>
    postgresState({ url: database.url, name: 'job', clock: new ManualClock(), ...options });
  const expire = () =>
    database.query("UPDATE _sluice_state SET until = now() - interval '1 s' WHERE until IS NOT NULL");
  return { ...database, stateOf, expire };
}

/** Locks a state until the test ends. */
async function hold(state: StateStore): Promise<() => Promise<void>> {
  const release = await state.lock(signal);
  onTestEnd(release);
  return release;
}

/** Resolves when whoever waits for a state has been told that it is held. */
function waitFor(state: StateStore, stop = signal) {
  const outages: unknown[] = [];
  let tell = (): void => undefined;
  const isWaiting = new Promise<void>((resolve) => (tell = resolve));
  const lock = state.lock(stop, 'export', (outage) => {
    outages.push(outage);
    tell();
  });
  lock.then(
    (release) => onTestEnd(release),
    () => undefined,
  );
  return { lock, isWaiting, outages };
}

describe.runIf(postgresPrograms !== undefined)('state in PostgreSQL', () => {
  test('D10 is what the next process finds, on whichever machine', async () => {
    const { stateOf } = await opened();
    const state = stateOf();
    const release = await hold(state);
    await state.save('checkpoint', { rows: 1, text: 'é\0\ud800' });
    for (const nth of [1, 2]) await state.log('watch').append({ nth });
    await release();
    const next = stateOf();
    await hold(next);
    expect(await next.load('checkpoint')).toEqual({ rows: 1, text: 'é\0\ud800' });
    expect(await recordsOf(next, 'watch')).toEqual([{ nth: 1 }, { nth: 2 }]);
  });

  test('is held by one process, for its exports and watches together, until they have ended', async () => {
    const { stateOf } = await opened();
    const state = stateOf();
    const releases = [await state.lock(signal), await state.lock(signal, 'watch')];
    const clock = new SkippingClock();
    const other = waitFor(stateOf({ clock }));
    await other.isWaiting;
    await releases[0]?.();
    expect(await state.holder()).toMatchObject({ pid: process.pid, isRunning: true });
    await releases[1]?.();
    await other.lock;
    expect(other.outages.at(0)).toMatchObject({ cause: 'held by another process', error: { code: 'lock' } });
    expect(other.outages.at(-1)).toBeUndefined();
  });

  test('D10 is taken over when the lease is over, and the process before ends at its next save', async () => {
    const { stateOf, expire } = await opened();
    const dead = stateOf();
    await hold(dead);
    await dead.save('checkpoint', { rows: 1 });
    const state = stateOf({ clock: new SkippingClock() });
    const other = waitFor(state);
    await other.isWaiting;
    await expire();
    await other.lock;
    expect(await state.load('checkpoint')).toEqual({ rows: 1 });
    const saved = dead.save('checkpoint', { rows: 2 });
    await expect(saved).rejects.toThrow(LockError);
    await expect(saved).rejects.toThrow('Another process has taken over the state job');
    await expect(dead.load('checkpoint')).rejects.toThrow('has taken over');
    await expect(dead.log('watch').replace([{ nth: 1 }])).rejects.toThrow('has taken over');
    expect(await state.load('checkpoint')).toEqual({ rows: 1 });
  });

  test('stays with a process whose lease is over, if nobody takes it, and is renewed by its next save', async () => {
    const { stateOf, expire, query } = await opened();
    const state = stateOf();
    await hold(state);
    await expire();
    expect(await state.holder()).toBeUndefined();
    await state.save('checkpoint', { rows: 1 });
    expect(await state.holder()).toMatchObject({ pid: process.pid });
    expect(await query("SELECT until > now() + interval '50 s' AS live FROM _sluice_state WHERE name = ''")).toEqual([
      { live: 't' },
    ]);
  });

  test('is refused while its holder shows signs of life', async () => {
    const { stateOf } = await opened();
    await hold(stateOf({ clock: new SkippingClock() }));
    const refused = waitFor(stateOf({ clock: new SkippingClock() })).lock;
    await expect(refused).rejects.toThrow(LockError);
    await expect(refused).rejects.toThrow(`The state job is in use by process ${process.pid} of `);
  });

  test('is waited for no longer than the signal says', async () => {
    const { stateOf } = await opened();
    await hold(stateOf());
    const stop = new AbortController();
    const other = waitFor(stateOf({ clock: new SkippingClock() }), stop.signal);
    await other.isWaiting;
    stop.abort(new Error('Not wanted any more.'));
    await expect(other.lock).rejects.toThrow('Not wanted any more.');
  });

  test('is apart from the others of a database and of another schema', async () => {
    const { stateOf, query } = await opened();
    await query('CREATE SCHEMA "Jobs"');
    const states = [stateOf(), stateOf({ name: 'other' }), stateOf({ schema: 'Jobs' })];
    for (const [nth, state] of states.entries()) {
      await hold(state);
      await state.save('checkpoint', { nth });
    }
    for (const [nth, state] of states.entries()) expect(await state.load('checkpoint')).toEqual({ nth });
    expect(await query('SELECT target FROM "Jobs"._sluice_state WHERE name <> \'\'')).toEqual([{ target: 'job' }]);
  });

  test('can be read by anybody while it is held, and before it is there', async () => {
    const { stateOf } = await opened();
    expect(await stateOf().load('checkpoint')).toBeUndefined();
    expect(await recordsOf(stateOf(), 'watch')).toEqual([]);
    expect(await stateOf().holder()).toBeUndefined();
    const state = stateOf();
    await hold(state);
    await state.save('checkpoint', { rows: 1 });
    expect(await stateOf().load('checkpoint')).toEqual({ rows: 1 });
  });

  test('D10 has all records of a large log that was replaced, or those before', { tags: ['slow'] }, async () => {
    const { stateOf, query } = await opened();
    const state = stateOf();
    const release = await hold(state);
    const large = 'x'.repeat(300_000);
    const records = Array.from({ length: 9 }, (_, nth) => ({ nth, large }));
    await state.log('watch').append({ nth: -1 });
    function* broken(): Generator<object> {
      yield* records;
      throw new Error('The next row has no form in JSON.');
    }
    await expect(state.log('watch').replace(broken())).rejects.toThrow('no form');
    expect(await recordsOf(state, 'watch')).toEqual([{ nth: -1 }]);
    await state.log('watch').replace(records);
    await state.log('watch').append({ nth: 9 });
    expect(await recordsOf(state, 'watch')).toEqual([...records, { nth: 9 }]);
    await expect(state.log('watch').replace(broken())).rejects.toThrow('no form');
    await release();
    await hold(stateOf());
    expect(await query('SELECT DISTINCT name FROM _sluice_state ORDER BY name')).toEqual([
      { name: '' },
      { name: 'log/watch' },
    ]);
  });

  test('of another version is refused with what to do, and stays as it was', async () => {
    const { stateOf, query } = await opened();
    await (
      await stateOf().lock(signal)
    )();
    await query(`UPDATE _sluice_state SET record = '{"v":2,"run":"1"}'`);
    await expect(stateOf().lock(signal)).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringContaining('was written by another version of Sluice. Use that one, or give another name'),
    });
    expect(await query('SELECT record FROM _sluice_state')).toEqual([{ record: '{"v":2,"run":"1"}' }]);
    await query('ALTER TABLE _sluice_state RENAME COLUMN until TO ends');
    await expect(stateOf().lock(signal)).rejects.toThrow('it has no until. Rename it, or write into another database');
  });

  test('names the statements that a user without the right to create a table needs', async () => {
    const { url, query } = await openEmptyPostgres();
    const role = `limited_${process.pid}_${Date.now()}`;
    await query(`CREATE ROLE ${role} LOGIN`);
    const limited = url.replace('tester@', `${role}@`);
    const stateOf = () => postgresState({ url: limited, name: 'job', clock: new ManualClock() });
    onTestEnd(async () => {
      for (const what of ['OWNED BY', 'ROLE']) await query(`DROP ${what} ${role}`);
    });
    const { message } = await stateOf()
      .lock(signal)
      .then(
        () => ({ message: '' }),
        (error: unknown) => (error instanceof Error ? error : { message: '' }),
      );
    const [, create = ''] = /Let its owner run (CREATE TABLE .*? TO )…/.exec(message) ?? [];
    for (const statement of `${create}${role}`.split('; ')) await query(statement);
    const state = stateOf();
    await hold(state);
    await state.save('checkpoint', { rows: 1 });
    expect(await state.load('checkpoint')).toEqual({ rows: 1 });
  });

  test('of somebody else, or damaged, is refused in a sentence, and stays as it was', async () => {
    const { url, query, stateOf } = await opened();
    const state = stateOf();
    const release = await state.lock(signal);
    await state.save('checkpoint', { rows: 1 });
    await release();
    const role = `reader_${process.pid}_${Date.now()}`;
    await query(`CREATE ROLE ${role} LOGIN`);
    onTestEnd(async () => {
      await query(`DROP ROLE ${role}`);
    });
    const foreign = stateOf({ url: url.replace('tester@', `${role}@`) });
    await expect(foreign.lock(signal)).rejects.toMatchObject({
      code: 'sink',
      message: expect.stringContaining('permission denied for table _sluice_state'),
    });
    await query("UPDATE _sluice_state SET record = '{' WHERE name = 'record/checkpoint'");
    await hold(state);
    await expect(state.load('checkpoint')).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringContaining("The row record/checkpoint of the table public._sluice_state can't be read."),
    });
    await query('ALTER TABLE _sluice_state RENAME TO kept');
    await query('CREATE VIEW _sluice_state AS SELECT * FROM kept');
    await expect(stateOf().lock(signal)).rejects.toThrow(
      'public._sluice_state in this database is not the table in which Sluice keeps checkpoints: it is not a table.',
    );
    expect(await query("SELECT record FROM kept WHERE name <> ''")).toEqual([{ record: '{' }]);
    await query('DROP VIEW _sluice_state');
    await query('ALTER TABLE kept RENAME TO _sluice_state');
  });

  test('resumes a watch, which tells what changed meanwhile', async () => {
    const { stateOf } = await opened();
    let rows = itemsOf([1, 2]);
    const poll = async () => {
      const options = { every: 1_000, clock: new SkippingClock(), polls: 1, confirmations: 1, holdAbove: 1 };
      const told: string[] = [];
      for await (const { type, key } of watch(
        changingSource(() => rows),
        { ...options, acceptRemovals: true, state: stateOf() },
      ))
        told.push(`${type} ${key}`);
      return told.sort();
    };
    expect(await poll()).toEqual(['initial 1', 'initial 2']);
    rows = itemsOf([2, 3]);
    expect(await poll()).toEqual(['added 3', 'removed 1']);
    expect(await poll()).toEqual([]);
  });

  test.each<[what: string, options: Partial<PostgresStateOptions>]>([
    ['url', { url: 'https://example.com' }],
    ['schema', { url: 'postgres://me@localhost/jobs?schema=jobs' }],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(201) }],
    ['schema', { schema: '' }],
    ['schema', { schema: 'a.b' }],
    ['schema', { schema: 'pg_temp' }],
    ['lease', { lease: 0 }],
  ])('refuses a wrong %s: %o', (what, options) => {
    const make = () => postgresState({ url: 'postgres://me:hunter22@localhost/jobs', name: 'job', ...options });
    const error = thrownBy(make);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message: expect.stringContaining(what) });
    expect(String(error)).not.toContain('hunter22');
  });
});
