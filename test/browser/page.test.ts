import { startSandbox, type Sandbox, type SandboxOptions } from '@sluice/sandbox';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hasChromium, launchChromium, openPage } from './chromium.js';
import type { Outcomes, Place } from './page/page.js';
import { servePage, type ServedPage } from './servePage.js';

/** A loaded page, and the sandbox that it requests, which has another origin. */
interface Opened {
  readonly page: Page;
  readonly sandbox: Sandbox;
  readonly run: <Name extends keyof Outcomes>(name: Name) => Promise<Outcomes[Name]>;
}

describe.skipIf(!hasChromium)('in Chromium, a page of another origin', () => {
  let served: ServedPage;
  let browser: Browser;
  beforeAll(async () => {
    served = await servePage();
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await served[Symbol.asyncDispose]();
  });

  async function open(options: SandboxOptions = {}): Promise<Opened> {
    const sandbox = await startSandbox({ cors: true, streams: 42, holdings: 1_234, ...options });
    const page = await openPage(browser);
    const thrown: Error[] = [];
    page.on('pageerror', (error) => thrown.push(error));
    onTestFinished(async () => {
      await page.context().close();
      await sandbox.close();
      expect(thrown).toEqual([]);
    });
    await page.goto(served.url);
    const { apiKey, streamsUrl, aptosUrl, owners } = sandbox;
    const place: Place = { apiKey, streamsUrl, aptosUrl, owners };
    return {
      page,
      sandbox,
      async run<Name extends keyof Outcomes>(name: Name) {
        const order: readonly [keyof Outcomes, Place] = [name, place];
        const outcome: unknown = await page.evaluate(([key, at]): unknown => globalThis.scenarios[key](at), order);
        return outcome as Outcomes[Name];
      },
    };
  }

  test('walks streams and holdings to their last row', async () => {
    const { run, sandbox } = await open({ compress: true });
    const { streams, holdings } = await run('walk');
    expect(streams).toEqual(Array.from(sandbox.streamRows(), (row) => JSON.stringify(row)));
    expect(holdings).toEqual(Array.from(sandbox.holdingsOf(sandbox.owners), (row) => JSON.stringify(row)));
  });

  test('walks in a worker as well', async () => {
    const { run } = await open();
    expect(await run('walkInWorker')).toBe(42);
  });

  test('T6 retries after a 500', async () => {
    const { run } = await open({ script: ({ n }) => (n === 1 ? { kind: 'status', status: 500 } : undefined) });
    expect(await run('list')).toEqual({ rows: 42, events: ['response 500', 'retry', 'response 200'] });
  });

  test('T7 pauses after a 429, for as long as its Retry-After says', async () => {
    const refusal = { kind: 'status', status: 429, headers: { 'retry-after': '1' } } as const;
    const { run, sandbox } = await open({ script: ({ n }) => (n === 1 ? refusal : undefined) });
    const { rows, events } = await run('list');
    expect({ rows, events }).toMatchObject({ rows: 42, events: expect.arrayContaining(['paused for 1000']) });
    const [first, second] = sandbox.requests;
    expect(second!.arrivedAt - first!.arrivedAt).toBeGreaterThan(990);
  });

  test('P3 aborts the open request when a walk is cancelled', async () => {
    const { page, run, sandbox } = await open({ script: ({ n }) => (n === 2 ? { kind: 'never' } : undefined) });
    await page.exposeFunction('tell', () => sandbox.until(() => sandbox.requests.length === 2));
    await run('abandon');
    await sandbox.until(() => sandbox.counts.aborted === 1);
    expect(sandbox.requests).toHaveLength(2);
  });

  test('T1 follows no redirect', async () => {
    const { run, sandbox } = await open({ script: () => ({ kind: 'redirect', location: '/elsewhere' }) });
    expect(await run('list')).toMatchObject({ rows: 0, code: 'unexpected-redirect' });
    expect(sandbox.requests.map(({ path }) => path)).toEqual(['/streams-api/streams/evm']);
  });

  test('T2 gets an error without the key, even if the API echoes it', async () => {
    const { run, sandbox } = await open({ script: () => ({ kind: 'echo-key' }) });
    const { code, error } = await run('list');
    expect({ code, error }).toMatchObject({ code: 'http', error: expect.stringContaining('403') });
    expect(error).not.toContain(sandbox.apiKey);
    expect(error).not.toContain(btoa(sandbox.apiKey));
  });

  test('watches with state in memory', async () => {
    const { page, run, sandbox } = await open({ streams: 3, nasty: 0 });
    const told: string[] = [];
    await page.exposeFunction('tell', (line: string) => {
      if (told.push(line) === 3) sandbox.setStream(1, { status: 'error' });
    });
    const ids = Array.from(sandbox.streamRows(), ({ id }) => id);
    expect(await run('watch')).toEqual([...ids.map((id) => `initial ${id}`), `changed ${ids[1]}`]);
    expect(told).toHaveLength(4);
  });

  test('exports into a custom sink', async () => {
    const { page, run, sandbox } = await open();
    expect(await run('show')).toBe('42 rows in #streams');
    const lines = await page.locator('#streams li').allTextContents();
    expect(lines).toEqual(Array.from(sandbox.streamRows(), ({ id }) => id));
  });
});
