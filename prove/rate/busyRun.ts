import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient } from '@sluice/core';
import { openApi, requestsOf } from './rate.js';
import { observed, type StrictRun } from './strictRun.js';

/** Seconds of requests at the full rate, and those without any, in which the server closes the idle connections. */
const [busy, idle] = [20, 6];
const concurrency = 16;
const busyLoops = 2;

/** What strict servers behind TLS observed for some minutes at once, on a machine whose processors others keep busy. */
export async function busyRuns(limits: readonly number[], minutes: number): Promise<StrictRun[]> {
  // The certificate is not signed.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const file = fileURLToPath(new URL('busyLoop.ts', import.meta.url));
  const loops = Array.from({ length: busyLoops }, () => fork(file));
  try {
    const runs = limits.map((limit) => observed(limit, (url) => sendFor(minutes, url, limit), { tls: true }));
    // The others need the loops until they end, too.
    await Promise.allSettled(runs);
    return await Promise.all(runs);
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
}

async function sendFor(minutes: number, url: string, limit: number): Promise<void> {
  const rateLimit = { requests: limit, per: 1_000 };
  await using client = createClient({ apiKey: 'no-key-is-asked-for', rateLimit, retry: { retries: 0 } });
  const api = openApi(client, url);
  for (const end = performance.now() + minutes * 60_000; performance.now() < end; await sleep(idle * 1_000))
    await requestsOf(api, busy * limit, concurrency);
}
