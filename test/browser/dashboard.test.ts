import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { createClient, definePlugin, type Endpoint } from '@sluice/core';
import { noAuth } from '@sluice/core/define';
import type { ChangeEvent } from '@sluice/core/kit';
import { dashboard, openDashboard } from '@sluice/dashboard';
import { startSandbox, type Fault } from '@sluice/sandbox';
import { streams } from '@sluice/streams';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../kit/freePort.js';
import { temporaryFolder } from '../kit/temporaryFolder.js';
import { hasChromium, launchChromium, openPage } from './chromium.js';
import { CuttingProxy } from './dashboard/cuttingProxy.js';
import { bin, openDashboardPage, review, runCommand } from './dashboard/dashboardPage.js';

describe.skipIf(!hasChromium)('the dashboard in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  const look = (url: string) => openDashboardPage(browser, url);

  const figure = (page: Page, name: string) => page.locator(`[data-figure=${name}]`);

  /** A client whose events the test makes. */
  function ownClient(title = 'test.rows') {
    const client = createClient({ apiKey: false })
      .use(dashboard({ title }))
      .use(
        definePlugin({
          name: 'api',
          setup: ({ endpoint }): Endpoint => endpoint('http://127.0.0.1:9', { auth: noAuth }),
        }),
      );
    onTestFinished(() => client.close());
    return client;
  }

  test('U1 shows a faulty export to its end: the numbers are those of the report, and the process ends', async () => {
    let isShown = false;
    await using sandbox = await startSandbox({
      // Chromium needs time on a machine that is busy.
      script: () => (isShown ? undefined : { kind: 'delay', ms: 1_000 }),
      seed: 3,
      holdings: 6_000,
      rateLimit: { requests: 40, per: 1_000 },
      latency: [2, 20],
      faults: { serverError: 0.05, reset: 0.03, cutBody: 0.02, tooManyRequests: 0.02 },
    });
    const owners = sandbox.owners.flatMap((owner) => ['--owner', owner]);
    const { url, exited, lines } = runCommand(
      [
        'nfts',
        'export',
        ...owners,
        '--owners-per-request',
        '1',
        '--to',
        'holdings.csv',
        '--rate',
        '30/s',
        '--progress',
        'json',
        '--dashboard',
      ],
      { SLUICE_API_KEY: sandbox.apiKey, SLUICE_APTOS_URL: sandbox.aptosUrl },
    );
    const page = await look(await url);
    expect(page.url()).not.toContain('#');
    await page.getByRole('heading', { name: 'Running' }).waitFor();
    isShown = true;
    await page.getByText('The rate limit sets the pace').or(page.getByText('The API sets the pace')).first().waitFor();
    await review(page, 'running');
    await page.getByRole('heading', { name: 'Finished' }).waitFor();
    const left = performance.now();
    expect(await exited).toBe(0);
    console.log(`The process ended ${Math.round(performance.now() - left)} ms after the page had said so.`);
    await page.getByText('Run ended').waitFor();
    const report = lines
      .map((line): Record<string, unknown> => (line.startsWith('{') ? (JSON.parse(line) as object) : {}) as never)
      .at(-1)!;
    expect(report).toMatchObject({ rows: 6_000 });
    const shown = async (name: string): Promise<number> =>
      Number((await figure(page, name).innerText()).replaceAll(',', ''));
    expect(await shown('rows')).toBe(report['rows']);
    expect(await shown('retries')).toBe(report['retries']);
    await page
      .getByText(`in ${String(report['pages'])} pages`)
      .first()
      .waitFor();
    expect(report['retries']).toBeGreaterThan(0);
    expect(await page.content()).not.toContain(sandbox.apiKey);
    await review(page, 'finished');
  });

  test('U1 shows an export that fails, with its error', async () => {
    let isShown = false;
    await using sandbox = await startSandbox({
      streams: 3_000,
      script: () => (isShown ? { kind: 'status', status: 403 } : undefined),
    });
    const { url, exited } = runCommand(
      ['streams', 'export', '--to', 'streams.csv', '--page-size', '10', '--rate', '5/s', '--dashboard', '0'],
      { SLUICE_API_KEY: sandbox.apiKey, SLUICE_STREAMS_URL: sandbox.streamsUrl },
    );
    const page = await look(await url);
    await page.getByRole('heading', { name: 'Running' }).waitFor();
    isShown = true;
    await page.getByRole('heading', { name: 'Failed' }).waitFor();
    expect(await exited).toBe(1);
    await page.locator('.why', { hasText: '403' }).waitFor();
    await review(page, 'failed');
  });

  test('U1 shows the board of a watch, which can be filtered, and its command', async () => {
    await using sandbox = await startSandbox({ streams: 42, statusEvery: 100 });
    const { url, child, exited } = runCommand(
      [
        ...['streams', 'watch', '--only', 'status', '--every', '250ms', '--rate', '50/s', '--dashboard'],
        ...['--rule', 'failing: status=error for 0 deadline 24h'],
      ],
      {
        SLUICE_API_KEY: sandbox.apiKey,
        SLUICE_STREAMS_URL: sandbox.streamsUrl,
      },
    );
    const page = await look(await url);
    await page.locator('.changes li', { hasText: '→' }).nth(3).waitFor();
    await page.locator('.command code', { hasText: 'streams watch --only status --every 250ms --rate 50/s' }).waitFor();
    await page.locator('.due li').first().waitFor();
    expect(await page.locator('.due li').first().innerText()).toMatch(
      /failing[^]*Began [^]*(May end at any time|Act within 23 h 55 min)/,
    );
    expect(await page.locator('.command code').innerText()).not.toContain('--dashboard');
    await review(page, 'watch');
    await page.locator('.card', { hasText: 'error' }).click();
    await page.locator('.card[aria-pressed=true]').waitFor();
    const filter = page.getByLabel('Filter the changes');
    await filter.fill('no such row');
    await page.getByText('No change matches the filter.').waitFor();
    child.kill('SIGTERM');
    await exited;
    await page.getByRole('heading', { name: 'Stopped' }).waitFor();
    await review(page, 'stopped');
  });

  test('U2 a tab shows the next run at its address', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const state = mkdtempSync(join(tmpdir(), 'sluice-token-'));
    onTestFinished(() => rmSync(state, { recursive: true }));
    const port = String(await freePort());
    const start = () =>
      runCommand(['streams', 'watch', '--every', '250ms', '--rate', '50/s', '--dashboard', port], {
        SLUICE_API_KEY: sandbox.apiKey,
        SLUICE_STREAMS_URL: sandbox.streamsUrl,
        XDG_STATE_HOME: state,
      });
    const first = start();
    const page = await look(await first.url);
    await page.getByRole('heading', { name: 'Watching' }).waitFor();
    first.child.kill('SIGTERM');
    await page.getByRole('heading', { name: 'Stopped' }).waitFor();
    await first.exited;
    const { url } = start();
    await page.getByRole('heading', { name: 'Watching' }).waitFor();
    await page.getByText('Live').waitFor();
    // An address that is pasted into the tab changes its fragment only.
    const { hash } = new URL(await url);
    await page.evaluate((fragment) => (location.hash = fragment), hash);
    await page.waitForURL((address) => address.hash === '');
    await page.getByRole('heading', { name: 'Watching' }).waitFor();
  });

  test('U2 connects again after a gap, and misses nothing; a hidden page disconnects', async () => {
    const client = ownClient();
    const url = new URL(await client.dashboard.url);
    const proxy = new CuttingProxy(Number(url.port));
    onTestFinished(() => proxy.close());
    const page = await look(`http://localhost:${await proxy.listen()}/${url.hash}`);
    await page.getByRole('heading', { name: 'Starting' }).waitFor();
    await review(page, 'empty');
    const rows = (count: number): void => {
      client.api.observe({ type: 'page', source: 'test.rows', partition: 0, page: 1, rows: count });
    };
    rows(10);
    await figure(page, 'rows').filter({ hasText: /^10$/ }).waitFor();
    proxy.cut();
    await page.getByText('Disconnected, trying again').waitFor();
    await page.getByRole('heading', { name: 'No contact' }).waitFor();
    await review(page, 'disconnected');
    rows(32);
    proxy.mend();
    await figure(page, 'rows').filter({ hasText: /^42$/ }).waitFor();
    await page.getByText('Live').waitFor();
    const hide = (isHidden: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }, isHidden);
    await hide(true);
    await page.getByText('Paused while hidden').waitFor();
    rows(58);
    await hide(false);
    await figure(page, 'rows').filter({ hasText: /^100$/ }).waitFor();
    // A page that is loaded again still has its token.
    await page.reload();
    await figure(page, 'rows').filter({ hasText: /^100$/ }).waitFor();
  });

  test('U2 answers a click after 100,000 changes, and the memory of the process stays flat', async () => {
    const child = spawn(process.execPath, ['--expose-gc', join(import.meta.dirname, 'dashboard/manyEvents.mjs')], {
      cwd: import.meta.dirname,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = new Promise((resolve) => child.on('exit', resolve));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await exited;
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value ?? '{}') as never;
    const page = await look(String((await next())['url']));
    const { first, second, count } = await next();
    expect(count).toBe(100_000);
    await figure(page, 'changes').waitFor();
    await page.locator('.card', { hasText: 'error' }).waitFor();
    const began = performance.now();
    await page.locator('.card', { hasText: 'error' }).click();
    await page.locator('.card[aria-pressed=true]').waitFor();
    console.log(`The page answered a click in ${Math.round(performance.now() - began)} ms, after 100,000 changes.`);
    expect(await page.locator('.changes li').count()).toBeLessThanOrEqual(200);
    // Megabytes: what 50,000 more changes would take if they were kept.
    expect(Number(second) - Number(first)).toBeLessThan(4_000_000);
    await review(page, 'manyChanges');
    child.stdin.end();
    await page.getByText('Run ended').waitFor();
    expect(await exited).toBe(0);
  });

  test('U3 shows hostile texts as texts, in every field', async () => {
    const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'>\u202e&amp;';
    const client = ownClient(hostile);
    const page = await look(await client.dashboard.url);
    const error = { name: hostile, message: hostile };
    const events: readonly Parameters<Endpoint['observe']>[0][] = [
      { type: 'page', source: hostile, partition: 0, page: 1, rows: 5 },
      { type: 'commit', source: hostile, sink: hostile, rows: 5, pages: 1, isSealed: false },
      { type: 'error', of: 'walk', name: hostile, error },
      ...(['added', 'changed', 'removed'] as const).map((kind): ChangeEvent => ({
        type: 'change',
        source: hostile,
        key: `${hostile} ${kind}`,
        kind,
        before: `${hostile} 1`,
        after: `${hostile} 2`,
        observedAt: new Date().toISOString(),
      })),
    ];
    for (const event of events) client.api.observe(event);
    client.api.warn(hostile);
    client.dashboard.show({ kind: 'watch', target: hostile, command: hostile });
    await page.locator('.problem').nth(1).waitFor();
    await page.locator('.changes li').nth(2).waitFor();
    expect(await page.locator('img, script:not([src="/page.js"])').count()).toBe(0);
    expect(await page.evaluate(() => Reflect.get(globalThis, 'hacked') as unknown)).toBeUndefined();
    for (const place of ['.task', '.card', '.rows .key', '.changes .key', '.problem', '.command code'])
      expect(await page.locator(place).first().innerText(), place).toContain('<img src=x');
    await review(page, 'hostile');
    client.dashboard.showCluster({
      partitions: 9,
      done: 4,
      rows: 400,
      active: 2,
      delayed: 1,
      failed: 1,
      failures: [[3, hostile]],
      workers: [{ name: hostile, working: [[5, 1_000]], rows: 40, unable: hostile }],
    });
    await page.locator('.list li', { hasText: 'Partition 3' }).first().waitFor();
    expect(await page.evaluate(() => Reflect.get(globalThis, 'hacked') as unknown)).toBeUndefined();
    client.dashboard.end({ outcome: 'failed', message: hostile });
    await page.locator('.why', { hasText: '<img src=x' }).waitFor();
  });

  test('U3 answers to no other name, and to nobody without the token', async () => {
    const page = openDashboard();
    onTestFinished(() => page.close());
    const url = await page.url;
    const { port } = new URL(url);
    const visitor = await openPage(browser);
    onTestFinished(() => visitor.context().close());
    // Chromium takes every name below localhost for this machine, without asking anybody.
    const answer = await visitor.goto(`http://rebound.localhost:${port}/`);
    expect(answer?.status()).toBe(421);
    await visitor.goto(`http://127.0.0.1:${port}/#wrong`);
    await visitor.getByRole('heading', { name: 'Not allowed in' }).waitFor();
    await review(visitor, 'refused');
  });

  /** The dashboard of a list of streams whose requests all fail like this from the third on. */
  async function ownList(fault: Fault) {
    const sandbox = await startSandbox({ streams: 200, script: ({ n }) => (n < 3 ? undefined : fault) });
    const client = createClient({ apiKey: sandbox.apiKey, rateLimit: { requests: 20, per: 1_000 } })
      .use(dashboard())
      .use(streams({ baseUrl: sandbox.streamsUrl }));
    onTestFinished(async () => {
      await client.close();
      await sandbox.close();
    });
    const page = await look(await client.dashboard.url);
    client.streams
      .list({ pageSize: 10 })
      .toArray()
      .catch(() => undefined);
    return page;
  }

  test('U1 shows a pause with its cause', async () => {
    const page = await ownList({ kind: 'status', status: 429, headers: { 'retry-after': '50' } });
    await page.getByRole('heading', { name: 'Paused' }).waitFor();
    await page
      .getByText(/The API allows no request for another \d+ s \(HTTP 429\)\./)
      .first()
      .waitFor();
    await page.locator('.limiter', { hasText: 'paused' }).waitFor();
    await review(page, 'paused');
  });

  test('U1 shows what fails', async () => {
    const page = await ownList({ kind: 'status', status: 503 });
    await page.getByRole('heading', { name: 'Failing' }).waitFor();
    await review(page, 'failing');
  });

  test('U1 shows a run on several machines: its partitions and its workers', async () => {
    const board = openDashboard({ title: 'holdings: aptos.nfts' });
    onTestFinished(() => board.close());
    const page = await look(await board.url);
    board.show({ kind: 'cluster', target: '/mnt/out/holdings' });
    board.showCluster({
      partitions: 1_200,
      done: 700,
      rows: 81_234,
      active: 8,
      delayed: 3,
      failed: 1,
      failures: [[17, 'The API answered 404 for good.']],
      workers: [
        {
          name: 'one, process 4711',
          working: [
            [701, 2_000],
            [702, 400],
          ],
          rows: 41_000,
          unable: '',
        },
        { name: 'two, process 99', working: [], rows: 0, unable: 'It has no base URL.' },
      ],
    });
    await figure(page, 'rows').filter({ hasText: '81,234' }).waitFor();
    await figure(page, 'left').filter({ hasText: /^700$/ }).waitFor();
    await review(page, 'cluster');
    board.showCluster({
      partitions: 1_200,
      done: 701,
      rows: 81_300,
      active: 0,
      delayed: 0,
      failed: 0,
      failures: [],
      workers: [],
      redisError: 'Redis does not respond at redis.example.com.',
    });
    await page.getByRole('heading', { name: 'No connection to Redis' }).waitFor();
    await review(page, 'redisDown');
  });

  test('U5 a report fits a phone, and axe finds no fault', async () => {
    const folder = temporaryFolder();
    const wallet = `0x${'5'.repeat(64)}`;
    const lines = Array.from({ length: 30 }, (_, n) => `${wallet},Collection ${n} with a name,2026-0${1 + (n % 9)}-01`);
    const header = 'owner_address,collection_name,last_transaction_timestamp';
    writeFileSync(join(folder, 'holdings.csv'), `${[header, ...lines].join('\n')}\n`);
    execFileSync(process.execPath, [bin, 'report', 'holdings.csv'], { cwd: folder, stdio: 'pipe' });
    const page = await openPage(browser);
    onTestFinished(() => page.context().close());
    await page.goto(String(pathToFileURL(join(folder, 'holdings.html'))));
    await review(page, 'report');
  });

  test('the page can be used by keyboard alone, and nothing moves when numbers arrive', async () => {
    const client = ownClient();
    const page = await look(await client.dashboard.url);
    const places = () =>
      page.locator('.panel').evaluateAll((panels) => panels.map((panel) => panel.getBoundingClientRect().top));
    // The second partition brings a panel.
    for (const partition of [0, 1])
      client.api.observe({ type: 'page', source: 'test.rows', partition, page: 1, rows: 123_456 });
    await page.locator('.panel').nth(6).waitFor();
    const before = await places();
    for (let nth = 2; nth < 30; nth += 1) {
      client.api.observe({ type: 'page', source: 'test.rows', partition: nth, page: 1, rows: 123_456 });
      client.api.observe({ type: 'commit', source: 'test.rows', sink: 'csv', rows: nth, pages: nth, isSealed: false });
      client.api.warn(
        `A warning that is rather long, so that it takes more than one line of its panel: number ${nth}.`,
      );
    }
    await page.locator('.problem').nth(10).waitFor();
    expect(await places()).toEqual(before);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('5 min');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('button[aria-pressed=true]', { hasText: '1 h' }).waitFor();
  });
});
