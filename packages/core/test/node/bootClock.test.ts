import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { bundled } from '../../../../scripts/bundled.js';
import { hasContainers, inContainer } from '../../../../test/kit/container.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { machineBootClock } from '../../src/node/bootClock.js';

const script = new URL('./children/bootClock.ts', import.meta.url);

async function bootIn(before: string): Promise<{ readonly id: string; readonly now: number }> {
  const [program = '', ...args] = inContainer('boot', [process.execPath, bundled(script)], before);
  const { stdout } = await promisify(execFile)(program, args);
  return JSON.parse(stdout) as { id: string; now: number };
}

/** Ms since the boot, without sleep: CLOCK_MONOTONIC of Linux. */
const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

describe.runIf(hasContainers)('L1 the time since the boot', { tags: ['slow'] }, () => {
  test('is the same in a container', async () => {
    const outside = machineBootClock();
    const id = await outside.id();
    const began = outside.now();
    const inside = await bootIn('');
    expect(inside.id).toBe(id);
    expect(inside.now).toBeGreaterThanOrEqual(began - 20);
    expect(inside.now).toBeLessThanOrEqual(outside.now() + 20);
  });

  test('is the monotonic one in a container with an uptime of its own, and another boot for those without', async () => {
    const file = join(temporaryFolder(), 'uptime');
    writeFileSync(file, `${uptime() + 86_400}.00 0.00\n`);
    const began = monotonic();
    const inside = await bootIn(`mount --bind '${file}' /proc/uptime &&`);
    expect(inside.id).toBe(`${await machineBootClock().id()} monotonic`);
    expect(inside.now).toBeGreaterThanOrEqual(began);
    expect(inside.now).toBeLessThanOrEqual(monotonic());
  });
});
