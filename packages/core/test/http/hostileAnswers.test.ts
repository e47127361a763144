// @module-tag slow
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { heapNeed } from '../../src/http/adapter/heapNeed.js';
import { readResponse } from '../../src/http/response/readResponse.js';
import { Secrets } from '../../src/http/secrets.js';
import { createSource, DecodeError, RateLimitError, UnexpectedRedirectError, type Source } from '../../src/index.js';
import { canary } from './canary.js';
import { openTransport } from './openTransport.js';
import { runChild } from './runChild.js';
import { answer, begun, startServer } from './scriptedServer.js';
import { nested } from '../../../../prove/hostile/hostileTexts.js';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const packed = { 'content-encoding': 'gzip' };

describe('an answer', () => {
  test.each(['list', 'record'] as const)(
    'T5 with each %s inside of another one 100,000 times is refused',
    async (kind) => {
      const server = await startServer(answer(200, `{"result":[{"id":"a","x":${nested(100_000, kind)}}]}`));
      const error: unknown = await openTransport(server.url)
        .get()
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(DecodeError);
      expect(error).toMatchObject({ message: expect.stringContaining('nested more than 500 levels deep') });
      // The same answer would come again.
      expect(server.requests).toHaveLength(1);
    },
  );

  test.each([
    [500, nested(500, 'list')],
    [500, `[${nested(499, 'record')},"${'['.repeat(1_000)}"]`],
  ])('T5 with %i levels is read', async (_levels, text) => {
    const server = await startServer(answer(200, text));
    expect((await openTransport(server.url).get()).body).toEqual(JSON.parse(text));
  });

  test('T5 with one level more is refused', async () => {
    const server = await startServer(answer(200, `[${nested(500, 'record')}]`));
    await expect(openTransport(server.url).get()).rejects.toBeInstanceOf(DecodeError);
  });

  test('T3 that would fill the memory once it is read is refused before', async () => {
    // Four million empty records: 12 KiB on the way, and 256 MB of heap.
    const server = await startServer(answer(200, gzipSync(`{"result":[${'{},'.repeat(4_000_000)}{}]}`), packed));
    const { stdout, stderr, code } = await runChild(new URL('children/request.js', import.meta.url), {
      args: [server.url],
      env: { SLUICE_API_KEY: canary },
      node: ['--max-old-space-size=128'],
    });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'response-too-large', message: expect.stringMatching(/memory/) });
  });

  test('T3 whose packed data has ended is not waited for, nor read any further', async () => {
    const server = await startServer(
      begun(gzipSync('{"fine":true}'), packed, (response) => {
        const more = (): void => {
          if (!response.destroyed) response.write(Buffer.alloc(1_024), () => setImmediate(more));
        };
        more();
      }),
    );
    expect((await openTransport(server.url).get()).body).toEqual({ fine: true });
    await server.until(() => server.requests[0]?.isAborted === true);
  });

  test.each([
    [429, RateLimitError],
    [307, UnexpectedRedirectError],
  ])('T6 with status %i and nothing that is called packed is what its status says', async (status, error) => {
    const server = await startServer(answer(status, '', packed));
    await expect(openTransport(server.url, { retry: { retries: 0 } }).get()).rejects.toBeInstanceOf(error);
  });

  test('that could not be read is not kept by its error', () => {
    const secrets = new Secrets();
    secrets.add(canary);
    const page = (): string => Buffer.from(`<p>${'x'.repeat(1_000_000)}`).toString();
    const errors: unknown[] = [];
    const before = heapInUse();
    for (const status of [200, 404, 500])
      for (let times = 0; times < 10; times += 1)
        errors.push(
          readResponse(
            { status, headers: {}, text: page() },
            { route: 'r', secrets, now: 0, credentials: { name: 'API key', isSent: true } },
          ),
        );
    expect(heapInUse() - before).toBeLessThan(3_000_000);
    expect(errors).toHaveLength(30);
  });
});

describe('a cursor', () => {
  test.each([
    ['that is longer than any address', 'x'.repeat(16_385)],
    ['of a million escapes', '%25'.repeat(1_000_000)],
    ['with half of a character', 'c\ud800'],
  ])('%s ends the walk with an error that says so', async (_kind, cursor) => {
    const error: unknown = await sourceWith([cursor])
      .toArray()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DecodeError);
    expect(error).toMatchObject({ details: { path: 'cursor' }, position: { pages: 0 } });
  });

  test('that is as long as may be is followed', async () => {
    expect(await sourceWith(['x'.repeat(16_384)]).toArray()).toEqual([{ id: 0 }, { id: 1 }]);
  });
});

test('a walk keeps the rows of its last page only', async () => {
  const rows: WeakRef<object>[] = [];
  const cursors = ['a', 'b', 'c', 'd', 'e'];
  const pages = sourceWith(cursors, (row) => rows.push(new WeakRef(row)))
    .pages({ prefetch: 0 })
    [Symbol.asyncIterator]();
  while (rows.length < cursors.length) await pages.next();
  // A weak reference keeps its row for as long as the turn of the loop that asked for it, and optimized code may keep one a little longer.
  const kept = (): boolean[] => {
    collectGarbage();
    return rows.map((row) => row.deref() !== undefined);
  };
  await expect.poll(kept).toEqual([false, false, false, false, true]);
  await pages.return();
});

/** Enough for any table of V8's to grow as it would, and for what V8 takes by the 256 KiB to be little beside it. */
const many = 100_000;
const shapes: Readonly<Record<string, (nth: number) => string>> = {
  'empty records': () => '{}',
  'empty lists': () => '[]',
  numbers: () => '1.5',
  'numbers between texts': (nth) => (nth % 2 === 0 ? '1.5' : '""'),
  'short texts': (nth) => `"${nth.toString(36).padStart(4, 'z')}"`,
  'wide texts': (nth) => `"€${nth}"`,
  'records of one kind': (nth) => `{"id":${nth},"name":"a","x":1.5}`,
  'records of as many kinds': (nth) => `{"x${nth}":1}`,
  'records in records of as many kinds': (nth) => `{"x${nth}":{}}`,
  'records with a number as a name': () => '{"4000000":1}',
  'records with __proto__': () => '{"__proto__":{}}',
  'lists of lists': () => '[[1],[""],[{}]]',
};

test.each(Object.entries(shapes))('%s take no more memory than is thought of them', (_name, shape) => {
  expectHeapOf(documentOf(many, shape));
});

// Of a text of a megabyte and more Node keeps the characters elsewhere.
test.each([4, 10])('a long text with every %ith value accented takes no more memory than is thought of it', (every) => {
  expectHeapOf(documentOf(1_600, (nth) => `"${'x'.repeat(300)}${nth % every === 0 ? 'é' : 'x'}"`));
});

function documentOf(length: number, shape: (nth: number) => string): Buffer {
  return Buffer.from(`[${Array.from({ length }, (_, nth) => shape(nth)).join(',')}]`);
}

function expectHeapOf(bytes: Buffer): void {
  const before = heapInUse();
  const kept = [bytes.toString()].map((each): [string, unknown] => [each, JSON.parse(each)]);
  expect(heapInUse() - before).toBeLessThan(heapNeed(bytes));
  expect(kept).toHaveLength(1);
}

/** What stays when garbage is collected until there is no more: what a round sets free may have held more. */
function heapInUse(): number {
  let before = Infinity;
  let now = Infinity;
  do {
    collectGarbage();
    [before, now] = [now, process.memoryUsage().heapUsed];
  } while (now < before);
  return before;
}

/** Pages of one row, each with one of these cursors, and one behind them. */
function sourceWith(cursors: readonly string[], made: (row: object) => void = () => undefined): Source<object> {
  return createSource({
    name: 'test.rows',
    identity: null,
    schema: { columns: ['id'] },
    fetch: ({ at }) => {
      const page = at && 'cursor' in at ? cursors.indexOf(at.cursor) + 1 : 0;
      const row = { id: page };
      made(row);
      const cursor = cursors[page];
      return Promise.resolve({ rows: [row], next: cursor === undefined ? 'end' : { cursor } });
    },
  });
}
