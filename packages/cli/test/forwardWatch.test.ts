import { createInterface } from 'node:readline';
import { startReceiver, startSandbox, type Receiver } from '@sluice/sandbox';
import { firstValueFrom, race, Subject, timer } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  eventsIn,
  folderWithSecret,
  forwardTo,
  forwardWatchArgs,
  here,
  holds,
  leftIn,
  placesFor,
  secret,
} from './forwarding.js';
import { settingsFor, startSluice } from './runSluice.js';
import { folded, listed, type StreamChange } from './watching.js';

/** The changes that were accepted, in the order of their sequence: those of different streams go side by side. */
function changesAt({ accepted }: Receiver): StreamChange[] {
  return [...accepted.values()]
    .map(({ body }) => JSON.parse(body) as { sequence: number; data: StreamChange })
    .toSorted((a, b) => a.sequence - b.sequence)
    .map(({ data }) => data);
}

describe('sluice streams watch --forward', () => {
  test('W1 all changes are delivered before it ends, and the next run goes on by itself', async () => {
    await using sandbox = await startSandbox({ streams: 6 });
    await using receiver = await startReceiver({ secrets: [secret], latency: 20 });
    const folder = folderWithSecret();
    const { state, dead } = placesFor(receiver);
    const args = forwardWatchArgs(receiver, '--polls', '2', '--deliveries', '2');
    const first = await here(sandbox, folder, args);
    expect(first).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^Forwarding to ${receiver.url}\\. Its state is kept in ${state}, dead letters in ${dead}\\.\n` +
            `[^\n]+Watching 6 streams[^\n]+\n6 rows at the start, 0 changes in 2 polls -> ${receiver.url}\n$`,
        ),
      ),
    });
    // The first poll walks twice, since what one walk misses must not come as added later.
    expect(sandbox.counts.requests).toBe(3);
    expect(changesAt(receiver).map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => 'initial'));

    const { id } = sandbox.setStream(4, { status: 'another' });
    const before = receiver.accepted.size;
    expect(await here(sandbox, folder, [...args, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(receiver.accepted.size).toBe(before + 1);
    expect(changesAt(receiver).at(-1)).toMatchObject({ type: 'changed', key: id, fields: ['status'] });
    expect(folded(changesAt(receiver))).toEqual(listed(sandbox));
  });

  test.each([
    ['down', 503],
    ['slow', 200],
  ])(
    'W1 polls go on while the service is %s, and JSON events and the page of health say so',
    { tags: ['slow'] },
    async (what, status) => {
      await using sandbox = await startSandbox({ streams: 60 });
      let isHolding = true;
      const held = new Subject<void>();
      await using receiver = await startReceiver({
        secrets: [secret],
        script: () => (isHolding ? { status } : 'ok'),
        onRequest: () => isHolding && what === 'slow' && firstValueFrom(race(timer(1_200), held)),
      });
      const options = { env: settingsFor(sandbox), cwd: folderWithSecret() };
      const watching = ['--every', '200ms', '--deliveries', '1', '--progress', 'json', '--max-spool', '5MB'];
      const args = forwardWatchArgs(receiver, ...watching, '--health', '127.0.0.1:0');
      const { process, ended } = startSluice(args, options);
      const events: Record<string, unknown>[] = [];
      createInterface({ input: process.stderr }).on('line', (line) =>
        events.push(JSON.parse(line) as Record<string, unknown>),
      );
      const waits =
        what === 'slow'
          ? { for: 'pace', rows: expect.any(Number), eachMs: expect.any(Number) }
          : { for: 'target', cause: 'HTTP 503' };
      await expect
        .poll(() => events, { timeout: 40_000 })
        .toContainEqual(expect.objectContaining({ event: 'waiting', ...waits }));
      const info = events.find(({ message }) => /Health checks/.test(String(message)));
      const url = /http:\S+/.exec(String(info?.['message']))?.[0] ?? '';
      const check = async (): Promise<string> => {
        const response = await fetch(url);
        return `${response.status} ${await response.text()}`;
      };
      const said =
        what === 'slow'
          ? /^200 The last poll succeeded .* ago\. The webhook sets the pace: 5\d changes wait, 1\.\d s each\.\n$/
          : /^503 The webhook has taken nothing for \d+ s \(HTTP 503\)\.\n$/;
      await expect.poll(check, { timeout: 40_000 }).toMatch(said);
      // Two walks for the first poll.
      const { requests } = sandbox.counts;
      expect(requests).toBeGreaterThan(3);
      isHolding = false;
      held.next();
      await receiver.until(() => receiver.accepted.size === 60);
      await expect
        .poll(check, { timeout: 40_000 })
        .toMatch(/^200 The last poll succeeded [^.]*( ms|\.\d s| s) ago\.\n$/);
      process.kill('SIGTERM');
      await ended;
      expect(receiver.counts.differing).toBe(0);
    },
  );

  test('W1 kill -9: each change arrives, with the id and the body that it had', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 40, statusEvery: 2 });
    await using receiver = await startReceiver({ secrets: [secret], latency: 1 });
    const folder = folderWithSecret();
    const options = { env: settingsFor(sandbox), cwd: folder };
    for (let kills = 0; kills < 3; kills += 1) {
      const { process, ended } = startSluice(forwardWatchArgs(receiver, '--quiet'), options);
      const before = receiver.counts.requests;
      await Promise.race([receiver.until(() => receiver.counts.requests > before + 60), ended]);
      process.kill('SIGKILL');
      expect((await ended).code).toBeNull();
    }
    expect((await here(sandbox, folder, forwardWatchArgs(receiver, '--polls', '1', '--quiet'))).code).toBe(0);
    const changes = changesAt(receiver);
    expect(receiver.counts.differing).toBe(0);
    // No gap: what a change left is where the next one of that stream begins.
    const known = new Map<string, string>();
    for (const { key, before, after } of changes) {
      expect(JSON.stringify(before)).toBe(known.get(key) ?? 'null');
      known.set(key, JSON.stringify(after));
    }
    expect(known.size).toBe(40);
  });

  test('W5 a service that is gone ends it with exit code 1, and no change is lost', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 6 });
    await using receiver = await startReceiver({
      secrets: [secret],
      script: ({ n }) => (n === 4 ? { status: 410 } : undefined),
    });
    const folder = folderWithSecret();
    const args = forwardWatchArgs(receiver, '--polls', '1', '--max-failures', '0', '--deliveries', '1');
    const { code, stderr } = await here(sandbox, folder, [...args, '--quiet']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^sluice: The endpoint \S+: the server responded with 410 [^\n]+ No change is lost; run the same command to resume\.\n$/,
      ),
    });
    expect(receiver.accepted.size).toBe(3);
    expect((await here(sandbox, folder, args)).code).toBe(0);
    expect(receiver.counts).toMatchObject({ accepted: 6, doubled: 0 });
    expect(folded(changesAt(receiver))).toEqual(listed(sandbox));
  });

  test(
    'W5 exit code 3 is for dead letters of this run, not of an earlier one; JSON says how many',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 6 });
      await using receiver = await startReceiver({
        secrets: [secret],
        script: (it) => (holds(it, 2) ? { status: 422 } : undefined),
      });
      const folder = folderWithSecret();
      const { state, dead } = placesFor(receiver);
      const args = forwardWatchArgs(receiver, '--polls', '1');
      const json = await here(sandbox, folder, [...args, '--progress', 'json']);
      expect(json.code).toBe(3);
      expect(eventsIn(json.stderr)).toEqual([
        expect.objectContaining({ event: 'start', target: receiver.url, format: 'json', state, deadLetterFile: dead }),
        { event: 'poll', outcome: 'polled', rows: 6, generation: 1, isSynced: true },
        { event: 'warning', message: expect.stringContaining(`set aside in ${dead}`) },
        {
          event: 'report',
          target: receiver.url,
          changes: 6,
          polls: 1,
          deliveries: 6,
          redeliveries: 0,
          deadLetters: { count: 1, path: dead },
        },
      ]);
      sandbox.setStream(0, { status: 'odd' });
      expect(await here(sandbox, folder, [...args, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(await here(sandbox, folder, [...args, '--quiet', '--restart'])).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/^sluice: 1 record was not taken and is kept in [^\n]+\n$/),
      });
      expect(changesAt(receiver).filter(({ type }) => type === 'initial')).toHaveLength(10);
    },
  );
});

test.each([
  ['and goes on by itself', [], /^$/],
  ['also with --restart', ['--restart'], /goes on from its snapshot/],
])(
  'W1 with --only status a forward reports what failed before it had that, %s',
  { tags: ['slow'] },
  async (_, more, said) => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const folder = folderWithSecret();
    const args = forwardWatchArgs(receiver, '--polls', '1');
    expect(await here(sandbox, folder, args)).toMatchObject({ code: 0 });
    const { id } = sandbox.setStream(1, { status: 'error' });
    const only = [...args, '--only', 'status', ...more];
    const { code, stderr } = await here(sandbox, folder, only);
    expect(code).toBe(0);
    expect(stderr.split('\n').find((line) => line.startsWith('sluice: ')) ?? '').toMatch(said);
    expect(changesAt(receiver).at(-1)).toMatchObject({ type: 'changed', key: id, after: { status: 'error' } });
    expect(receiver.accepted.size).toBe(4);
    expect(await here(sandbox, folder, only)).toMatchObject({ code: 0 });
    expect(changesAt(receiver).filter(({ type }) => type === 'initial')).toHaveLength(3);
  },
);

test('sluice nfts watch --forward does the same', async () => {
  await using sandbox = await startSandbox({ holdings: 20 });
  await using receiver = await startReceiver({ secrets: [secret] });
  const folder = folderWithSecret();
  const args = ['nfts', 'watch', '--owner', ...sandbox.owners, ...forwardTo(receiver), '--polls', '1', '--quiet'];
  expect(await here(sandbox, folder, [...args, '--state', 'nfts'])).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(receiver.counts).toMatchObject({ requests: 20, accepted: 20 });
  expect(leftIn(folder)).toEqual(['nfts']);
});
