import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startReceiver, startSandbox, type ReceiverAnswer } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import {
  eventsIn,
  folderWithSecret,
  forwardArgs,
  forwardTo,
  here,
  holds,
  leftIn,
  otherSecret,
  placesFor,
  rowsAt,
  rowsOf,
  secret,
  tokenPath,
} from './forwarding.js';
import { filesIn, interrupt } from './interruptedExport.js';
import { settingsFor, sluice, startShell } from './runSluice.js';

describe('sluice nfts export --forward', () => {
  test('W3 every row arrives, signed, once, and nothing is left behind', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 250 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const cwd = folderWithSecret();
    const { state, dead } = placesFor(receiver);
    expect(await sluice(forwardArgs(sandbox, receiver), { env: settingsFor(sandbox), cwd })).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^Forwarding to ${receiver.url}\\. Its state is kept in ${state}, dead letters in ${dead}\\.\n` +
            // On a busy machine it takes long enough to show its progress.
            `(?:250 rows, .*/s, .*\n)*250 rows in 3 pages -> ${receiver.url} \\([\\d.]+ m?s\\)\n$`,
        ),
      ),
    });
    expect(rowsAt(receiver)).toEqual(rowsOf(sandbox));
    expect(receiver.counts).toMatchObject({ requests: 250, refused: 0 });
    expect(leftIn(cwd)).toEqual([]);
  });

  test('W3 W6 in batches, with headers, and with two secrets while one replaces the other', async () => {
    await using sandbox = await startSandbox({ holdings: 250 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const folder = folderWithSecret(otherSecret, secret);
    writeFileSync(join(folder, 'headers'), 'Authorization: Bearer t0ken-of-250-rows\n\nX-Team: nft:s \n');
    const args = forwardArgs(sandbox, receiver, '--batch', '40', '--header-file', 'headers', '--quiet');
    expect(await here(sandbox, folder, args)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(rowsAt(receiver)).toEqual(rowsOf(sandbox));
    expect(receiver.requests.map(({ records }) => records).toSorted()).toEqual([10, 20, 20, 40, 40, 40, 40, 40]);
    for (const { headers } of receiver.requests)
      expect(headers).toMatchObject({ authorization: 'Bearer t0ken-of-250-rows', 'x-team': 'nft:s' });
  });

  test('L1 no faster than --delivery-rate allows', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 7 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const began = performance.now();
    const args = forwardArgs(sandbox, receiver, '--delivery-rate', '3/s', '--quiet');
    expect(await here(sandbox, folderWithSecret(), args)).toEqual({ code: 0, stdout: '', stderr: '' });
    // The seventh starts two seconds after the first.
    expect(performance.now() - began).toBeGreaterThan(2_000);
    expect(receiver.counts).toMatchObject({ requests: 7, accepted: 7 });
  });

  test('sluice streams export does the same, with the secret of the environment and places of its own', async () => {
    await using sandbox = await startSandbox({ streams: 30 });
    await using receiver = await startReceiver({
      secrets: [secret],
      script: (it) => (holds(it, 3) ? { status: 413 } : undefined),
    });
    const folder = folderWithSecret();
    const to = ['--forward', receiver.url, '--allow-address', 'localhost,10.0.0.0/8', '--allow-address', '127.0.0.0/8'];
    const args = ['streams', 'export', ...to, '--state', 'kept/streams.sluice'];
    const { code, stderr } = await here(sandbox, folder, args, { SLUICE_WEBHOOK_SECRET: secret });
    expect(code).toBe(1);
    expect(stderr).toContain('kept does not exist');
    const { code: second } = await here(sandbox, folder, args.with(-1, 'streams.sluice'), {
      SLUICE_WEBHOOK_SECRET: secret,
    });
    expect(second).toBe(3);
    expect(receiver.accepted.size).toBe(29);
    expect(leftIn(folder)).toEqual(['streams.dead.jsonl']);
  });
});

describe('a forward that was interrupted', () => {
  test('W1 SIGINT: it says what is delivered, and the same command sends the rest', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 1500, latency: 3 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const options = { env: settingsFor(sandbox), cwd: folderWithSecret() };
    const args = forwardArgs(sandbox, receiver, '--page-size', '25', '--progress', 'none');
    const stopped = await interrupt(sandbox, [...args, '--restart'], { ...options, after: 25 });
    expect(stopped).toMatchObject({ code: 130, stdout: '' });
    const [sentence = '', command = '', end] = stopped.stderr.split('\n');
    expect(sentence).toMatch(
      /^sluice: Stopped by SIGINT\. At least [\d,]+ rows are delivered, and none is lost\. Replace the address that ends in "…" with the complete one\. Resume with:$/,
    );
    expect(command).toMatch(/^ {2}node \S+bin\.js nfts export --owner 0x/);
    expect(command).not.toContain('--restart');
    expect(end).toBe('');
    expect(leftIn(options.cwd)).toEqual([placesFor(receiver).state]);

    const whole = command.replace(`'${receiver.url}/…'`, receiver.url + tokenPath);
    expect(whole).not.toBe(command);
    const { code, stderr } = await startShell(whole, options).ended;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^Resuming after [\d,]+ rows \(\d+ pages\), at page \d+\.\n1,500 rows in 60 pages -> /,
      ),
    });
    expect(rowsAt(receiver)).toEqual(rowsOf(sandbox));
    // What was under way when it was stopped may have been taken without our learning of it.
    expect(receiver.counts.doubled).toBeLessThanOrEqual(8);
    expect(receiver.counts.differing).toBe(0);
    expect(leftIn(options.cwd)).toEqual([]);
  });

  test('W1 kill -9: the same command loses nothing, and what comes twice is the same', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 1500, latency: 3 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const options = { env: settingsFor(sandbox), cwd: folderWithSecret() };
    const args = forwardArgs(sandbox, receiver, '--page-size', '25', '--progress', 'none', '--concurrency', '2');
    expect(await interrupt(sandbox, args, { ...options, after: 25, signal: 'SIGKILL' })).toMatchObject({ code: null });
    expect(receiver.accepted.size).toBeGreaterThan(0);
    expect(receiver.accepted.size).toBeLessThan(1500);
    expect(await sluice([...args, '--quiet'], options)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(rowsAt(receiver)).toEqual(rowsOf(sandbox));
    expect(receiver.counts.differing).toBe(0);
    expect(leftIn(options.cwd)).toEqual([]);
  });

  test('--restart sends everything again, as new events', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 60 });
    await using receiver = await startReceiver({
      secrets: [secret],
      script: ({ n }) => (n === 41 ? { status: 404 } : undefined),
    });
    const folder = folderWithSecret();
    const args = forwardArgs(sandbox, receiver, '--deliveries', '1', '--quiet');
    expect((await here(sandbox, folder, args)).code).toBe(1);
    expect(receiver.accepted.size).toBe(40);
    expect(await here(sandbox, folder, [...args, '--restart'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(receiver.counts).toMatchObject({ accepted: 100, doubled: 0 });
  });
});

describe('an endpoint that takes nothing', () => {
  test(
    'W5 with a wrong secret: exit code 1 and no dead letter; with the right one nothing is missing',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 120 });
      await using receiver = await startReceiver({ secrets: [secret] });
      const folder = folderWithSecret(otherSecret);
      const args = forwardArgs(sandbox, receiver, '--progress', 'none');
      const wrong = await here(sandbox, folder, args);
      expect(wrong).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          new RegExp(
            `^sluice: The endpoint ${receiver.url}: the server responded with 401 [^\n]*check the secret\\. No row is lost; run the same command to resume\\.\n$`,
          ),
        ),
      });
      expect(receiver.accepted.size).toBe(0);
      expect(leftIn(folder)).toEqual([placesFor(receiver).state]);

      writeFileSync(join(folder, 'secret'), secret);
      const { code, stderr } = await here(sandbox, folder, args);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(
          /^Resuming from the first page; delivered records are not sent again\.\n120 rows/,
        ),
      });
      expect(rowsAt(receiver)).toEqual(rowsOf(sandbox));
      expect(receiver.counts.doubled).toBe(0);
      expect(leftIn(folder)).toEqual([]);
    },
  );

  test.each<[string, ReceiverAnswer, string]>([
    ['is gone', { status: 410 }, 'It is permanently gone'],
    ['is not where it should be', { status: 404 }, 'Check its URL.'],
    ['leads elsewhere', { status: 302, headers: { location: 'http://127.0.0.1/' } }, 'responded with a redirect (302)'],
    ['wants to be left alone for an hour', { status: 429, retryAfter: 3600 }, 'the server asked to wait 3600 s'],
  ])('W4 W5 one that %s: its own sentence, and what is kept', { tags: ['slow'] }, async (_, answer, sentence) => {
    await using sandbox = await startSandbox({ holdings: 120 });
    await using receiver = await startReceiver({ secrets: [secret], script: ({ n }) => (n > 30 ? answer : undefined) });
    const folder = folderWithSecret();
    const { code, stderr } = await here(sandbox, folder, forwardArgs(sandbox, receiver, '--progress', 'none'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sluice: The endpoint [^\n]+ No row is lost; run the same command to resume\.\n$/);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('doctor');
    expect(leftIn(folder)).toEqual([placesFor(receiver).state]);
  });

  test('W8 on this machine, which was not allowed: exit code 1, and nobody was asked for anything', async () => {
    await using sandbox = await startSandbox({ holdings: 120 });
    await using receiver = await startReceiver();
    const folder = folderWithSecret();
    const args = forwardArgs(sandbox, receiver).filter((arg) => !['--allow-address', '127.0.0.1'].includes(arg));
    expect(await here(sandbox, folder, args)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'sluice: 127.0.0.1 is a loopback address, so nothing is sent there. The entry 127.0.0.1 allows it. If it is the right place, add that to --allow-address.\n',
    });
    expect([sandbox.counts.requests, receiver.connections, leftIn(folder)]).toEqual([0, 0, []]);
  });

  test('the state of another forward is refused, and the sentence says how to have one of its own', async () => {
    await using sandbox = await startSandbox({ holdings: 120 });
    await using receiver = await startReceiver({ secrets: [secret], script: [{ status: 410 }] });
    const folder = folderWithSecret();
    expect((await here(sandbox, folder, forwardArgs(sandbox, receiver))).code).toBe(1);
    const before = filesIn(folder);
    const { code, stderr } = await here(sandbox, folder, [
      'streams',
      'export',
      ...forwardTo(receiver),
      '--progress',
      'none',
    ]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^sluice: The checkpoint was written with different settings \(what is exported\)\. It was made with .*wallets: \d of --owner; command: sluice nfts export [^\n]*\/….* Use the previous settings, or start over with --restart: nothing was changed\. If it is that of another forward: --state DIR gives this one a state, and dead letters, of its own\.\n$/,
      ),
    });
    expect(filesIn(folder)).toEqual(before);
  });
});

describe('a record that is refused for what it is', () => {
  const poison = [7, 31];

  test.each([
    ['lines', ['--progress', 'none']],
    ['--quiet', ['--quiet']],
  ])('W5 exit code 3, with the number and what to do: %s', async (mode, more) => {
    await using sandbox = await startSandbox({ holdings: 60 });
    await using receiver = await startReceiver({
      secrets: [secret],
      script: (it) => (poison.some((n) => holds(it, n)) ? { status: 422, body: 'too\nlong' } : undefined),
    });
    const folder = folderWithSecret();
    const { dead } = placesFor(receiver);
    const { code, stderr } = await here(sandbox, folder, forwardArgs(sandbox, receiver, '--batch', '20', ...more));
    expect(code).toBe(3);
    const lines = stderr.split('\n');
    expect(lines.at(-2)).toBe(
      `sluice: 2 records were not taken and are kept in ${dead}: look at them with "sluice dlq show ${dead}", and send them again with "sluice dlq replay ${dead} --to URL --secret-file FILE".`,
    );
    if (mode === '--quiet') expect(lines).toHaveLength(2);
    else {
      expect(lines[0]).toMatch(
        new RegExp(`^sluice: Record \\w{32} was refused with 422 \\("too long"\\), and set aside in ${dead}\\.$`),
      );
      expect(lines[2]).toMatch(/^60 rows in 1 page -> \S+ \([\d.]+ m?s, 2 dead letters\)$/);
    }
    expect(receiver.accepted.size).toBe(58);
    expect(leftIn(folder)).toEqual([dead]);
  });

  test('--progress json has it in the report, and every line is JSON', async () => {
    await using sandbox = await startSandbox({ holdings: 60 });
    await using receiver = await startReceiver({
      secrets: [secret],
      script: (it) => (holds(it, 7) ? { status: 400 } : it.n === 3 ? 'error' : undefined),
    });
    const folder = folderWithSecret();
    const { state, dead } = placesFor(receiver);
    const { code, stderr } = await here(sandbox, folder, forwardArgs(sandbox, receiver, '--progress', 'json'));
    expect(code).toBe(3);
    const events = eventsIn(stderr).filter(({ event }) => event !== 'progress');
    const target = { target: receiver.url };
    expect(events).toEqual([
      { event: 'start', source: 'aptos.nfts', ...target, format: 'json', state, deadLetterFile: dead },
      { event: 'warning', message: expect.stringContaining(`set aside in ${dead}`) },
      expect.objectContaining({
        event: 'report',
        ...target,
        rows: 60,
        pages: 1,
        requests: 1,
        deliveries: 61,
        redeliveries: 1,
        deadLetters: { count: 1, path: dead },
      }),
    ]);
  });

  test(
    'W5 more than --max-dead-letters are no accident: exit code 1, and with more of them allowed it goes on',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 60 });
      await using receiver = await startReceiver({
        secrets: [secret],
        script: (it) => (poison.some((n) => holds(it, n)) ? { status: 422 } : undefined),
      });
      const folder = folderWithSecret();
      const args = forwardArgs(sandbox, receiver, '--progress', 'none', '--dead-letters', 'dead.jsonl');
      const { code, stderr } = await here(sandbox, folder, [...args, '--max-dead-letters', '1']);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /, and 1 before it: too many to continue\. See \S+dead\.jsonl for the reasons\. Raise --max-dead-letters to continue anyway\. 1 record was set aside in dead\.jsonl\. No row is lost; run the same command to resume\.\n$/,
      );
      const again = await here(sandbox, folder, args);
      expect(again).toMatchObject({ code: 3, stderr: expect.stringContaining('sluice: 2 records were not taken') });
      expect(receiver.accepted.size).toBe(58);
    },
  );
});

test(
  'T2 no secret, no token and nothing behind the origin is ever shown or kept, whatever the service quotes',
  { tags: ['slow'] },
  async () => {
    const header = 'he4der-token-5f1d77a1e0';
    const canaries = [secret, secret.slice('whsec_'.length), tokenPath, tokenPath.slice('/hooks/'.length), header];
    await using sandbox = await startSandbox({ holdings: 30 });
    const body = `no: ${canaries.join(' ')}`;
    await using receiver = await startReceiver({
      script: (it) => (holds(it, 2) ? { status: 422, body } : it.n === 20 ? { status: 403, body } : undefined),
    });
    const folder = folderWithSecret();
    writeFileSync(join(folder, 'headers'), `Authorization: Bearer ${header}\n`);
    const { dead } = placesFor(receiver);
    const debug = { SLUICE_DEBUG: '1' };
    const args = forwardArgs(sandbox, receiver, '--header-file', 'headers', '--deliveries', '1');
    const said = [
      await here(sandbox, folder, args, debug),
      await here(sandbox, folder, [...args, '--progress', 'json'], debug),
      await here(sandbox, folder, ['dlq', 'show', dead], debug),
      await here(sandbox, folder, ['dlq', 'show', dead, '--format', 'json'], debug),
      await here(
        sandbox,
        folder,
        ['dlq', 'replay', dead, ...forwardTo(receiver, '--to'), '--header-file', 'headers'],
        debug,
      ),
    ];
    expect(said.map(({ code }) => code)).toEqual([1, 3, 0, 0, 3]);
    const all =
      said.flatMap(({ stdout, stderr }) => [stdout, stderr]).join('\n') + readFileSync(join(folder, dead), 'utf8');
    expect(all.match(/no: /g)?.length).toBeGreaterThan(5);
    for (const canary of canaries) expect(all).not.toContain(canary);
  },
);
