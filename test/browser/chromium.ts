import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** Debian's, or the one that `SLUICE_CHROMIUM` names. */
export const executablePath = process.env['SLUICE_CHROMIUM'] ?? '/usr/bin/chromium';

/** Whether it is installed. */
export const hasChromium = existsSync(executablePath);

/** Starts it with a temporary profile, and without its own requests to the network. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}
