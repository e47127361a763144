import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { historySql, type MadeHistory, makeHistory, timeAt } from './histories.js';
import { sluice, startSluice } from './runSluice.js';
import { changesIn } from './watching.js';

/** Three streams at the start; one fails and recovers, one is removed and comes back, one is added. */
const made: MadeHistory = {
  polls: [0, 10, 20, 30, 40],
  versions: [
    { id: '1', status: 'active', from: 0, to: 10, ended: 'changed', generation: 1, fields: { tag: 'swaps' } },
    {
      id: '1',
      status: 'error',
      from: 10,
      to: 20,
      ended: 'changed',
      generation: 2,
      fields: { tag: 'swaps', statusMessage: 'The webhook answered 503' },
    },
    { id: '1', status: 'active', from: 20, generation: 3, fields: { tag: 'swaps' } },
    { id: '2', status: 'paused', from: 0, to: 20, ended: 'removed', generation: 1 },
    { id: '2', status: 'paused', from: 40, generation: 5 },
    { id: '3', status: 'active', from: 0, generation: 1 },
    { id: '4', status: 'active', from: 30, generation: 4 },
  ],
};

/** The lines of a log without dates, which are in local time. */
function lines(stdout: string): string[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.slice('2026-03-01 12:00:00  '.length).replaceAll(/ {2,}/g, '  '));
}

const text = [
  '3 streams at the start: 2 active, 1 paused  (--format jsonl lists them)',
  'swaps  active -> error  The webhook answered 503',
  '2  removed  paused',
  'swaps  error -> active',
  '4  added  active',
  '2  added  paused',
];

/** What both databases have to say. */
async function checkLog(target: string, cwd: string): Promise<void> {
  const shown = await sluice(['log', target], { cwd });
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(lines(shown.stdout)).toEqual(text);
  const listed = await sluice(['log', target, '--format', 'jsonl'], { cwd });
  const changes = changesIn(listed.stdout);
  expect(changes.map(({ type, key, observedAt, generation }) => [type, key, observedAt, generation])).toEqual([
    ['initial', '1', timeAt(0), 1],
    ['initial', '2', timeAt(0), 1],
    ['initial', '3', timeAt(0), 1],
    ['changed', '1', timeAt(10), 2],
    ['removed', '2', timeAt(20), 3],
    ['changed', '1', timeAt(20), 3],
    ['added', '4', timeAt(30), 4],
    ['added', '2', timeAt(40), 5],
  ]);
  expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length);
  const row = { id: '1', tag: 'swaps', demo: true, chainIds: ['0x1'] };
  expect(changes[3]).toMatchObject({
    fields: ['status', 'statusMessage'],
    before: { ...row, status: 'active', statusMessage: null },
    after: { ...row, status: 'error', statusMessage: 'The webhook answered 503' },
  });
  expect((await sluice(['log', target, '--format', 'jsonl'], { cwd })).stdout).toBe(listed.stdout);
  const ofOne = await sluice(['log', target, '--key', '2'], { cwd });
  expect(lines(ofOne.stdout)).toEqual([
    '1 stream at the start: 1 paused  (--format jsonl lists them)',
    '2  removed  paused',
    '2  added  paused',
  ]);
  expect(await sluice(['log', target, '--key', 'swaps'], { cwd })).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No changes.\n',
  });
}

describe('sluice log', () => {
  test('prints the changes of a history in SQLite as a watch does, in the order of time', async () => {
    const cwd = temporaryFolder();
    makeHistory(join(cwd, 'a.sqlite'), 'streams', made);
    await checkLog('a.sqlite#streams', cwd);
    makeHistory(join(cwd, 'a.sqlite'), 'by key', { ...made, key: ['id'] });
    await checkLog('a.sqlite#by key', cwd);
  });

  test.runIf(postgresPrograms !== undefined)(
    'prints the changes of a history in PostgreSQL',
    { tags: ['slow'] },
    async () => {
      const { url, query } = await openDatabase();
      await query(historySql('postgres', 'streams', made));
      const byKey = historySql('postgres', 'by_key', { ...made, key: ['id'] });
      await query(`CREATE SCHEMA app; SET search_path TO app; ${byKey}`);
      for (const table of ['streams', 'app.by_key']) await checkLog(`${url}?table=${table}`, temporaryFolder());
    },
  );

  test('prints the changes since a time only, with what was before them', async () => {
    const cwd = temporaryFolder();
    const minutes = (Date.now() - Date.parse(timeAt(0))) / 60_000;
    makeHistory(join(cwd, 'a.sqlite'), 'streams', {
      polls: [minutes - 120, minutes - 30],
      versions: [
        { id: '1', status: 'active', from: minutes - 120, to: minutes - 30, ended: 'changed', generation: 1 },
        { id: '1', status: 'error', from: minutes - 30, generation: 2 },
      ],
    });
    const { stdout } = await sluice(['log', 'a.sqlite#streams', '--since', '1h'], { cwd });
    expect(lines(stdout)).toEqual(['1  active -> error']);
    expect(await sluice(['log', 'a.sqlite#streams', '--since', '10m'], { cwd })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No changes.\n',
    });
  });

  test('names a row by several columns, and by a key that no table can store', async () => {
    const cwd = temporaryFolder();
    makeHistory(join(cwd, 'a.sqlite'), 'streams', { ...made, key: ['id', 'status'] });
    const { stdout } = await sluice(['log', 'a.sqlite#streams', '--key', '["3","active"]', '--format', 'jsonl'], {
      cwd,
    });
    expect(changesIn(stdout).map(({ key }) => key)).toEqual(['["3","active"]']);
    expect(await sluice(['log', 'a.sqlite#streams', '--key', '3'], { cwd })).toMatchObject({
      code: 2,
      stderr: 'sluice: The key has the columns id, status: give a JSON array with their values.\n',
    });
  });

  test('begins with the rows of the oldest poll that is left', async () => {
    const cwd = temporaryFolder();
    // Of what ended before it, some may still be there.
    makeHistory(join(cwd, 'a.sqlite'), 'streams', { ...made, polls: [20, 30, 40] });
    const { stdout } = await sluice(['log', 'a.sqlite#streams'], { cwd });
    expect(lines(stdout)).toEqual([
      '2 streams at the start: 2 active  (--format jsonl lists them)',
      '4  added  active',
      '2  added  paused',
    ]);
  });

  test('calls the rows what those of their source are, whatever their columns', async () => {
    const cwd = temporaryFolder();
    makeHistory(join(cwd, 'a.sqlite'), 'streams', { ...made, source: 'shop.orders' });
    expect(lines((await sluice(['log', 'a.sqlite#streams'], { cwd })).stdout)[0]).toBe(
      '3 rows at the start  (--format jsonl lists them)',
    );
    expect((await sluice(['report', 'a.sqlite#streams'], { cwd })).stderr).toBe(
      '4 rows of a.sqlite#streams -> a.streams.html\n',
    );
  });

  test('counts all rows at the start in one line', { tags: ['slow'] }, async () => {
    const cwd = temporaryFolder();
    const ids = Array.from({ length: 20_001 }, (_, nth) => String(nth));
    makeHistory(join(cwd, 'a.sqlite'), 'streams', {
      polls: [0],
      versions: ids.map((id, nth) => ({ id, status: nth < 10_000 ? 'active' : 'error', from: 0, generation: 1 })),
    });
    const { stdout } = await sluice(['log', 'a.sqlite#streams'], { cwd });
    expect(lines(stdout)).toEqual([
      '20,001 streams at the start: 10,001 error, 10,000 active  (--format jsonl lists them)',
    ]);
    expect((await sluice(['log', 'a.sqlite#streams', '--since', '999999999d'], { cwd })).stdout).toBe(stdout);
  });

  test('D9 keeps nobody from writing the table while its output waits for a reader', { tags: ['slow'] }, async () => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'a.sqlite');
    makeHistory(path, 'streams', {
      polls: [0],
      versions: Array.from({ length: 20_000 }, (_, nth) => ({
        id: String(nth),
        status: 'active',
        from: 0,
        generation: 1,
      })),
    });
    const { process } = startSluice(['log', 'a.sqlite#streams', '--format', 'jsonl'], { cwd });
    process.stdout.pause();
    process.stdout.removeAllListeners('data');
    await once(process.stdout, 'readable');
    const writer = new DatabaseSync(path);
    writer.exec("PRAGMA journal_mode = WAL; UPDATE streams SET status = 'error'");
    writer.close();
  });

  test('prints a change of any source by its first column, with the columns that differ', async () => {
    const cwd = temporaryFolder();
    const db = new DatabaseSync(join(cwd, 'a.sqlite'));
    db.exec(`
      CREATE TABLE coins (coin TEXT, price TEXT, _valid_from TEXT, _valid_to TEXT, _ended TEXT, _generation INTEGER, UNIQUE (coin, _valid_from));
      CREATE TABLE coins_polls (generation INTEGER PRIMARY KEY, at TEXT, complete INTEGER);
      INSERT INTO coins_polls VALUES (1, '${timeAt(0)}', 1), (2, '${timeAt(1)}', 1);
      INSERT INTO coins VALUES ('btc', '1', '${timeAt(0)}', '${timeAt(1)}', 'changed', 1), ('btc', '2', '${timeAt(1)}', NULL, NULL, 2)`);
    db.close();
    const { stdout } = await sluice(['log', 'a.sqlite#coins'], { cwd });
    expect(lines(stdout)).toEqual(['1 row at the start  (--format jsonl lists them)', 'btc  changed  price 1 -> 2']);
  });

  test('says what is wrong with a table in one sentence', async () => {
    const cwd = temporaryFolder();
    const db = new DatabaseSync(join(cwd, 'a.sqlite'));
    db.exec('CREATE TABLE plain (id TEXT)');
    db.close();
    writeFileSync(join(cwd, 'rows.csv'), 'id\n1\n');
    for (const [target, code, message] of [
      ['a.sqlite#other', 1, /a\.sqlite has no table "other"\.\n$/],
      [
        'a.sqlite#plain',
        1,
        /"plain" in .*a\.sqlite is not a history: it lacks _valid_from, _valid_to, _ended, _generation\./,
      ],
      ['b.sqlite#plain', 1, /b\.sqlite does not exist\.\n$/],
      ['rows.csv', 2, /rows\.csv is not a table: name one as FILE\.sqlite#TABLE/],
    ] as const) {
      const found = await sluice(['log', target], { cwd });
      expect(found).toEqual({ code, stdout: '', stderr: expect.stringMatching(message) });
      expect(found.stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});
