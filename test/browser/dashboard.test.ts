import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../kit/freePort.js';
import { dashboardAddress } from '../kit/dashboardAddress.js';
import { temporaryFolder } from '../kit/temporaryFolder.js';
import { hasChromium, launchChromium, openPage } from './chromium.js';
import { layoutFaults } from './dashboard/layoutFaults.js';
import { CuttingProxy } from './dashboard/cuttingProxy.js';

const schemes = ['light', 'dark'] as const;
const root = join(import.meta.dirname, '../..');
const bin = join(root, 'packages/cli/dist/bin.js');
/** For people to look at; not committed. */
const pictures = join(root, 'reports/dashboard');

describe.skipIf(!hasChromium)('the dashboard in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  /** Opens the page. At the test's end, nothing must have been thrown, violated or requested elsewhere. */
  async function look(url: string) {
    const page = await openPage(browser, { viewport: { width: 1320, height: 900 } });
    const faults: string[] = [];
    const { host } = new URL(url);
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      // Chromium reports each connection that was cut, or refused: the page looks whether another run has its address.
      const isExpected = /ERR_(INCOMPLETE_CHUNKED|CONNECTION_|SOCKET_|EMPTY_RESPONSE)/.test(message.text());
      if (message.type() === 'error' && !isExpected) faults.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).host !== host) faults.push(`requested ${request.url()}`);
    });
    onTestFinished(async () => {
      await page.context().close();
      expect(faults).toEqual([]);
    });
    await page.goto(url);
    return page;
  }

  const figure = (page: Page, name: string) => page.locator(`[data-figure=${name}]`);

  /** On a phone: what is broken there. In both schemes: what axe has to say; pictures, if `SLUICE_PICTURES` is set. */
  async function review(page: Page, name: string): Promise<void> {
    const size = page.viewportSize()!;
    for (const width of process.env['SLUICE_PICTURES'] === undefined ? [390] : [390, 820, 1_440]) {
      await page.setViewportSize({ width, height: 900 });
      // The charts follow in the next frame.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      expect.soft(await page.evaluate(layoutFaults), `${name}, ${width} px`).toEqual([]);
      for (const colorScheme of process.env['SLUICE_PICTURES'] === undefined ? [] : schemes) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      }
    }
    await page.setViewportSize(size);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
      expect(found, `${name}, ${colorScheme}`).toEqual([]);
    }
  }

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

  function run(args: readonly string[], variables: Readonly<Record<string, string>>) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-dashboard-'));
    const child: ChildProcess = spawn(process.execPath, [bin, ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], XDG_STATE_HOME: folder, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    });
    const lines: string[] = [];
    const url = new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stderr! }).on('line', (line) => {
        lines.push(line);
        const address = dashboardAddress(line);
        if (address !== undefined) resolve(address);
      });
      child.on('exit', () => reject(new Error(lines.join('\n'))));
    });
    return { child, url, exited, lines };
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
    const { url, exited, lines } = run(
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
    const { url, exited } = run(
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
    const { url, child, exited } = run(
      ['streams', 'watch', '--only', 'status', '--every', '250ms', '--rate', '50/s', '--dashboard'],
      {
        SLUICE_API_KEY: sandbox.apiKey,
        SLUICE_STREAMS_URL: sandbox.streamsUrl,
      },
    );
    const page = await look(await url);
    await page.locator('.changes li', { hasText: '→' }).nth(3).waitFor();
    await page.locator('.command code', { hasText: 'streams watch --only status --every 250ms --rate 50/s' }).waitFor();
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
      run(['streams', 'watch', '--every', '250ms', '--rate', '50/s', '--dashboard', port], {
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

  test('U1 says at every second of an outage what --health says', async () => {
    let api: Fault | undefined;
    let receiver: { readonly status: number; readonly delay?: number } = { status: 204 };
    await using sandbox = await startSandbox({ streams: 42, statusEvery: 100, script: () => api });
    const server = createServer((request, response) => {
      const { status, delay = 0 } = receiver;
      request.resume().on('end', () => setTimeout(() => response.writeHead(status).end(), delay));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const target = ['--forward', `http://127.0.0.1:${port}/`, '--allow-address', '127.0.0.1'];
    const pace = ['--only', 'status', '--every', '250ms', '--rate', '50/s', '--timeout', '3s', '--progress', 'json'];
    const { url, lines } = run(['streams', 'watch', ...target, ...pace, '--health', '0', '--dashboard'], {
      SLUICE_API_KEY: sandbox.apiKey,
      SLUICE_STREAMS_URL: sandbox.streamsUrl,
      SLUICE_WEBHOOK_SECRET: `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`,
    });
    const page = await look(await url);
    await page.getByRole('heading', { name: 'Watching' }).waitFor();
    const checks = (): string | undefined => /Health checks are answered at ([^"]+)/.exec(lines.join('\n'))?.[1];
    await expect.poll(checks).toBeDefined();
    const withoutNumbers = (text: string): string => text.replace(/(\d+(\.\d+)? (ms|s|min) ?)+/g, 'a while ').trim();
    /** What contradicts, if anything does. Both are asked within some ms, so a change between them shows only once. */
    const contradiction = async (): Promise<string> => {
      const response = await fetch(checks() ?? '');
      const health = withoutNumbers(await response.text());
      const title = await page.locator('#headline').innerText();
      const why = withoutNumbers(await page.locator('.why').innerText());
      const isRed = title.startsWith('Failing');
      const isSame = isRed ? response.status === 503 && health === why : response.status === 200;
      return isSame ? '' : `page: ${title}: ${why}; health: ${response.status} ${health}`;
    };
    const seconds = async (count: number): Promise<void> => {
      for (let second = 0; second < count; second += 1) {
        await expect.poll(contradiction, { timeout: 3_000, interval: 50 }).toBe('');
        await page.waitForTimeout(1_000);
      }
    };
    const failsWith = (cause: RegExp) => page.locator('.why', { hasText: cause }).waitFor();
    await expect.poll(contradiction, { timeout: 10_000 }).toBe('');
    receiver = { status: 502 };
    await seconds(7);
    await failsWith(/The webhook has taken nothing for .*HTTP 502/);
    receiver = { status: 204, delay: 60_000 };
    await seconds(6);
    await failsWith(/The webhook has taken nothing for .*no response in time/);
    receiver = { status: 204 };
    await page.getByRole('heading', { name: 'Watching' }).waitFor();
    await seconds(2);
    api = { kind: 'status', status: 503 };
    await seconds(7);
    await failsWith(/The API has failed for .*HTTP 503/);
    api = undefined;
    await page.getByRole('heading', { name: 'Watching' }).waitFor();
    await seconds(2);
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

  test('U1 is as red as the terminal says, and for the same reason: outages of the receiver and of the API, a slow target', async () => {
    let api: Fault | undefined;
    let receiver: { readonly status: number; readonly delay?: number } = { status: 204 };
    await using sandbox = await startSandbox({ holdings: 40_000, owners: 12, script: () => api });
    const server = createServer((request, response) => {
      request
        .resume()
        .on('end', () => setTimeout(() => response.writeHead(receiver.status).end(), receiver.delay ?? 0));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const owners = sandbox.owners.flatMap((owner) => ['--owner', owner]);
    const target = ['--forward', `http://127.0.0.1:${port}/`, '--allow-address', '127.0.0.1', '--batch', '20'];
    const pace = ['--owners-per-request', '1', '--page-size', '50', '--rate', '10/s', '--progress', 'json'];
    const { url, lines } = run(['nfts', 'export', ...owners, ...target, ...pace, '--dashboard'], {
      SLUICE_API_KEY: sandbox.apiKey,
      SLUICE_APTOS_URL: sandbox.aptosUrl,
      SLUICE_WEBHOOK_SECRET: `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`,
    });
    const page = await look(await url);
    await page.getByText('of 12, in').waitFor();
    const agree = async (state: string, why: RegExp, waiting: RegExp, name: string): Promise<void> => {
      await page.getByRole('heading', { name: state }).waitFor();
      await page.locator('.why', { hasText: why }).waitFor();
      const from = lines.length;
      await expect.poll(() => lines.slice(from).join('\n'), { timeout: 60_000 }).toMatch(waiting);
      await review(page, name);
    };
    const recover = async (): Promise<void> => {
      api = undefined;
      receiver = { status: 204 };
      await page.getByRole('heading', { name: 'Running' }).waitFor();
    };
    receiver = { status: 502 };
    await agree(
      'Failing',
      /The webhook has taken nothing for .*HTTP 502/,
      /"for":"target".*"HTTP 502"/,
      'receiverDown',
    );
    await page.locator('.problem', { hasText: 'responded with 502' }).first().waitFor();
    await page.locator('.deliveries', { hasText: 'HTTP 502' }).waitFor();
    await recover();
    api = { kind: 'status', status: 503 };
    await agree('Failing', /The API has failed for .*HTTP 503/, /"for":"retry".*"HTTP 503"/, 'apiDown');
    await page.locator('.problem', { hasText: 'responded with 503' }).first().waitFor();
    await recover();
    receiver = { status: 204, delay: 12_000 };
    await agree('Waiting', /The webhook has taken nothing for 1\d s\./, /"for":"target","sinceMs":\d+\}/, 'slowTarget');
    await recover();
    await review(page, 'partitions');
  });

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

declare global {
  var axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
}
