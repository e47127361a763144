import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** Debian's, or the one that `SLUICE_CHROMIUM` names. */
export const executablePath = process.env['SLUICE_CHROMIUM'] ?? '/usr/bin/chromium';

/** Whether it is installed. */
export const hasChromium = existsSync(executablePath);

/** Starts it with a temporary profile, and without its own requests to the network. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Ms until a page is taken for one that hangs. Playwright's 30 s are too few on a busy machine. */
const limit = 120_000;

/** A page with storage of its own, which ends with its context. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(limit);
  return context.newPage();
}
