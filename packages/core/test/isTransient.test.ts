import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  createClient,
  DecodeError,
  HttpError,
  isTransient,
  NetworkError,
  PaginationError,
  RateLimitError,
  RequestTimeoutError,
  SinkError,
  UnexpectedRedirectError,
} from '../src/index.js';
import { testApi } from './http/children/testApi.js';
import { answer, startServer } from './http/scriptedServer.js';
import { documentReader } from '../src/define/responses/documentReader.js';

const http = (status: number): HttpError => new HttpError('', { status, excerpt: '' });
const network = (platformCode: string): NetworkError => new NetworkError('', { details: { platformCode } });

describe('an error may pass', () => {
  test.each<readonly [string, unknown]>([
    ['a connection that was refused', network('ECONNREFUSED')],
    ['a name that was not found', network('ENOTFOUND')],
    ['a connection that broke, whatever the platform calls it', new NetworkError('')],
    ['a deadline', new RequestTimeoutError('')],
    ['a pause that is too long to be waited for', new RateLimitError('', { status: 429, retryAt: undefined })],
    ...[408, 425, 429, 500, 502, 503, 504, 507, 522, 529, 599].map(
      (status) => [`status ${status}`, http(status)] as const,
    ),
    ['a cursor that expired', new PaginationError('cursor-refused', '')],
    ['rows that moved during the walk', new PaginationError('rows-moved', '')],
  ])('%s', (_, error) => {
    expect(isTransient(error)).toBe(true);
  });

  test.each<readonly [string, unknown]>([
    ['a certificate that is not trusted', network('SELF_SIGNED_CERT_IN_CHAIN')],
    ['a certificate that expired', network('CERT_HAS_EXPIRED')],
    ...[400, 401, 403, 404, 410, 501, 505, 600].map((status) => [`status ${status}`, http(status)] as const),
    [
      'a pause of more than a day',
      new RateLimitError('', { status: 429, retryAt: undefined, details: { retryAfter: 86_400_001 } }),
    ],
    ['a circle', new PaginationError('no-progress', '')],
    ['a bound that is too low', new PaginationError('too-many-pages', '')],
    ['a redirect', new UnexpectedRedirectError('')],
    ['a row of another shape', documentReader('test').fault('result[0]', 'it is not an object')],
    ['a document of an unexpected shape', documentReader('test').fault('', 'it is not an object')],
    ['an option', new ConfigError('')],
    ['a sink', new SinkError('')],
    ["a mistake in one's own code", new TypeError('x is not a function')],
    ['what is no error', 'network'],
    ['nothing', undefined],
  ])('but not %s', (_, error) => {
    expect(isTransient(error)).toBe(false);
  });

  test.each([
    ['a web page in place of a document', answer(200, '<html>Down for maintenance</html>'), true],
    ['half of a document', answer(200, '{"rows":[{"id":1}'), true],
    ['a document that is nested absurdly deeply', answer(200, '['.repeat(1_000) + ']'.repeat(1_000)), false],
    ['503', answer(503, ''), true],
    ['401', answer(401, ''), false],
  ])('as a server means it: %s', async (_, said, isPassing) => {
    const server = await startServer(said);
    await using client = createClient({ apiKey: 'key-of-the-tests', retry: { retries: 0 } }).use(testApi(server.url));
    const error: unknown = await client.api
      .request({ route: 'test', path: '/', query: {} })
      .catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(Error);
    expect(isTransient(error)).toBe(isPassing);
    expect(error instanceof DecodeError).toBe(!['401', '503'].includes(_));
  });

  test('but not that the client is closed', async () => {
    const server = await startServer();
    const client = createClient({ apiKey: 'key-of-the-tests' }).use(testApi(server.url));
    const asked = client.api.request({ route: 'test', path: '/', query: {} }).catch((fault: unknown) => fault);
    await client.close();
    for (const error of [
      await asked,
      await client.api.request({ route: 'test', path: '/', query: {} }).catch((fault: unknown) => fault),
    ]) {
      expect(error).toMatchObject({ code: 'network' });
      expect(isTransient(error)).toBe(false);
    }
  });
});
