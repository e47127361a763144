// @module-tag slow
import { expect, test } from 'vitest';
import { runChild } from './runChild.js';
import { answer, ok, startServer } from './scriptedServer.js';

test('thousands of requests under one signal, retries included, leave less than 300 bytes each behind', async () => {
  let nth = 0;
  const server = await startServer((response) => {
    nth += 1;
    (nth % 3 === 0 ? answer(503) : ok())(response);
  });
  const { stdout, stderr } = await runChild(new URL('./children/manyRequests.js', import.meta.url), {
    args: [server.url],
    node: ['--expose-gc'],
  });
  expect(stderr).toBe('');
  const { requests, used }: { requests: number; used: number[] } = JSON.parse(stdout);
  // The first rounds fill caches, and from one to the next some garbage may stay; a leak takes its share of all of them.
  const warm = Math.min(...used.slice(4, 6));
  const last = Math.min(...used.slice(8, 10));
  const left = (last - warm) / (requests * 4);
  expect(left).toBeLessThan(300);
});
