import { createServer } from 'node:http';
import { HttpError } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { Interruption } from '../../src/errors/errors.js';
import { main } from '../../src/program.js';
import { judgeWatch, type WatchState } from '../../src/watch/healthChecks.js';
import { settingsFor } from '../runSluice.js';
import { testEnvironment } from '../testEnvironment.js';
import { polled, watchArgs } from '../watching.js';

const well: WatchState = {
  health: { kind: 'idle' },
  target: 'the webhook',
  poll: { outcome: 'polled' },
  acceptedFor: 12_000,
  every: 30_000,
  isStopping: false,
};
const failed = { outcome: 'failed', error: new HttpError('No, key-0000!', { status: 502, excerpt: '' }) } as const;

test.each<[string, Partial<WatchState>, string | undefined]>([
  ['a poll was accepted', {}, undefined],
  ['changes of an earlier run were delivered', { poll: { outcome: 'replayed' } }, undefined],
  ['no poll has ended', { poll: undefined, acceptedFor: undefined }, 'No poll has succeeded yet.'],
  ['a poll failed', { poll: failed }, 'The last poll failed (HTTP 502).'],
  ['polls failed', { poll: { ...failed, failures: 3 } }, 'The last 3 polls failed (HTTP 502).'],
  [
    'a poll of ours failed',
    { poll: { outcome: 'failed', error: new TypeError('x') } },
    'The last poll failed (error).',
  ],
  [
    'the target takes nothing',
    { health: { kind: 'target', since: 12_000, cause: 'HTTP 502' } },
    'The webhook has taken nothing for 12 s (HTTP 502).',
  ],
  [
    'the target hangs',
    { health: { kind: 'target', since: 150_000 }, acceptedFor: 121_000 },
    'The last poll that succeeded was 2 min 1 s ago. The webhook has taken nothing for 2 min 30 s.',
  ],
  ['it stops', { isStopping: true }, 'The watch is stopping.'],
])('C12 a watch of which %s', (_, state, unwell) => {
  const { isWell, sentence } = judgeWatch({ ...well, ...state });
  expect({ isWell, sentence }).toEqual(
    unwell === undefined
      ? { isWell: true, sentence: 'The last poll succeeded 12 s ago.' }
      : { isWell: false, sentence: unwell },
  );
});

test('C12 a watch that is well says what it waits for', () => {
  expect(judgeWatch({ ...well, health: { kind: 'target', since: 40_000 } })).toEqual({
    isWell: true,
    sentence: 'The last poll succeeded 12 s ago. The webhook has taken nothing for 40 s.',
  });
  const backlog = { waiting: 52, each: 2_500 };
  expect(judgeWatch({ ...well, health: { kind: 'pace', part: 'target', backlog } })).toEqual({
    isWell: true,
    sentence: 'The last poll succeeded 12 s ago. The webhook sets the pace: 52 changes wait, 2.5 s each.',
  });
});

test('C12 --health answers 200 while polls are accepted, and else 503 with a sentence, until the watch ends', async () => {
  let status = 200;
  await using sandbox = await startSandbox({
    streams: 2,
    script: () => (status === 200 ? undefined : { kind: 'status', status }),
  });
  const environment = testEnvironment({ variables: settingsFor(sandbox) });
  const ended = main(watchArgs('--health', '0'), environment);
  await polled(sandbox, 3);
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+\//.exec(environment.written.stderr()) ?? [];
  const check = async () => {
    const response = await fetch(`${url}healthz?all`);
    return [response.status, await response.text()];
  };
  expect(await check()).toEqual([200, expect.stringMatching(/^The last poll succeeded \S+ m?s ago\.\n$/)]);
  status = 403;
  await polled(sandbox, 2);
  expect(await check()).toEqual([503, expect.stringMatching(/^The last (\d+ polls|poll) failed \(HTTP 403\)\.\n$/)]);
  status = 200;
  await polled(sandbox, 2);
  expect((await check())[0]).toBe(200);
  expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(405);
  const { status: headStatus } = await fetch(url, { method: 'HEAD' });
  expect(headStatus).toBe(200);
  environment.interrupt(new Interruption('SIGTERM'));
  expect(await ended).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test('--health at an address that is taken, or is none, is refused before any request', async () => {
  await using sandbox = await startSandbox();
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const said = async (given: string) => {
    const environment = testEnvironment({ variables: settingsFor(sandbox) });
    return [await main(watchArgs('--health', given), environment), environment.written.stderr()];
  };
  expect(await said(String(port))).toEqual([
    1,
    `sluice: --health can't use 127.0.0.1:${port} (EADDRINUSE). Does the same command run already? Else give another one.\n`,
  ]);
  for (const wrong of ['', 'x', '70000', 'host:', ':80', 'a b:80', 'http://x:80', '1.2.3.4:5:6'])
    expect(await said(wrong)).toEqual([2, expect.stringContaining('Give a port, or HOST:PORT')]);
  expect(sandbox.counts.requests).toBe(0);
});
