import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSandbox, type Fault } from '@sluice/sandbox';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hasChromium, launchChromium } from './chromium.js';
import { openDashboardPage, review, runCommand } from './dashboard/dashboardPage.js';

// In a file of their own, which runs beside the other tests of the page: they last as long as their outages.
describe.skipIf(!hasChromium)('the dashboard in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  const look = (url: string) => openDashboardPage(browser, url);

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
    const { url, lines } = runCommand(['streams', 'watch', ...target, ...pace, '--health', '0', '--dashboard'], {
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
    const { url, lines } = runCommand(['nfts', 'export', ...owners, ...target, ...pace, '--dashboard'], {
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
});
