import { getHeapStatistics } from 'node:v8';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { heapNeed } from '../../src/http/adapter/heapNeed.js';
import { createAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { DecodeError, ResponseTooLargeError } from '../../src/index.js';
import { openTransport } from './openTransport.js';
import { answer, begun, never, startServer } from './scriptedServer.js';

const packed = { 'content-encoding': 'gzip', 'content-length': 1e9 };
/** The head of a gzip member. */
const head = gzipSync('').subarray(0, 10);
/** A block of deflate that holds nothing and is not the last one: 5 bytes that may be repeated for ever. */
const nothing = Buffer.from([0, 0, 0, 0xff, 0xff]);

describe('over node:http', () => {
  test(
    'T3 packed data without an end that holds nothing is read no further than the cap',
    { tags: ['slow'] },
    async () => {
      const server = await startServer(begun(Buffer.concat([head, ...Array(500_000).fill(nothing)]), packed, never));
      const transport = openTransport(server.url, { createAdapter, maxBodyBytes: 1_000 });
      await expect(transport.get()).rejects.toBeInstanceOf(ResponseTooLargeError);
      await server.until(() => server.requests[0]?.isAborted === true);
    },
  );

  test('T3 data that could not be packed may be as long as the cap', async () => {
    const text = JSON.stringify('x'.repeat(998));
    const member = gzipSync(text, { level: 0 });
    expect(member.length).toBeGreaterThan(1_000);
    expect(deflateRawSync(text, { level: 0 }).length).toBeGreaterThan(1_000);
    const headers = { 'content-encoding': 'gzip', 'content-length': member.length };
    const server = await startServer(begun(member, headers, (response) => response.end()));
    const transport = openTransport(server.url, { createAdapter, maxBodyBytes: 1_000 });
    expect((await transport.get()).body).toHaveLength(998);
  });

  test('T3 a body may be as long as the cap, packed or not, and no byte longer', async () => {
    const get = async (body: string | Buffer, headers = {}): Promise<unknown> => {
      const server = await startServer(answer(200, body, headers));
      return (await openTransport(server.url, { createAdapter, maxBodyBytes: 1_000 }).get()).body;
    };
    for (const length of [1_000, 1_001]) {
      const text = JSON.stringify('x'.repeat(length - 2));
      for (const body of [get(text), get(gzipSync(text), { 'content-encoding': 'gzip' })]) {
        if (length === 1_000) expect(await body).toHaveLength(998);
        else await expect(body).rejects.toBeInstanceOf(ResponseTooLargeError);
      }
    }
  });

  test('T3 a body may need a sixteenth of the heap once it is read, and no more', { tags: ['slow'] }, async () => {
    const max = getHeapStatistics().heap_size_limit / 16;
    const records = (count: number): string => `[${'{},'.repeat(count)}{}]`;
    // Each needs the same, and a blank needs two bytes.
    const each = heapNeed(Buffer.from(records(1))) - heapNeed(Buffer.from(records(0)));
    const heaviest = records(Math.floor(max / each) - 2);
    const blanks = ' '.repeat(Math.floor((max - heapNeed(Buffer.from(heaviest))) / 2));
    const adapter = createAdapter({ connectTimeout: 10_000, maxBodyBytes: Infinity });
    onTestFinished(() => adapter.close());
    const send = async (text: string): Promise<number> => {
      const { url } = await startServer(answer(200, text));
      return (await adapter.send({ url, method: 'GET', headers: {} })).status;
    };
    expect(await send(heaviest + blanks)).toBe(200);
    await expect(send(`${heaviest}${blanks} `)).rejects.toMatchObject({ kind: 'too-heavy' });
  });

  test('T5 a long text that claims to be packed, on a connection that ends with it, is a DecodeError', async () => {
    for (const length of [16_384, 40_000, 65_536, 300_000]) {
      const server = await startServer(({ socket }) => {
        socket?.end(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n${'x'.repeat(length)}`);
      });
      const transport = openTransport(server.url, { createAdapter, retry: { retries: 0 } });
      await expect(transport.get()).rejects.toBeInstanceOf(DecodeError);
    }
  });
});
