// npm run picture:dashboard: takes the README's pictures of the page anew, in the middle of an export from the sandbox. It needs Chromium.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSandbox } from '@sluice/sandbox';
import { launchChromium } from '../test/browser/chromium.js';
import { dashboardAddress } from '../test/kit/dashboardAddress.js';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'sluice-picture-'));
const command = join(folder, 'sluice'); // the page shows its name
symlinkSync(join(root, 'packages/cli/dist/bin.js'), command);
await using sandbox = await startSandbox({
  seed: 17,
  holdings: 40_000,
  owners: 8,
  rateLimit: { requests: 25, per: 1_000 },
  latency: [5, 30],
  faults: { serverError: 0.04, reset: 0.02, cutBody: 0.02, tooManyRequests: 0.01 },
});
writeFileSync(join(folder, 'wallets.txt'), sandbox.owners.join('\n'));
const run = ['nfts', 'export', '--owners-file', 'wallets.txt', '--to', 'holdings.csv', '--owners-per-request', '1'];
const child = spawn(process.execPath, [command, ...run, '--rate', '25/s', '--dashboard'], {
  cwd: folder,
  env: {
    PATH: process.env['PATH'],
    XDG_STATE_HOME: join(folder, 'state'),
    SLUICE_API_KEY: sandbox.apiKey,
    SLUICE_APTOS_URL: sandbox.aptosUrl,
  },
  stdio: ['ignore', 'ignore', 'pipe'],
});
const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1320, height: 720 } });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => resolve(dashboardAddress(line) ?? ''));
    child.on('exit', () => reject(new Error('The export ended before it could be looked at.')));
  });
  await page.goto(url);
  // The middle of the run: nearly half of its 40,000 rows are there, and the API has made it pause.
  await page
    .locator('[data-figure=rows]')
    .filter({ hasText: /1[5-9],\d{3}/ })
    .waitFor({ timeout: 50_000 });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(root, `docs/dashboard-${colorScheme}.png`), fullPage: true });
  }
} finally {
  await browser.close();
  child.kill();
  rmSync(folder, { recursive: true });
}
