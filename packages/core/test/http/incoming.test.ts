import { deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createAdapter } from '../../src/http/adapter/undiciAdapter.js';
import { DecodeError, ResponseTooLargeError } from '../../src/index.js';
import { openTransport } from './openTransport.js';
import { begun, never, startServer } from './scriptedServer.js';

const packed = { 'content-encoding': 'gzip', 'content-length': 1e9 };
/** The head of a gzip member. */
const head = gzipSync('').subarray(0, 10);
/** A block of deflate that holds nothing and is not the last one: 5 bytes that may be repeated for ever. */
const nothing = Buffer.from([0, 0, 0, 0xff, 0xff]);

describe('over undici', () => {
  test('T3 packed data without an end that holds nothing is read no further than the cap', async () => {
    const server = await startServer(begun(Buffer.concat([head, ...Array(500_000).fill(nothing)]), packed, never));
    const transport = openTransport(server.url, { createAdapter, maxBodyBytes: 1_000 });
    await expect(transport.get()).rejects.toBeInstanceOf(ResponseTooLargeError);
    await server.until(() => server.requests[0]?.isAborted === true);
  });

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
