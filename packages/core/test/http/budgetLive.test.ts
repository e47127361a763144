import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { filter, firstValueFrom } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { createClient, type ClientOptions } from '../../src/index.js';
import { budgets } from '../../src/node/index.js';
import { testApi } from './children/testApi.js';
import { recordingServer } from './recordingServer.js';
import { runChild } from './runChild.js';

const day = 86_400_000;
const script = new URL('children/budgetedRequests.js', import.meta.url);

interface Run {
  readonly sent: number;
  readonly cause?: string;
  readonly left?: number;
  readonly used?: number;
}

/** An API, and a folder for its budgets. */
async function setting(onRequest: (nth: number) => void = () => undefined) {
  const folder = join(temporaryFolder(), 'limits');
  const { url, arrived } = await recordingServer(({ url: path }, nth) => {
    onRequest(nth);
    return path === '/pause' ? { status: 429, headers: { 'retry-after': '50' }, body: {} } : { body: {} };
  });
  const run = async (requests: number, per: number, most: number): Promise<Run> => {
    const { stdout, stderr } = await runChild(script, { args: [url, folder, ...[requests, per, most].map(String)] });
    expect(stderr).toBe('');
    return JSON.parse(stdout) as Run;
  };
  const open = (options: Partial<ClientOptions> = {}) =>
    createClient({
      apiKey: 'a-key-for-this-test',
      rateLimit: { requests: 5, per: day },
      limits: budgets(folder),
      ...options,
    }).use(testApi(url));
  return { url, arrived, folder, run, open };
}

type Opened = ReturnType<Awaited<ReturnType<typeof setting>>['open']>;

const get = ({ api }: Opened, signal?: AbortSignal): Promise<unknown> =>
  api.request({ route: 'test.route', path: '/', query: {}, ...(signal && { signal }) });

/** Sends requests until the budget is used up. */
async function useUp(client: Opened): Promise<void> {
  const stop = new AbortController();
  client.eventsOf('limiter').subscribe(({ paused }) => {
    if (paused > 0) stop.abort();
  });
  while (!stop.signal.aborted) await get(client, stop.signal).catch(() => undefined);
}

function budgetIn(folder: string): string {
  const [file = ''] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('/budget'),
  );
  return join(folder, file);
}

describe('a limit that outlives its process', () => {
  test('L1 three runs of 5 a day send 5 requests, one after the other', { tags: ['slow'] }, async () => {
    const { arrived, run } = await setting();
    expect(await run(5, day, 3)).toEqual({ sent: 3, left: 2, used: 3 });
    expect(await run(5, day, 10)).toEqual({ sent: 2, cause: 'budget', left: 0, used: 5 });
    expect(await run(5, day, 10)).toEqual({ sent: 0, cause: 'budget', left: 0, used: 5 });
    expect(arrived).toHaveLength(5);
  });

  test('L1 four runs at once share 30 a minute', { tags: ['slow'] }, async () => {
    const { arrived, run } = await setting();
    const runs = await Promise.all([1, 2, 3, 4].map(() => run(30, 60_000, 20)));
    expect(runs.map(({ sent }) => sent).reduce((a, b) => a + b)).toBe(30);
    expect(arrived).toHaveLength(30);
  });

  test('L1 what a killed process has reserved stays used', { tags: ['slow'] }, async () => {
    const { arrived, run, folder, url } = await setting((nth) => {
      if (nth === 2) killed.abort();
    });
    const killed = new AbortController();
    const args = [url, folder, '5', String(day), '10'];
    const child = await runChild(script, { args, kill: killed.signal });
    expect(child.signal).toBe('SIGKILL');
    await run(5, day, 10);
    await run(5, day, 10);
    expect(arrived).toHaveLength(5);
  });

  test('L1 a pause that an API asks one process for holds in another one within a second', async () => {
    const { arrived, open } = await setting();
    const limits = { rateLimit: { requests: 1_000, per: 60_000 } };
    await using first = open(limits);
    await using second = open(limits);
    await Promise.all([get(first), get(second)]);
    expect(second.limiter.pausedFor).toBe(0);
    const stop = new AbortController();
    const paused = first.api.request({ route: 'test.route', path: '/pause', query: {}, signal: stop.signal });
    while (second.limiter.pausedFor === 0) await Promise.race([get(second, stop.signal), pauseOf(second)]);
    expect(second.limiter.pausedFor).toBeGreaterThan(30_000);
    expect(first.limiter.pausedFor).toBeGreaterThan(30_000);
    stop.abort();
    await expect(paused).rejects.toThrow();
    expect(arrived.length).toBeGreaterThan(2);
  });

  test('a used-up budget says when it returns, also to the next process', async () => {
    const { open } = await setting();
    const first = open();
    expect(await first.api.returnedFor?.()).toBeUndefined();
    await useUp(first);
    await first.close();
    await using second = open();
    const returnedFor = (await second.api.returnedFor?.()) ?? 0;
    expect(returnedFor).toBeGreaterThan(-day - 5_000);
    expect(returnedFor).toBeLessThan(60_000 - day);
  });

  test('two keys have two budgets, and limits.name joins them', async () => {
    const { open, folder } = await setting();
    for (const apiKey of ['the-key-of-one', 'the-key-of-two']) {
      await using client = open({ apiKey });
      await get(client);
      expect(client.limiter.budget).toMatchObject({ left: 4, limit: 5, per: day });
    }
    for (const apiKey of ['the-key-of-one', 'the-key-of-two']) {
      await using client = open({ apiKey, limits: budgets(folder, { name: 'ours' }) });
      await get(client);
    }
    await using client = open({ limits: budgets(folder, { name: 'ours' }) });
    await get(client);
    expect(client.limiter.budget).toMatchObject({ left: 2 });
  });

  test('no credential is stored, and only the owner can read a budget', async () => {
    const { open, folder, url } = await setting();
    const client = open({ apiKey: 'the-key-of-one' });
    await get(client);
    await client.close();
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.includes('/')).sort()).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}\/budget$/),
      'salt/salt',
    ]);
    for (const name of names.filter((each) => each.includes('/'))) {
      expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(/the-key|127\.0\.0\.1/);
      expect(statSync(join(folder, name)).mode & 0o77).toBe(0);
    }
    expect(url).toContain('127.0.0.1');
  });

  test.each<[what: string, damage: (budget: string, salt: string) => void]>([
    ['budget that was cut', (budget) => truncateSync(budget, statSync(budget).size - 5)],
    ['budget that is something else', (budget) => writeFileSync(budget, 'something else')],
    ['salt that is something else', (_, salt) => writeFileSync(salt, '')],
    ['salt that was cut', (_, salt) => truncateSync(salt, statSync(salt).size - 5)],
  ])('L1 a %s counts as used up for one window', async (_, damage) => {
    const { open, folder, arrived } = await setting();
    const first = open();
    await get(first);
    await first.close();
    damage(budgetIn(folder), join(folder, 'salt', 'salt'));
    for (const warnings of [1, 0]) {
      await using client = open();
      const said: string[] = [];
      client.eventsOf('warning').subscribe(({ message }) => said.push(message));
      await useUp(client);
      expect(client.limiter.budget?.returnsIn).toBeGreaterThan(day - 60_000);
      expect(said).toHaveLength(warnings);
      if (warnings > 0) expect(said[0]).toContain('It counts as used up for one window');
    }
    expect(arrived).toHaveLength(1);
  });

  test('a budget that was removed is a first run', async () => {
    const { open, folder } = await setting();
    const first = open();
    await get(first);
    await first.close();
    rmSync(budgetIn(folder));
    await using client = open();
    await get(client);
    expect(client.limiter.budget).toMatchObject({ left: 4 });
  });

  test('without a place to write, a client warns once and goes on', async () => {
    const { open, folder } = await setting();
    mkdirSync(join(folder, '..'), { recursive: true });
    writeFileSync(folder, 'a file');
    await using client = open();
    const said: string[] = [];
    client.eventsOf('warning').subscribe(({ message }) => said.push(message));
    await get(client);
    await get(client);
    expect(said).toEqual([expect.stringMatching(/^A rate limit holds only within this process, because its budget/)]);
    expect(client.limiter.budget).toBeUndefined();
  });

  test('L3 a limit with short windows, none, and an API with a quota store nothing', async () => {
    const { open, folder } = await setting();
    for (const rateLimit of [false, { requests: 5, per: 1_000 }] as const) {
      await using client = open({ rateLimit });
      await get(client);
    }
    expect(existsSync(folder)).toBe(false);
  });
});

/** Resolves when a client is paused. */
function pauseOf(client: Opened): Promise<unknown> {
  return firstValueFrom(client.eventsOf('limiter').pipe(filter(({ paused }) => paused > 0)));
}
