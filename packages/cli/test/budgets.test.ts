import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { budgetForecast } from '../src/progress/budgetForecast.js';
import { limitPlace } from '../src/source/limitPlace.js';
import { settingsFor, sluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

const day = 86_400_000;

/** Runs an export of 55 streams on 11 pages until it ends, or says what it waits for. */
async function exportStreams(sandbox: Sandbox, home: string, ...more: readonly string[]): Promise<string> {
  const variables = { ...settingsFor(sandbox), XDG_STATE_HOME: home };
  const environment = testEnvironment({ folder: temporaryFolder(), variables });
  const args = ['streams', 'export', '--to', 'out.csv', '--page-size', '5', '--progress', 'json', ...more];
  const ended = main(args, environment);
  const { stderr } = environment.written;
  await expect.poll(stderr, { timeout: 20_000 }).toMatch(/"waiting":\{"for":"pause"|"event":"(report|failed)"/);
  environment.interrupt(new Interruption('SIGINT'));
  await ended;
  return stderr();
}

test('L1 three commands in a row send as many requests as --rate allows for a day', { tags: ['slow'] }, async () => {
  let requests = 0;
  await using sandbox = await startSandbox({
    streams: 55,
    script: () => {
      requests += 1;
      return undefined;
    },
  });
  const home = temporaryFolder();
  const first = await exportStreams(sandbox, home, '--rate', '5/d');
  expect(requests).toBe(5);
  expect(first).toMatch(/"message":"About 1\d requests, [0-4] of 5 in 24 h 0 min left: ends about \d{4}-[^"]+\."/);
  for (let again = 0; again < 2; again += 1) {
    const text = await exportStreams(sandbox, home, '--rate', '5/d');
    expect(text).toMatch(/"waiting":\{"for":"pause","leftMs":86\d{6}/);
  }
  expect(requests).toBe(5);
});

test.runIf(postgresPrograms !== undefined)(
  'L1 machines that forget share the budget of a database, and --max-time does not wait for it',
  { tags: ['slow'] },
  async () => {
    const { url, query } = await openDatabase();
    let requests = 0;
    await using sandbox = await startSandbox({
      streams: 55,
      script: () => {
        requests += 1;
        return undefined;
      },
    });
    const args = ['streams', 'export', '--to', 'out.csv', '--page-size', '5', '--rate', '5/d', '--max-time', '1m'];
    for (let machine = 0; machine < 2; machine += 1) {
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify({ limits: { place: url } }));
      const { code, stderr } = await sluice(args, { env: { ...settingsFor(sandbox), HOME: cwd }, cwd });
      expect(stderr).toMatch(/Stopped: the next request may start at \d{4}-\d\d-\d\d \d\d:\d\d/);
      expect(code).toBe(75);
      expect(requests).toBe(5);
      expect(readdirSync(cwd)).not.toContain('.local');
    }
    expect(await query("SELECT count(DISTINCT target) FROM _sluice_state WHERE target LIKE 'limits/%'")).toBe('2');
  },
);

test('without a folder for the state, a command warns once and goes on', async () => {
  await using sandbox = await startSandbox({ streams: 5 });
  const home = join(temporaryFolder(), 'file');
  writeFileSync(home, '');
  const text = await exportStreams(sandbox, home, '--rate', '50/m');
  expect(text).toMatch(/A rate limit holds only within this process, because its budget can't be stored/);
  expect(text).toContain('"event":"report"');
  const none = await exportStreams(sandbox, '', '--rate', '50/m');
  expect(none).toMatch(/neither HOME nor XDG_STATE_HOME names a folder/);
});

test('a command without such a limit, or with limits: false, stores nothing', async () => {
  await using sandbox = await startSandbox({ streams: 5 });
  const home = temporaryFolder();
  const env = { ...settingsFor(sandbox), XDG_STATE_HOME: home };
  const args = ['streams', 'export', '--to', 'out.csv'];
  expect(await sluice(args, { env, cwd: temporaryFolder() })).toMatchObject({ code: 0 });
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'sluice.config.json'), '{ "limits": false, "defaults": { "rate": "50/m" } }');
  expect(await sluice(args, { env, cwd })).toMatchObject({ code: 0 });
  expect(readdirSync(home)).toEqual([]);
});

test('limits.place of a configuration is a folder beside it, and limits.name joins APIs', async () => {
  await using sandbox = await startSandbox({ streams: 5, owners: 1, holdings: 2 });
  const cwd = temporaryFolder();
  const config = { limits: { place: 'kept', name: 'ours' }, defaults: { rate: '50/m' } };
  writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify(config));
  const home = temporaryFolder();
  const env = { ...settingsFor(sandbox), XDG_STATE_HOME: home };
  expect(await sluice(['streams', 'export', '--to', 'out.csv'], { env, cwd })).toMatchObject({ code: 0 });
  expect(await sluice(['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'n.csv'], { env, cwd })).toMatchObject({
    code: 0,
  });
  expect(readdirSync(join(cwd, 'kept')).sort()).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), 'salt']);
  expect(readdirSync(home)).toEqual([]);
});

test.each([
  ['a text', '{ "limits": "kept" }'],
  ['an unknown name', '{ "limits": { "folder": "kept" } }'],
  ['an empty place', '{ "limits": { "place": "" } }'],
])('limits of a configuration that are %s are refused', async (_, config) => {
  const cwd = temporaryFolder();
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'sluice.config.json'), config);
  const { code, stderr } = await sluice(['sources'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('limits in sluice.config.json must be false, or an object like');
});

describe('limitPlace', () => {
  test('is in the folder of the state, or where a module says', () => {
    const environment = testEnvironment({ variables: { HOME: '/h' } });
    expect(limitPlace({ limits: false }, environment)).toBe(false);
    const opened: string[] = [];
    const place = (budget: string): never => {
      opened.push(budget);
      throw new Error('It is only asked.');
    };
    const found = limitPlace({ limits: { place, name: 'ours' } }, environment);
    expect(found).toMatchObject({ name: 'ours', place });
  });
});

describe('budgetForecast', () => {
  const now = new Date(2026, 2, 1, 12).getTime();
  const budget = { left: 12_000, limit: 40_000, per: day, returnsIn: 0, allIn: day / 2 };

  test.each([
    ['nothing if enough is left', 12_000, budget, undefined],
    [
      'when what is missing has returned',
      26_000,
      budget,
      'About 26,000 requests, 12,000 of 40,000 in 24 h 0 min left: ends about 2026-03-01 18:00.',
    ],
    ['when all has returned', 40_000, budget, 'ends about 2026-03-02 00:00.'],
    [
      'when it has been used several times',
      120_000,
      { ...budget, left: 0, returnsIn: day / 2 },
      'ends about 2026-03-04 00:00.',
    ],
  ])('says %s', (_, requests, of, wanted) => {
    const said = budgetForecast(requests, of, now);
    if (wanted === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(wanted);
  });
});
