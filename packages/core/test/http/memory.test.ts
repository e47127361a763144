import { expect, test } from 'vitest';
import { runChild } from './runChild.js';
import { answer, ok, startServer } from './scriptedServer.js';

test(
  'thousands of requests under one signal, retries included, leave nothing behind',
  { timeout: 60_000 },
  async () => {
    let nth = 0;
    const server = await startServer((response) => {
      nth += 1;
      (nth % 3 === 0 ? answer(503) : ok())(response);
    });
    const { stdout, stderr } = await runChild(new URL('./children/manyRequests.ts', import.meta.url), {
      args: [server.url],
      node: ['--expose-gc'],
    });
    expect(stderr).toBe('');
    const growths: number[] = JSON.parse(stdout);
    // A leak takes something in every round: 100 bytes for each request would be seen.
    expect(Math.min(...growths)).toBeLessThan(60_000);
  },
);
