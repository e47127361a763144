import { execFile } from 'node:child_process';
import { readFile, readlink, stat } from 'node:fs/promises';
import { uptime } from 'node:os';
import { promisify } from 'node:util';
import type { BootClock } from '../timeline.js';

/** Ms by which the clocks may drift apart until their difference is measured again. */
const drift = 5;

/**
 * The time since this machine booted. Linux stops its monotonic clock while the machine sleeps, so the difference from
 * its uptime is measured again when the wall clock shows that it slept, or was changed. A container with an uptime of
 * its own (lxcfs) has only the monotonic clock in common with others.
 */
export function machineBootClock(): BootClock {
  let ahead = 0;
  let difference = Infinity;
  let uptimeInMs = monotonicInMs;
  return {
    async id() {
      const id = await readBootId();
      if (id === '' || process.platform !== 'linux') return id;
      if (await isUptimeShared()) uptimeInMs = wholeUptimeInMs;
      difference = Infinity;
      // Within a namespace, the uptime may have an offset.
      const space = await readlink('/proc/self/ns/time').catch(() => '');
      return [id, space, uptimeInMs === monotonicInMs ? 'monotonic' : ''].filter(Boolean).join(' ');
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

/** With sleep everywhere but on Linux. */
function monotonicInMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** On Linux with sleep, to 10 ms. */
function wholeUptimeInMs(): number {
  return uptime() * 1_000;
}

/** Whether the uptime is that of the machine: nothing is mounted in its place. */
async function isUptimeShared(): Promise<boolean> {
  const devices = await Promise.all(
    ['/proc', '/proc/uptime'].map((path) =>
      stat(path).then(
        ({ dev }) => dev,
        () => path,
      ),
    ),
  );
  return devices[0] === devices[1];
}

/** Differs between starts of the machine; empty if it is unknown. */
async function readBootId(): Promise<string> {
  const read =
    process.platform === 'darwin'
      ? promisify(execFile)('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']).then(({ stdout }) => stdout)
      : readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return (await read.catch(() => '')).trim();
}
