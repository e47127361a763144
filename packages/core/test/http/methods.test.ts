import { describe, expect, test } from 'vitest';
import type { RequestDetails } from '../../src/define/index.js';
import { openTransport, route } from './openTransport.js';
import { answer, hangUp, ok, startServer } from './scriptedServer.js';

const details = { method: 'POST', body: { a: [1, null, 'é'] } } satisfies RequestDetails;

describe('A3 a request', () => {
  test('sends its method, and its body as JSON in UTF-8', async () => {
    const server = await startServer(ok());
    await openTransport(server.url).get({ ...details, headers: { 'x-version': '2' } });
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        body: '{"a":[1,null,"é"]}',
        headers: { 'content-type': 'application/json', accept: 'application/json', 'x-version': '2' },
      },
    ]);
    expect(server.requests[0]?.headers['content-length']).toBe('19');
  });

  test.each(['PUT', 'PATCH', 'DELETE'] as const)(
    'may be a %s, and then be answered without a document',
    async (method) => {
      const server = await startServer(answer(204));
      const transport = openTransport(server.url);
      expect(await transport.get({ method })).toMatchObject({ status: 204, body: null });
      expect(server.requests).toMatchObject([{ method, body: '' }]);
      expect(transport.events[0]).toMatchObject({ type: 'request', method });
    },
  );

  test('that only reads needs a document with a status that has one', async () => {
    const server = await startServer(answer(200, ''));
    await expect(openTransport(server.url, { retry: { retries: 0 } }).get()).rejects.toMatchObject({ code: 'decode' });
  });

  test('takes a part of a document only if it asked for one, and a page of rows that comes with 206', async () => {
    const part = { 'content-range': 'bytes 0-3/90' };
    const retry = { retries: 0 };
    const server = await startServer(answer(206, '[1]', part));
    const transport = openTransport(server.url, { retry });
    await expect(transport.get()).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('a part of a document (206, with a Content-Range in bytes)') as string,
    });
    expect(await transport.get({ headers: { Range: 'bytes=0-3' } })).toMatchObject({ body: [1] });
    const paged = await startServer(answer(206, '[1]', { 'content-range': 'items 0-24/90' }));
    expect(await openTransport(paged.url, { retry }).get()).toMatchObject({ status: 206, body: [1] });
  });

  test.each<[string, object]>([
    ['a method that there is not', { method: 'post' }],
    ['a body for a GET', { body: {} }],
    ['a body that JSON would change', { method: 'POST', body: { at: new Date(0) } }],
    ['a body that JSON would cut', { method: 'POST', body: { a: undefined } }],
    ['a body with a number that JSON has not', { method: 'POST', body: [NaN] }],
  ])('with %s is refused before it is sent', async (_what, wrong) => {
    const server = await startServer(ok());
    await expect(openTransport(server.url).get(wrong)).rejects.toMatchObject({ code: 'config' });
    expect(server.requests).toHaveLength(0);
  });

  test('with a body that contains itself is refused', async () => {
    const body: Record<string, unknown> = {};
    body['itself'] = body;
    await expect(
      openTransport('http://127.0.0.1:1').get(Object.assign({}, { method: 'POST' as const }, { body: body as never })),
    ).rejects.toMatchObject({ code: 'config' });
  });
});

describe('A3 a POST', () => {
  const busy = answer(503);
  const cut = hangUp;

  test.each([
    ['an error of the server', busy],
    ['a lost connection', cut],
    ['429', answer(429)],
    ['a body that is not JSON', answer(200, '<html>')],
  ])('is not sent again after %s, and the error says why', async (_what, failure) => {
    const server = await startServer(failure, ok());
    await expect(openTransport(server.url).get(details)).rejects.toMatchObject({
      message: expect.stringContaining('It was not sent again, because the API may have carried it out.'),
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[string, RequestDetails]>([
    ['has an idempotency key', { headers: { 'Idempotency-Key': 'k1' } }],
    ['only reads', { isRepeatable: true }],
  ])('that %s is retried with the same body', async (_what, more) => {
    const server = await startServer(busy, cut, ok());
    await openTransport(server.url).get({ ...details, ...more });
    expect(server.requests).toHaveLength(3);
    expect(new Set(server.requests.map(({ body }) => body))).toEqual(new Set(['{"a":[1,null,"é"]}']));
  });

  test('that was not sent, since nothing listened, is retried', async () => {
    const server = await startServer(ok());
    await server.close();
    const transport = openTransport(server.url, { retry: { retries: 2 } });
    await expect(transport.get(details)).rejects.toMatchObject({ code: 'network' });
    expect(transport.delays).toHaveLength(2);
  });

  test('that came too early for the server is sent again, since it has done nothing for it', async () => {
    const server = await startServer(answer(425), ok());
    expect(await openTransport(server.url).get(details)).toMatchObject({ attempts: 2 });
  });

  test('that must not be repeated does not use a connection that was idle', async () => {
    const server = await startServer(ok());
    const transport = openTransport(server.url);
    await transport.get();
    await transport.get(details);
    expect(server.requests.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'close']);
  });

  test('is sent again once with another key, since a refused key carries out nothing', async () => {
    const server = await startServer(answer(401), ok());
    const apiKey = (reason: string): string => `key-for-${reason}-request`;
    await openTransport(server.url, { apiKey }).get(details);
    expect(server.requests).toHaveLength(2);
  });

  test('has a route as its only name in errors: its body is not quoted', async () => {
    const server = await startServer(answer(400, 'no'));
    await expect(openTransport(server.url).get({ ...details, body: { private: 'value-of-mine' } })).rejects.toSatisfy(
      (error) => !JSON.stringify(error).includes('value-of-mine') && JSON.stringify(error).includes(route),
    );
  });
});
