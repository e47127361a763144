import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { CheckpointError, ConfigError, HttpError, SinkError } from '@sluice/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { faultyFileSystem } from '../../../core/test/node/faultyFileSystem.js';
import { encodeDeadLetter, type DeadLetter } from '../../src/webhook/letters/deadLetter.js';
import { deadLetterFolder } from '../../src/webhook/letters/deadLetterJournal.js';
import type { ReplayCounts, ReplayOptions } from '../../src/webhook/letters/replay.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import {
  fileLetters,
  idsIn,
  letterOf,
  openLetters,
  refusal,
  replayDeadLetters,
  type ReplayMessage,
} from './deadLetterSamples.js';

/** Says what becomes of a letter: `undefined` = it is taken. */
type Verdict = (id: string) => Error | undefined;

/** An endpoint in memory, which notes what it was given. */
function endpoint(verdict: Verdict = () => undefined): {
  readonly send: (message: ReplayMessage) => Promise<void>;
  readonly ids: string[];
} {
  const ids: string[] = [];
  const send = async ({ id }: ReplayMessage): Promise<void> => {
    ids.push(id);
    const error = verdict(id);
    if (error) throw error;
  };
  return { send, ids };
}

async function filed(...letters: readonly DeadLetter[]): Promise<string> {
  const path = join(temporaryFolder(), 'dead.jsonl');
  await fileLetters(path, letters);
  return path;
}

const left = (path: string): string[] => readdirSync(join(path, '..'));

test('W9 a replay sends the very text with the same id over a socket, and leaves nothing behind', async () => {
  const letters = [
    letterOf(1),
    letterOf(2, { record: { 'a b': [1.5, -0.000001, 1e21], text: '\u2028"\\\ud83e', n: null } }),
    letterOf(3, { record: 'bare' }),
    letterOf(1, { at: '2024-03-01T00:00:00.000Z' }),
  ];
  const path = await filed(...letters);
  const received: [unknown, string][] = [];
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      received.push([request.headers['webhook-id'], Buffer.concat(pieces).toString()]);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const counts: ReplayCounts[] = [];
  const report = await replayDeadLetters(path, {
    send: async ({ id, body, signal }) => {
      const request = { method: 'POST', body, signal, headers: { 'webhook-id': id } };
      expect((await fetch(`http://127.0.0.1:${String(port)}`, request)).status).toBe(204);
    },
    onProgress: (progress) => counts.push(progress),
  });
  expect(received).toEqual(letters.map(({ id, record }) => [id, JSON.stringify(record)]));
  expect(report).toEqual({ replayed: 4, stillDead: 0, left: 0 });
  expect(counts).toEqual([1, 2, 3, 4].map((n) => ({ replayed: n, stillDead: 0, left: 4 - n })));
  expect(left(path)).toEqual([]);
});

test('W9 a letter that is refused again stays and holds back those of its key; others go on', async () => {
  const path = await filed(
    letterOf(1, { key: 'a' }),
    letterOf(2, { key: 'b' }),
    letterOf(3, { key: 'a', attempts: 0 }),
    letterOf(4),
    letterOf(5),
  );
  const before = readFileSync(path);
  const refused: [string, unknown][] = [];
  const first = endpoint((id) => (['record-1', 'record-4'].includes(id) ? refusal(422) : undefined));
  const onRefused: ReplayOptions['onRefused'] = ({ id }, { details }) => refused.push([id, details['excerpt']]);
  expect(await replayDeadLetters(path, { send: first.send, onRefused })).toEqual({
    replayed: 2,
    stillDead: 2,
    left: 3,
  });
  expect(first.ids).toEqual(['record-1', 'record-2', 'record-4', 'record-5']);
  expect(refused).toEqual([
    ['record-1', 'because'],
    ['record-4', 'because'],
  ]);
  expect(readFileSync(path)).toEqual(before);
  expect(await idsIn(path)).toEqual(['record-1', 'record-2!', 'record-3', 'record-4', 'record-5!']);
  const second = endpoint();
  expect(await replayDeadLetters(path, { send: second.send })).toEqual({ replayed: 3, stillDead: 0, left: 0 });
  expect(second.ids).toEqual(['record-1', 'record-3', 'record-4']);
  expect(left(path)).toEqual([]);
});

describe('W9 a fault of the endpoint ends a replay, and the next one goes on there', () => {
  test.each([
    [401, refusal(401)],
    [503, refusal(503)],
    ['a lost connection', new Error('reset')],
  ])('%s', { tags: ['slow'] }, async (_, fault) => {
    const path = await filed(...[1, 2, 3, 4].map((n) => letterOf(n)));
    const first = endpoint((id) => (id === 'record-2' ? fault : undefined));
    await expect(replayDeadLetters(path, { send: first.send })).rejects.toBe(fault);
    expect(first.ids).toEqual(['record-1', 'record-2']);
    expect(await idsIn(path)).toEqual(['record-1!', 'record-2', 'record-3', 'record-4']);
    const second = endpoint();
    expect(await replayDeadLetters(path, { send: second.send })).toEqual({ replayed: 3, stillDead: 0, left: 0 });
    expect(second.ids).toEqual(['record-2', 'record-3', 'record-4']);
    expect(left(path)).toEqual([]);
  });
});

test(
  'W9 with some letters under way at once, each key keeps its order, also past refusals and an end',
  { tags: ['slow'] },
  async () => {
    const letters = Array.from({ length: 60 }, (_, n) =>
      letterOf(n, { key: n % 5 === 0 ? null : `key-${String(n % 7)}` }),
    );
    const path = await filed(...letters);
    const taken: string[] = [];
    const tries = new Map<string, number>();
    let running = 0;
    let max = 0;
    const send = async ({ id, signal }: ReplayMessage): Promise<void> => {
      running += 1;
      max = Math.max(max, running);
      const n = Number(id.slice(7));
      const attempt = (tries.get(id) ?? 0) + 1;
      tries.set(id, attempt);
      await new Promise((resolve) => setTimeout(resolve, (n * 7) % 11));
      running -= 1;
      signal.throwIfAborted();
      if (n % 13 === 4 && attempt === 1) throw refusal(409);
      if (n % 17 === 9 && attempt === 1) throw refusal(500);
      taken.push(id);
    };
    let replays = 0;
    for (; existsSync(path) && replays < 20; replays += 1)
      await replayDeadLetters(path, { send, deliveries: 8 }).catch((error: unknown) => {
        if (!(error instanceof HttpError)) throw error;
      });
    expect(replays).toBeGreaterThan(2);
    expect(max).toBe(8);
    const firsts = [...new Set(taken)];
    expect(firsts).toHaveLength(60);
    for (let key = 0; key < 7; key += 1) {
      const own = letters.filter((letter) => letter.key === `key-${String(key)}`).map(({ id }) => id);
      expect(firsts.filter((id) => own.includes(id))).toEqual(own);
    }
    expect(left(path)).toEqual([]);
  },
);

test('W9 a replay that is stopped ends at once with the reason, and what was taken stays noted', async () => {
  const path = await filed(...[1, 2, 3].map((n) => letterOf(n)));
  const stop = new AbortController();
  const reason = new Error('enough');
  const send = ({ id, signal }: ReplayMessage): Promise<void> =>
    new Promise((resolve, reject) => {
      if (id === 'record-1') {
        resolve();
        return;
      }
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      stop.abort(reason);
    });
  await expect(replayDeadLetters(path, { send, signal: stop.signal })).rejects.toBe(reason);
  expect(await idsIn(path)).toEqual(['record-1!', 'record-2', 'record-3']);
  const { send: never, ids } = endpoint();
  await expect(replayDeadLetters(path, { send: never, signal: stop.signal })).rejects.toBe(reason);
  // While the file is still being read.
  const early = new AbortController();
  const fileSystem = faultyFileSystem((call) => void (call === 'read' && early.abort(reason)));
  await expect(replayDeadLetters(path, { send: never, signal: early.signal, fileSystem })).rejects.toBe(reason);
  expect(ids).toEqual([]);
});

test('W9 what is noted can not be noted twice: the same letter in the file again is sent once', async () => {
  const path = await filed(letterOf(1), letterOf(2));
  appendFileSync(path, readFileSync(path));
  const { send, ids } = endpoint();
  expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 4, stillDead: 0, left: 0 });
  expect(ids).toEqual(['record-1', 'record-2']);
});

describe('W9 a file that people change by hand:', () => {
  test('without a line, its other letters are still known to be replayed', async () => {
    const path = await filed(...[1, 2, 3].map((n) => letterOf(n)));
    await replayDeadLetters(path, { send: endpoint((id) => (id === 'record-1' ? refusal(400) : undefined)).send });
    const [, ...others] = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, others.join('\n'));
    const { send, ids } = endpoint();
    expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 0, stillDead: 0, left: 0 });
    expect(ids).toEqual([]);
    expect(left(path)).toEqual([]);
  });

  test('a mended record is sent as it is now, though its letter was replayed before', async () => {
    const path = await filed(letterOf(1), letterOf(2));
    await replayDeadLetters(path, { send: endpoint((id) => (id === 'record-2' ? refusal(413) : undefined)).send });
    writeFileSync(path, readFileSync(path, 'utf8').replace('"n":1', '"n":17').replace('"n":2', '"n":18'));
    const bodies: string[] = [];
    await replayDeadLetters(path, { send: async ({ body }) => bodies.push(body) });
    expect(bodies.map((body) => JSON.parse(body).data.n)).toEqual([17, 18]);
  });

  test('a letter added while a replay runs is not lost with the others', async () => {
    const path = await filed(letterOf(1), letterOf(2));
    const send = async ({ id }: ReplayMessage): Promise<void> => {
      if (id === 'record-2') appendFileSync(path, `${encodeDeadLetter(letterOf(3), 'by hand')}\n`);
    };
    expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 2, stillDead: 0, left: 1 });
    expect(await idsIn(path)).toEqual(['record-1!', 'record-2!', 'record-3']);
  });

  test('a letter changed while a replay runs is not sent in place of the other', async () => {
    const path = await filed(letterOf(1), letterOf(2));
    const bodies: string[] = [];
    const send = async ({ id, body }: ReplayMessage): Promise<void> => {
      bodies.push(body);
      if (id === 'record-1') writeFileSync(path, readFileSync(path, 'utf8').replace('"n":2', '"n":3'));
    };
    await expect(replayDeadLetters(path, { send })).rejects.toThrow(/Line 2 of .* was changed while it was replayed/);
    expect(bodies).toEqual([JSON.stringify(letterOf(1).record)]);
    await replayDeadLetters(path, { send });
    expect(bodies.map((body) => JSON.parse(body).data.n)).toEqual([1, 3]);
  });
});

describe('W9 what can not be read', () => {
  test.each([1, 20, 200])('is kept and named: a last line that is cut by %i bytes', async (bytes) => {
    const path = await filed(letterOf(1), letterOf(2));
    const torn = encodeDeadLetter(letterOf(3), 'run').slice(0, -bytes);
    appendFileSync(path, torn);
    const { send, ids } = endpoint();
    await expect(replayDeadLetters(path, { send })).rejects.toThrow(`Line 3 of ${path} is cut off`);
    expect(ids).toEqual(['record-1', 'record-2']);
    expect(readFileSync(path, 'utf8').endsWith(torn)).toBe(true);

    // A replay again sends nothing twice, and the repaired line is sent.
    await expect(replayDeadLetters(path, { send })).rejects.toThrow(`Line 3 of ${path} is cut off`);
    appendFileSync(path, encodeDeadLetter(letterOf(3), 'run').slice(-bytes));
    expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 1, stillDead: 0, left: 0 });
    expect(ids).toEqual(['record-1', 'record-2', 'record-3']);
    expect(left(path)).toEqual([]);
  });

  test.each<[string, (lines: readonly string[]) => string, number]>([
    ['garbage between letters', ([first, second]) => `${first}\n?\n${second}\n`, 2],
    ['two letters on one line', ([first, second]) => `${first}${second}\n`, 1],
    ['a byte order mark', ([first, second]) => `\uFEFF${first}\n${second}\n`, 1],
    ['an empty line', ([first, second]) => `${first}\n\n${second}\n`, 2],
    ['a cut line before others', ([first, second]) => `${first?.slice(0, -20)}\n${second}\n`, 1],
    ['only a part of the first line', ([first]) => `${first?.slice(0, 30)}`, 1],
  ])('is kept and named: %s', async (_, textOf, line) => {
    const path = await filed(letterOf(1), letterOf(2));
    const text = textOf(readFileSync(path, 'utf8').split('\n'));
    writeFileSync(path, text);
    const { send, ids } = endpoint();
    await expect(replayDeadLetters(path, { send })).rejects.toThrow(`Line ${line} of ${path} is `);
    expect(ids).toEqual([]);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('is not a line that ends as on Windows', async () => {
    const path = await filed(letterOf(1), letterOf(2));
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('\n', '\r\n'));
    const { send, ids } = endpoint();
    expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 2, stillDead: 0, left: 0 });
    expect(ids).toEqual(['record-1', 'record-2']);
  });
});

describe('W9 a journal', () => {
  test('that is torn or damaged makes letters come twice, and never be left out', async () => {
    const path = await filed(letterOf(1), letterOf(2), letterOf(3));
    await replayDeadLetters(path, { send: endpoint((id) => (id === 'record-3' ? refusal(422) : undefined)).send });
    const journal = join(deadLetterFolder(path), 'replayed');
    const digests = readFileSync(journal, 'latin1').split('\n');
    expect(digests).toHaveLength(3);
    writeFileSync(journal, `no digest\n${digests[1]!}\n${digests[0]!.slice(0, 63)}`);
    expect(await idsIn(path)).toEqual(['record-1', 'record-2!', 'record-3']);
    const { send, ids } = endpoint((id) => (id === 'record-3' ? refusal(422) : undefined));
    await replayDeadLetters(path, { send });
    expect(ids).toEqual(['record-1', 'record-3']);
    expect(await idsIn(path)).toEqual(['record-1!', 'record-2!', 'record-3']);
  });

  test('without its file is what a replay left that was killed at its very end', async () => {
    for (const clear of [
      async (path: string) => {
        const { send } = endpoint();
        expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 0, stillDead: 0, left: 0 });
      },
      async (path: string) => (await openLetters(path)).close(),
    ]) {
      const path = join(temporaryFolder(), 'dead.jsonl');
      mkdirSync(deadLetterFolder(path));
      writeFileSync(join(deadLetterFolder(path), 'replayed'), `${'0'.repeat(64)}\n`);
      await clear(path);
      expect(left(path)).toEqual([]);
    }
  });
});

test('W9 a file that is not there is told, and an empty one is removed', async () => {
  const path = join(temporaryFolder(), 'dead.jsonl');
  const { send } = endpoint();
  const missing = replayDeadLetters(path, { send });
  await expect(missing).rejects.toThrow(SinkError);
  await expect(missing).rejects.toThrow(/dead\.jsonl does not exist: no dead letters were written to it, or all have/);
  expect(left(path)).toEqual([]);
  writeFileSync(path, '');
  expect(await replayDeadLetters(path, { send })).toEqual({ replayed: 0, stillDead: 0, left: 0 });
  expect(left(path)).toEqual([]);
});

test('W9 options that make no sense are refused', async () => {
  const path = await filed(letterOf(1));
  const { send, ids } = endpoint();
  await expect(replayDeadLetters(path, { send, deliveries: 0 })).rejects.toThrow(ConfigError);
  await expect(replayDeadLetters('', { send })).rejects.toThrow(ConfigError);
  writeFileSync(path, '{}\n', { flag: 'a' });
  await expect(replayDeadLetters(path, { send })).rejects.toThrow(CheckpointError);
  expect(ids).toEqual([]);
});
