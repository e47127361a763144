import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { dashboardAddress } from '../../kit/dashboardAddress.js';
import { openPage } from '../chromium.js';
import { layoutFaults } from './layoutFaults.js';

const schemes = ['light', 'dark'] as const;
const root = join(import.meta.dirname, '../../..');
export const bin = join(root, 'packages/cli/dist/bin.js');
/** For people to look at; not committed. */
const pictures = join(root, 'reports/dashboard');

/** Opens the page. At the test's end, nothing must have been thrown, violated or requested elsewhere. */
export async function openDashboardPage(browser: Browser, url: string): Promise<Page> {
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

/** On a phone: what is broken there. In both schemes: what axe has to say; pictures, if `SLUICE_PICTURES` is set. */
export async function review(page: Page, name: string): Promise<void> {
  const size = page.viewportSize()!;
  for (const width of process.env['SLUICE_PICTURES'] === undefined ? [390] : [390, 820, 1_440]) {
    await page.setViewportSize({ width, height: 900 });
    // Charts and lists follow in a later frame, on a busy machine while more rows arrive.
    await expect
      .poll(() => page.evaluate(layoutFaults), { message: `${name}, ${width} px`, timeout: 10_000 })
      .toEqual([]);
    for (const colorScheme of process.env['SLUICE_PICTURES'] === undefined ? [] : schemes) {
      mkdirSync(pictures, { recursive: true });
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

/** Starts the command in a process of its own, and finds the address of its page. */
export function runCommand(args: readonly string[], variables: Readonly<Record<string, string>>) {
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

declare global {
  var axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
}
