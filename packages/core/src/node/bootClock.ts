import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { uptime } from 'node:os';
import { promisify } from 'node:util';
import type { BootClock } from '../http/limit/budget.js';

/** Ms by which the clocks may drift apart until their difference is measured again. */
const drift = 5;

/**
 * The time since this machine booted. Linux stops its monotonic clock while the machine sleeps, so the difference from
 * its uptime is measured again when the wall clock shows that it slept, or was changed.
 */
export function machineBootClock(): BootClock {
  let ahead = 0;
  let difference = Infinity;
  return {
    async id() {
      // Within a namespace, the uptime may have an offset.
      const space = await readlink('/proc/self/ns/time').catch(() => '');
      return `${await readBootId()} ${space}`.trim();
    },
    now() {
      const own = performance.now();
      const now = Date.now() - own;
      if (!(Math.abs(now - difference) <= drift)) {
        difference = now;
        ahead = uptimeInMs() - own;
      }
      return own + ahead;
    },
  };
}

/** To 10 ms on Linux, where only this includes sleep. Elsewhere the monotonic clock does, and is more precise. */
function uptimeInMs(): number {
  return process.platform === 'linux' ? uptime() * 1_000 : Number(process.hrtime.bigint()) / 1e6;
}

/** Differs between starts of the machine; empty if it is unknown. */
async function readBootId(): Promise<string> {
  const read =
    process.platform === 'darwin'
      ? promisify(execFile)('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']).then(({ stdout }) => stdout)
      : readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return (await read.catch(() => '')).trim();
}
