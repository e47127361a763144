// npm run picture:dashboard: takes the README's pictures of the page anew, from a run of `sluice demo --dashboard`. It needs Chromium.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { launchChromium } from '../test/browser/chromium.js';
import { dashboardAddress } from '../test/kit/dashboardAddress.js';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'sluice-picture-'));
const command = join(folder, 'sluice'); // the page shows its name
symlinkSync(join(root, 'packages/cli/dist/bin.js'), command);
const demo = spawn(process.execPath, [command, 'demo', '--dashboard'], {
  cwd: folder,
  env: { ...process.env, XDG_STATE_HOME: join(folder, 'state') },
  stdio: ['ignore', 'ignore', 'pipe'],
});
const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1320, height: 720 } });
  for await (const line of createInterface(demo.stderr)) {
    const url = dashboardAddress(line);
    if (url === undefined) continue;
    await page.goto(url);
    break;
  }
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
  demo.kill();
  rmSync(folder, { recursive: true });
}
