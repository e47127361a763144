import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** Debian's, or the one that `SLUICE_CHROMIUM` names. */
export const executablePath = process.env['SLUICE_CHROMIUM'] ?? '/usr/bin/chromium';

/** Whether there is one. */
export const hasChromium = existsSync(executablePath);

/** Starts it with a profile of its own, which goes with it, and without what it would ask the network for by itself. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}
