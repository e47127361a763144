// @module-tag slow
import { createServer } from 'node:http';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { forkChild, type Child } from '../../../core/test/node/forkChild.js';
import { Random } from '../../../../test/kit/random.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { fileLetters, idsIn, letterOf } from './deadLetterSamples.js';

const kills = 10;
const count = 150;

test('W9 a replay that its receiver kills again and again loses nothing, keeps the order of keys, and rewrites no letter', async () => {
  const random = new Random(5);
  const path = join(temporaryFolder(), 'dead.jsonl');
  const letters = Array.from({ length: count }, (_, n) =>
    letterOf(n, { key: n % 4 === 0 ? null : `key-${String(n % 9)}` }),
  );
  await fileLetters(path, letters);
  const before = readFileSync(path);
  const bodies = new Map<string, Set<string>>();
  const firsts: string[] = [];
  const inThisRound = new Set<string>();
  let child: Child | undefined;
  /** Requests until the next kill, and whether that one is still answered. */
  let fuse = Infinity;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const body = Buffer.concat(pieces).toString();
      if (!bodies.has(id)) firsts.push(id);
      inThisRound.add(id);
      bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
      const isLast = (fuse -= 1) === 0;
      if (isLast && random.chance(0.5)) child?.process.kill('SIGKILL');
      response.writeHead(200).end();
      // After the answer has left: the sender is busy noting it, or with the next one.
      if (isLast) setTimeout(() => child?.process.kill('SIGKILL'), random.int(0, 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };

  let sent = 0;
  for (let round = 0; existsSync(path); round += 1) {
    fuse = round < kills ? random.int(1, 14) : Infinity;
    child = forkChild(new URL('replayChild.ts', import.meta.url), path, `http://127.0.0.1:${String(port)}`);
    const { process: replay } = child;
    const signal = await new Promise((resolve) => replay.once('exit', (_, by) => resolve(by)));
    if (round >= kills) {
      expect(signal).toBe(null);
      expect(JSON.parse(await child.next())).toMatchObject({ stillDead: 0, left: 0 });
      break;
    }
    expect(signal).toBe('SIGKILL');
    expect(readFileSync(path)).toEqual(before);
    const noted = (await idsIn(path)).filter((id) => id.endsWith('!')).map((id) => id.slice(0, -1));
    // What is noted was taken, and of what was taken in this round all is noted but what was under way.
    for (const id of noted) expect(bodies.has(id)).toBe(true);
    expect([...inThisRound].filter((id) => !noted.includes(id)).length).toBeLessThanOrEqual(4);
    inThisRound.clear();
    expect(noted.length).toBeGreaterThanOrEqual(sent);
    sent = noted.length;
  }

  expect([...bodies.keys()].toSorted()).toEqual(letters.map(({ id }) => id).toSorted());
  for (const { id, record } of letters) expect([...bodies.get(id)!]).toEqual([JSON.stringify(record)]);
  for (let key = 0; key < 9; key += 1) {
    const own = letters.filter((letter) => letter.key === `key-${String(key)}`).map(({ id }) => id);
    expect(firsts.filter((id) => own.includes(id))).toEqual(own);
  }
  expect(readdirSync(join(path, '..'))).toEqual([]);
});
