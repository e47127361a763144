import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startReceiver, startSandbox, type ReceiverOptions } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { displayWidth } from '../src/terminal/width.js';
import { main } from '../src/program.js';
import { eventsIn, folderWithSecret, forwardTo, here, leftIn, otherSecret, secret, tokenPath } from './forwarding.js';
import { startShell, startSluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

/** Nothing of it is asked. */
const nowhere = { apiKey: '', streamsUrl: '', aptosUrl: '' };
const at = '2024-02-29T12:00:00.000Z';

/** The line of a dead letter, as an export writes it. */
function letter(n: number, more: object = {}): string {
  const id = `record-${String(n)}`;
  const record = { id, type: 'test.row', sequence: n, data: { n } };
  const whole = {
    id,
    key: `key ${String(n)}`,
    attempts: 1,
    status: 422,
    answer: `no ${String(n)}`,
    at,
    run: 'run',
    record,
  };
  return `${JSON.stringify({ ...whole, ...more, record })}\n`;
}

/** A folder with a secret and a file of dead letters. */
function folderWith(...letters: readonly string[]): string {
  const folder = folderWithSecret();
  writeFileSync(join(folder, 'dead.jsonl'), letters.join(''), { mode: 0o600 });
  return folder;
}

function refusing(...ids: readonly string[]): ReceiverOptions {
  return { secrets: [secret], script: ({ id }) => (ids.includes(id) ? { status: 422, body: 'still no' } : undefined) };
}

describe('sluice dlq show', () => {
  test('lists dead letters with their answers, and none of it acts on the terminal', async () => {
    const parked = { attempts: 0, status: null, answer: '' };
    const folder = folderWith(letter(1), letter(2, parked), letter(3, { key: null, answer: '\u001b[2Jgone\n' }));
    const { code, stdout, stderr } = await here(nowhere, folder, ['dlq', 'show', 'dead.jsonl']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const when = String.raw`2024-0\d-\d\d \d\d:\d\d:\d\d`;
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^status {2}when {17}attempts {2}id {8}key {4}answer$/),
      expect.stringMatching(new RegExp(`^422     ${when}         1  record-1  key 1  no 1$`)),
      expect.stringMatching(new RegExp(`^parked  ${when}         0  record-2  key 2$`)),
      expect.stringMatching(new RegExp(`^422     ${when}         1  record-3         ␛\\[2Jgone␊$`)),
      '3 dead letters in dead.jsonl.',
      '',
    ]);
  });

  test('fits into a narrow terminal', async () => {
    const folder = folderWith(letter(1, { key: 'k'.repeat(200), answer: 'a'.repeat(200) }));
    const environment = testEnvironment({ folder, columns: 60, variables: { NO_COLOR: '1' } });
    expect(await main(['dlq', 'show', 'dead.jsonl'], environment)).toBe(0);
    expect(Math.max(...environment.written.stdout().split('\n').map(displayWidth))).toBeLessThanOrEqual(60);
  });

  test.each([
    [
      'no file',
      [],
      'gone.jsonl',
      /gone\.jsonl does not exist: no dead letters were written to it, or all have been replayed/,
    ],
    [
      'a line that is no letter',
      [letter(1), '{"some":"thing"}\n'],
      'dead.jsonl',
      /^sluice: Line 2 of \S+dead\.jsonl is not a dead letter/,
    ],
    ['a folder', [], '.', /^sluice: \S+ is a folder, not a file of dead letters\. Give the name of a file\.\n$/],
  ])('%s is one sentence and exit code 1', async (_, letters, file, sentence) => {
    const { code, stderr } = await here(nowhere, folderWith(...letters), ['dlq', 'show', file]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^sluice: [^\n]+\n$/) });
    expect(stderr).toMatch(sentence);
  });

  test('a last line that is cut off is named behind the others, with exit code 1', async () => {
    const folder = folderWith(letter(1), letter(2).slice(0, -20));
    const show = (...more: string[]) => here(nowhere, folder, ['dlq', 'show', 'dead.jsonl', ...more]);
    const stderr = expect.stringMatching(/^sluice: Line 2 of dead\.jsonl is cut off, so it is not shown\. [^\n]+\n$/);
    expect(await show()).toEqual({
      code: 1,
      stdout: expect.stringContaining('\n1 dead letter in dead.jsonl.\n'),
      stderr,
    });
    const json = await show('--format', 'json');
    expect(json).toMatchObject({ code: 1, stderr });
    expect(JSON.parse(json.stdout)).toMatchObject({ letters: [{ id: 'record-1' }], total: 1 });
  });

  test('an empty file has none', async () => {
    const folder = folderWith();
    const show = (...more: string[]) => here(nowhere, folder, ['dlq', 'show', 'dead.jsonl', ...more]);
    expect(await show()).toEqual({ code: 0, stdout: '0 dead letters in dead.jsonl.\n', stderr: '' });
    expect(JSON.parse((await show('--format', 'json')).stdout)).toEqual({
      letters: [],
      total: 0,
      replayed: 0,
      left: 0,
    });
  });
});

describe('sluice dlq replay', () => {
  test('W9 sends what is left, shows what is replayed, and removes the file in the end', async () => {
    const folder = folderWith(letter(1), letter(2), letter(3), letter(4, { key: 'key 2' }));
    await using strict = await startReceiver(refusing('record-2'));
    const replay = ['dlq', 'replay', 'dead.jsonl'];
    const first = await here(nowhere, folder, [...replay, ...forwardTo(strict, '--to')]);
    expect(first).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^sluice: Record record-2 was refused again\\. The endpoint ${strict.url}: the server responded with 422 \\("still no"\\)\\. [^\n]+\n` +
            `2 dead letters replayed -> ${strict.url} \\([\\d.]+ m?s\\), 2 left \\(1 refused again, 1 behind one with its key\\)\n$`,
        ),
      ),
    });
    expect([...strict.accepted.keys()]).toEqual(['record-1', 'record-3']);

    const shown = await here(nowhere, folder, ['dlq', 'show', 'dead.jsonl']);
    expect(shown.stdout).toMatch(/^422, replayed {2}.*record-1/m);
    expect(shown.stdout).toMatch(/^422 {12}.*record-2/m);
    expect(shown.stdout).toMatch(/^4 dead letters in dead\.jsonl: 2 replayed, 2 left\.$/m);
    const json: unknown = JSON.parse(
      (await here(nowhere, folder, ['dlq', 'show', 'dead.jsonl', '--format', 'json'])).stdout,
    );
    expect(json).toMatchObject({
      letters: [
        { line: 1, isReplayed: true, id: 'record-1', key: 'key 1', status: 422, attempts: 1, at, answer: 'no 1' },
        { line: 2, isReplayed: false, id: 'record-2', record: { sequence: 2, data: { n: 2 } } },
        { line: 3, isReplayed: true },
        { line: 4, isReplayed: false },
      ],
      total: 4,
      replayed: 2,
      left: 2,
    });

    await using mended = await startReceiver({ secrets: [secret] });
    const again = await here(nowhere, folder, [
      ...replay,
      ...forwardTo(mended, '--to'),
      '--deliveries',
      '4',
      '--quiet',
    ]);
    expect(again).toEqual({ code: 0, stdout: '', stderr: '' });
    expect([...mended.accepted.keys()]).toEqual(['record-2', 'record-4']);
    expect(mended.accepted.get('record-4')?.body).toBe(
      JSON.stringify((JSON.parse(letter(4)) as { record: object }).record),
    );
    expect(leftIn(folder)).toEqual([]);
  });

  test('W5 a wrong secret ends it with exit code 1, also as an event; nothing is lost', async () => {
    const folder = folderWith(letter(1), letter(2));
    writeFileSync(join(folder, 'secret'), otherSecret);
    await using receiver = await startReceiver({ secrets: [secret] });
    const args = ['dlq', 'replay', 'dead.jsonl', ...forwardTo(receiver, '--to')];
    const { code, stderr } = await here(nowhere, folder, args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^sluice: The endpoint \S+: the server responded with 401 [^\n]+ No dead letter is lost; run the same command to resume\.\n$/,
      ),
    });
    const json = await here(nowhere, folder, [...args, '--progress', 'json']);
    expect(eventsIn(json.stderr)).toEqual([
      { event: 'start', file: 'dead.jsonl', target: receiver.url },
      { event: 'failed', exitCode: 1, message: expect.stringContaining('401'), elapsedMs: expect.any(Number) },
    ]);
    writeFileSync(join(folder, 'secret'), secret);
    const right = await here(nowhere, folder, [...args, '--progress', 'json']);
    expect(eventsIn(right.stderr).at(-1)).toEqual({
      event: 'report',
      replayed: 2,
      stillDead: 0,
      left: 0,
      elapsedMs: expect.any(Number),
    });
    expect(right.code).toBe(0);
  });

  test('W9 SIGINT: it says what is replayed, and the same command goes on', { tags: ['slow'] }, async () => {
    const folder = folderWith(letter(1), letter(2), letter(3));
    let isSlow = true;
    await using receiver = await startReceiver({
      secrets: [secret],
      script: ({ id }) => (isSlow && id === 'record-2' ? 'never' : undefined),
    });
    const { process, ended } = startSluice(['dlq', 'replay', 'dead.jsonl', ...forwardTo(receiver, '--to')], {
      cwd: folder,
    });
    await receiver.until(() => receiver.requests.some(({ id }) => id === 'record-2'));
    process.kill('SIGINT');
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(
        /^sluice: Stopped by SIGINT\. 1 dead letter is replayed, and none is lost\. Replace the address that ends in "…" with the complete one\. Resume with:\n {2}node [^\n]+\n$/,
      ),
    });
    isSlow = false;
    const command = stderr.split('\n')[1]?.replace(`'${receiver.url}/…'`, receiver.url + tokenPath) ?? '';
    expect(await startShell(`${command} --quiet`, { cwd: folder }).ended).toEqual({ code: 0, stdout: '', stderr: '' });
    expect([...receiver.accepted.keys()]).toEqual(['record-1', 'record-2', 'record-3']);
    expect(receiver.counts.doubled).toBe(0);
  });

  test('--quiet still says what is left, and only the first refusals are told one by one', async () => {
    const ids = Array.from({ length: 7 }, (_, n) => `record-${String(n)}`);
    const folder = folderWith(...ids.map((_, n) => letter(n)));
    await using receiver = await startReceiver(refusing(...ids));
    const args = ['dlq', 'replay', 'dead.jsonl', ...forwardTo(receiver, '--to')];
    expect(await here(nowhere, folder, [...args, '--quiet'])).toEqual({
      code: 3,
      stdout: '',
      stderr: 'sluice: dead.jsonl: 7 left (7 refused again).\n',
    });
    const { stderr } = await here(nowhere, folder, args);
    expect(stderr.match(/was refused again/g)).toHaveLength(5);
  });

  test.each(['export', 'watch'])(
    'what a command in another process writes to is refused (%s)',
    { tags: ['slow'] },
    async (command) => {
      await using sandbox = await startSandbox({ streams: 3 });
      await using receiver = await startReceiver({ script: ({ n }) => (n === 1 ? { status: 422 } : 'never') });
      const folder = folderWithSecret();
      const args = ['streams', command, ...forwardTo(receiver), '--dead-letters', 'dead.jsonl', '--deliveries', '1'];
      const env = { SLUICE_API_KEY: sandbox.apiKey, SLUICE_STREAMS_URL: sandbox.streamsUrl };
      const { process, ended } = startSluice(args, { cwd: folder, env });
      await receiver.until(() => receiver.counts.requests === 2);
      const { code, stderr } = await here(nowhere, folder, [
        'dlq',
        'replay',
        'dead.jsonl',
        ...forwardTo(receiver, '--to'),
      ]);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(
          new RegExp(
            `^sluice: [^\n]*in use by process ${String(process.pid)}[^\n]*Stop it, replay, and start it again: it resumes.\n$`,
          ),
        ),
      });
      process.kill('SIGKILL');
      await ended;
    },
  );
});
