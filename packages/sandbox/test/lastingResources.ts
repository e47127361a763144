import { setTimeout as wait } from 'node:timers/promises';

/**
 * What would keep this process alive: sockets, servers, timers. Those of the test runner are gone within moments, so what is
 * still there after two seconds is ours.
 */
export async function lastingResources(): Promise<readonly string[]> {
  const ours = ['TCPSocketWrap', 'TCPServerWrap', 'Timeout'];
  for (let asked = 1; ; asked++) {
    await wait(20);
    const names = process.getActiveResourcesInfo().filter((name) => ours.includes(name));
    if (names.length === 0 || asked === 100) return names;
  }
}
