import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient, type ClientEvent } from '../../src/index.js';
import { createSender } from '../../src/kit.js';
import { testApi } from '../http/children/testApi.js';
import { keyEchoes, uuidKey } from './keyEchoes.js';
import { answer, startServer } from '../http/scriptedServer.js';

/** All that a program could print of an error. */
function printed(error: unknown): string {
  const texts = [inspect(error, { depth: Infinity, showHidden: true }), JSON.stringify(error), String(error)];
  if (error instanceof Error) texts.push(error.message, error.stack ?? '', printed(error.cause ?? ''));
  return texts.join('\n');
}

describe.each(Object.entries(keyEchoes))('T2 a key that a server echoes %s', (_how, { body, leaks }) => {
  test.each([400, 401, 429, 503, 200])('with status %i stands in no error and no event', async (status) => {
    const server = await startServer(answer(status, status === 200 ? `<p>${body}` : body));
    const client = createClient({ apiKey: uuidKey, rateLimit: false, retry: { retries: 0 } });
    onTestFinished(() => client.close());
    const events: ClientEvent[] = [];
    client.events.subscribe((event) => events.push(event));
    const { api } = client.use(testApi(server.url));
    const error: unknown = await api
      .request({ route: 'test.route', path: '/things', query: {} })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    for (const text of [printed(error), JSON.stringify(events)])
      for (const leak of leaks) expect(text).not.toContain(leak);
    expect(printed(error)).toContain('[hidden]');
  });

  test('stands in no error of a sender whose secret it is', async () => {
    const server = await startServer(answer(400, body));
    const sender = createSender({ url: server.url, secrets: [uuidKey] });
    onTestFinished(() => sender.close());
    const { signal } = new AbortController();
    const error: unknown = await sender
      .send({ body: '{}', headers: () => ({}), signal })
      .catch((reason: unknown) => reason);
    for (const leak of leaks) expect(printed(error)).not.toContain(leak);
  });
});

test('T2 ordinary words stay, also such as the key is made of', async () => {
  const body = 'The production service has no such collection, and 12345678 of 87654321 are known.';
  const server = await startServer(answer(400, body));
  const client = createClient({ apiKey: 'production-service-key-9f3a17c2', rateLimit: false });
  onTestFinished(() => client.close());
  const outcome = client.use(testApi(server.url)).api.request({ route: 'test.route', path: '/things', query: {} });
  await expect(outcome).rejects.toMatchObject({ excerpt: body });
});
