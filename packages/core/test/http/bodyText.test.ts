import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAdapter as createFetchAdapter } from '../../src/http/adapter/fetchAdapter.js';
import { createAdapter as createNodeAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { DecodeError, HttpError, isTransient, ResponseTooLargeError } from '../../src/index.js';
import { openTransport } from './openTransport.js';
import { answer, portOf, startServer } from './scriptedServer.js';

const text = '{"name":"Müller €"}';
const document = { name: 'Müller €' };

/** Windows-1252, in which `€` is 0x80: Node has no encoder for it. */
const windows1252 = Buffer.from(text.replace('€', '\x80'), 'latin1');
const certificate = (name: string): Buffer => readFileSync(new URL(`certificates/${name}`, import.meta.url));
const utf16be = Buffer.from(text, 'utf16le').swap16();

describe.each([
  ['node:http', createNodeAdapter],
  ['fetch', createFetchAdapter],
])('over %s', (_name, createAdapter) => {
  const serve = async (body: string | Buffer, headers: Record<string, string>, status = 200) => {
    const server = await startServer(answer(status, body, headers));
    return { server, transport: openTransport(server.url, { createAdapter, maxBodyBytes: 10_000 }) };
  };

  test.each([
    ['ISO-8859-1', 'application/json; charset=ISO-8859-1', windows1252],
    ['windows-1252, quoted', 'application/json;charset="windows-1252"', windows1252],
    ['ISO-8859-15', 'text/plain; charset=iso-8859-15', Buffer.from(text.replace('€', '\xa4'), 'latin1')],
    ['UTF-16 with a mark', 'application/json; charset=utf-16', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['UTF-16BE', 'application/json; charset=UTF-16BE', utf16be],
    [
      'UTF-16 with a mark that turns its bytes',
      'application/json; charset=utf-16',
      Buffer.concat([Buffer.from([0xfe, 0xff]), utf16be]),
    ],
    ['utf8mb4, as a database names it', 'application/json; charset=utf8mb4', Buffer.from(text)],
    ['ISO-8859-1, while the bytes are UTF-8', 'application/json; charset=ISO-8859-1', Buffer.from(text)],
    ['nothing', 'application/json', Buffer.from(`\uFEFF${text}`)],
  ])('R9 a body is read in its declared charset: %s', async (_charset, type, bytes) => {
    const { transport } = await serve(bytes, { 'content-type': type });
    expect((await transport.get()).body).toEqual(document);
  });

  test('R9 every character of UTF-8 is read as it was sent', { tags: ['slow'] }, async () => {
    const codes = Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => code < 0xd800 || code > 0xdfff);
    const all = codes.map((code) => String.fromCodePoint(code)).join('');
    const server = await startServer(answer(200, JSON.stringify(all), {}));
    const { body } = await openTransport(server.url, { createAdapter, maxBodyBytes: 10_000_000 }).get();
    expect(body === all).toBe(true);
  });

  test('R9 every byte of windows-1252 becomes its character', async () => {
    const bytes = Buffer.from(Array.from({ length: 128 }, (_, at) => at + 128));
    const { transport } = await serve(Buffer.concat([Buffer.from('"'), bytes, Buffer.from('"')]), {
      'content-type': 'application/json; charset=windows-1252',
    });
    const { body } = await transport.get();
    expect(body).toHaveLength(128);
    expect(String(body).slice(0, 32)).toBe('€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ');
    expect(String(body).slice(32)).toBe(bytes.subarray(32).toString('latin1'));
  });

  test.each([
    [
      'a charset that is not known',
      { 'content-type': 'application/json; charset=x-klingon' },
      '{}',
      /charset that this platform can't decode \(x-klingon\)/,
    ],
    [
      'bytes that the charset does not have',
      { 'content-type': 'application/json; charset=shift_jis' },
      Buffer.from('"\x80\xff"', 'latin1'),
      /not SHIFT_JIS text/,
    ],
    [
      'an encoding that is not supported',
      { 'content-encoding': 'zstd' },
      Buffer.from('28b52ffd2023', 'hex'),
      /Content-Encoding.*\(zstd\)/,
    ],
  ])('R11 the error names %s, and it is not retried', async (_what, headers, body, says) => {
    const { server, transport } = await serve(body, headers);
    const error: unknown = await transport.get().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DecodeError);
    expect(error).toMatchObject({ message: expect.stringMatching(says) });
    expect(isTransient(error)).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  test('R11 the status of an error counts, although its body is in another charset', async () => {
    const { server, transport } = await serve(windows1252, { 'content-type': 'text/html' }, 404);
    await expect(transport.get()).rejects.toBeInstanceOf(HttpError);
    expect(server.requests).toHaveLength(1);
  });

  test.each(['application/gzip', 'application/json'])('R9 a gzip file is unpacked: %s', async (type) => {
    const { transport } = await serve(gzipSync(text), { 'content-type': type });
    expect((await transport.get()).body).toEqual(document);
  });

  test('R9 T3 a gzip file counts unpacked', { tags: ['slow'] }, async () => {
    const whole = JSON.stringify('x'.repeat(9_998));
    const { transport } = await serve(gzipSync(whole), { 'content-type': 'application/gzip' });
    expect((await transport.get()).body).toHaveLength(9_998);
    const bomb = await serve(gzipSync('0'.repeat(20_000_000)), { 'content-type': 'application/gzip' });
    await expect(bomb.transport.get()).rejects.toBeInstanceOf(ResponseTooLargeError);
    expect(bomb.server.requests).toHaveLength(1);
  });

  test('R9 T5 a gzip file that is cut is retried', async () => {
    const packed = gzipSync(text);
    const server = await startServer(
      answer(200, packed.subarray(0, packed.length - 6), { 'content-type': 'application/gzip' }),
      answer(200, packed, { 'content-type': 'application/gzip' }),
    );
    const { body, attempts } = await openTransport(server.url, { createAdapter, maxBodyBytes: 10_000_000 }).get();
    expect({ body, attempts }).toEqual({ body: document, attempts: 2 });
  });

  test('R9 a gzip file of UTF-16 is unpacked, and read in its charset', async () => {
    const packed = gzipSync(Buffer.from(text, 'utf16le'));
    const { transport } = await serve(packed, { 'content-type': 'application/json; charset=utf-16le' });
    expect((await transport.get()).body).toEqual(document);
  });
});

describe('over node:http', () => {
  const get = async (body: Buffer, encoding: string) => {
    const server = await startServer(answer(200, body, { 'content-encoding': encoding }));
    return { server, got: openTransport(server.url, { createAdapter: createNodeAdapter, maxBodyBytes: 10_000 }).get() };
  };

  test.each([
    ['gzip, identity', gzipSync(text)],
    ['gzip, gzip', gzipSync(gzipSync(text))],
    ['X-GZIP', gzipSync(text)],
    ['identity', Buffer.from(text)],
    ['UTF-8', Buffer.from(text)],
  ])('R9 a Content-Encoding of several, or none: %s', async (encoding, body) => {
    expect((await (await get(body, encoding)).got).body).toEqual(document);
  });

  test.each([
    ['deflate', deflateRawSync(text)],
    ['gzip', Buffer.from(text)],
    ['br', Buffer.from(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
  ])('R11 a body that is not what its Content-Encoding (%s) says is named, and not retried', async (encoding, body) => {
    const { server, got } = await get(body, encoding);
    const error: unknown = await got.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'decode', message: expect.stringContaining(`(${encoding})`) });
    expect(isTransient(error)).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  test('R11 a server that speaks HTTP/2 only is named, and asked once', async () => {
    const server = createSecureServer({ key: certificate('server.key'), cert: certificate('server.pem') });
    let connections = 0;
    server.on('connection', () => (connections += 1)).on('unknownProtocol', (socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `https://127.0.0.1:${portOf(server.address())}`;
    await expect(openTransport(url, { createAdapter: createNodeAdapter }).get()).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('HTTP/2 only'),
    });
    expect(connections).toBe(1);
  });

  test('R9 T3 a gzip file within gzip counts unpacked', { tags: ['slow'] }, async () => {
    const { got } = await get(gzipSync(gzipSync('0'.repeat(20_000_000))), 'gzip');
    await expect(got).rejects.toBeInstanceOf(ResponseTooLargeError);
  });
});
