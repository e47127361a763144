import { take } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  changes,
  createClient,
  isTransient,
  memoryState,
  poll,
  type ClientEvent,
  type RetryOptions,
} from '../../src/index.js';
import {
  bearer,
  byConnection,
  byCursor,
  defineApi,
  graphqlErrors,
  listing,
  rowOf,
  type Auth,
  type ResponseKind,
  type Responses,
} from '../../src/define/index.js';
import type { PageHealth } from '../../src/kit.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { serve, type Said } from './servedApi.js';

const error = (message: string, code?: string) => ({ message, ...(code !== undefined && { extensions: { code } }) });
const pageOf = (...ids: number[]) => ({
  all: { nodes: ids.map((id) => ({ id })), pageInfo: { hasNextPage: false, endCursor: null } },
});

const of = (body: unknown, options?: Parameters<typeof graphqlErrors>[0]) => graphqlErrors(options)({ body });

describe('A3 errors of GraphQL', () => {
  test.each<[string, unknown, string | undefined]>([
    ['none', { data: {} }, undefined],
    ['null', { data: {}, errors: null }, undefined],
    ['an empty list', { data: {}, errors: [] }, undefined],
    ['one', { errors: [error('no')] }, 'final'],
    ['one beside data', { data: {}, errors: [error('no')] }, 'final'],
    ['something that is not a list', { data: {}, errors: 'no' }, 'final'],
    ['a list of nothing', { data: {}, errors: [null] }, 'final'],
    ['THROTTLED', { errors: [error('Throttled', 'THROTTLED')] }, 'rate-limited'],
    [
      'RATE_LIMITED as a type',
      { errors: [{ type: 'RATE_LIMITED', message: 'API rate limit exceeded' }] },
      'rate-limited',
    ],
    ['RateLimitExceeded among others', { errors: [error('a'), error('b', 'rate-limit-exceeded')] }, 'rate-limited'],
    ['INTERNAL_SERVER_ERROR', { errors: [error('a', 'INTERNAL_SERVER_ERROR')] }, 'retry'],
    ['a temporary one and a final one', { errors: [error('a', 'TIMEOUT'), error('b', 'FORBIDDEN')] }, 'final'],
    ['a list, which is not of GraphQL', [{ errors: [1] }], undefined],
  ])('%s', (_what, body, kind) => {
    expect(of(body)?.kind).toBe(kind);
  });

  test.each<[string, unknown, string]>([
    ['beside data are allowed', { data: { a: 1 }, errors: [error('a')] }, 'partial'],
    ['without data are not', { data: null, errors: [error('a')] }, 'final'],
    ['of a limit are not', { data: { a: 1 }, errors: [error('a', 'THROTTLED')] }, 'rate-limited'],
  ])('%s with allowPartial', (_what, body, kind) => {
    expect(of(body, { allowPartial: true })?.kind).toBe(kind);
  });

  test('are quoted by the first one, and counted', () => {
    expect(of({ errors: [error('first'), error('second'), 7] })?.message).toBe('first (and 2 more)');
    expect(of({ errors: [{ message: {} }] })?.message).toBe('its message is an object');
  });
});

function open(
  baseUrl: string,
  {
    responses = graphqlErrors(),
    retry = { baseDelay: 1 },
    auth,
  }: { responses?: Responses; retry?: Partial<RetryOptions>; auth?: Auth } = {},
) {
  const all = listing({
    method: 'POST',
    path: '/graphql',
    body: { query: '{ all }' },
    responses,
    columns: ['id'],
    paging: byConnection('data.all'),
    rows: 'data.all.nodes',
    key: ({ id }) => Number(id),
  });
  const api = defineApi({ name: 'graph', sources: { all }, ...(auth && { auth }) });
  const client = createClient({ apiKey: 'key-of-graph-1', rateLimit: false, retry }).use(api({ baseUrl }));
  onTestEnd(() => client.close());
  const events: ClientEvent[] = [];
  client.events.subscribe((event) => events.push(event));
  return { client, events, source: client.graph.all };
}

const errorIn = z.object({ error: z.string().optional() });

const served = (...said: readonly Said[]) => serve((_url, nth) => said[nth - 1] ?? said.at(-1)!);

describe('A3 a page with errors in a 200 answer', () => {
  test('fails, and says what the API said, without the key', async () => {
    const server = await served({ body: { data: pageOf(1), errors: [error('bad key key-of-graph-1', 'FORBIDDEN')] } });
    const { source } = open(server.baseUrl);
    const failed: unknown = await source()
      .toArray()
      .catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: 'http', status: 200, message: expect.stringContaining('bad key') });
    expect(JSON.stringify(failed)).not.toContain('key-of-graph-1');
    expect(isTransient(failed)).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  test('is retried within the deadline if the error is temporary', async () => {
    const server = await served({ body: { errors: [error('a', 'TIMEOUT')] } }, { body: { data: pageOf(1) } });
    expect(await open(server.baseUrl).source().toArray()).toEqual([{ id: 1 }]);
    expect(server.requests).toHaveLength(2);
    const down = await served({ body: { errors: [error('a', 'TIMEOUT')] } });
    const failed: unknown = await open(down.baseUrl, { retry: { retries: 2, baseDelay: 1 } })
      .source()
      .toArray()
      .catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: 'http', message: expect.stringContaining('It was tried 3 times') });
    expect(isTransient(failed)).toBe(true);
  });

  test('pauses the API like a 429 if a cost limit is reached', async () => {
    const server = await served({ body: { errors: [error('Throttled', 'THROTTLED')] } }, { body: { data: pageOf(1) } });
    const { source, events } = open(server.baseUrl);
    expect(await source().toArray()).toEqual([{ id: 1 }]);
    expect(events.map(({ type }) => type)).toContain('paused');
  });

  test('is a RateLimitError if the API asks for a longer pause than is allowed', async () => {
    const body = { errors: [error('Throttled', 'THROTTLED')] };
    const server = await served({ body, headers: { 'retry-after': '3600' } });
    await expect(open(server.baseUrl).source().toArray()).rejects.toMatchObject({ code: 'rate-limited', status: 200 });
    expect(server.requests).toHaveLength(1);
  });

  test('may be told by a function of the definition, and one that throws is an error without what it quotes', async () => {
    const body = { ok: false, error: 'secret words' };
    const server = await served({ body });
    const responses: Responses = (response) => {
      throw new Error(JSON.stringify(response.body));
    };
    const failed: unknown = await open(server.baseUrl, { responses })
      .source()
      .toArray()
      .catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: 'decode' });
    expect(JSON.stringify(failed)).not.toContain('secret words');
    const said: Responses = () => ({ kind: 'final', message: 'not ok' });
    await expect(open(server.baseUrl, { responses: said }).source().toArray()).rejects.toThrow('("not ok")');
  });

  const kinds: Readonly<Record<string, ResponseKind>> = {
    invalid_cursor: 'expired-cursor',
    token_expired: 'renew',
    not_in_channel: 'skip',
  };
  const finding: Responses = ({ body }) => {
    const { error } = errorIn.parse(body);
    return error === undefined ? undefined : (kinds[error] ?? 'final');
  };

  test('R1 that is an expired cursor refuses it', async () => {
    const data = { all: { nodes: [{ id: 1 }], pageInfo: { hasNextPage: true, endCursor: 'x' } } };
    const server = await served({ body: { data } }, { body: { error: 'invalid_cursor' } });
    const { source } = open(server.baseUrl, { responses: finding });
    await expect(source().toArray()).rejects.toMatchObject({ code: 'cursor-refused', details: { status: 200 } });
  });

  test('R1 that means to renew renews the credentials', async () => {
    const all = pageOf(1);
    const server = await served({ body: { error: 'token_expired' } }, { body: { data: all } });
    const reasons: string[] = [];
    const token = (reason: string): string => `token-of-${String(reasons.push(reason))}`;
    const { source } = open(server.baseUrl, { responses: finding, auth: bearer(token) });
    expect(await source().toArray()).toEqual([{ id: 1 }]);
    expect(reasons).toEqual(['first', 'refused']);
  });

  test('R1 that means to skip ends the listing of a parent', async () => {
    const server = await serve(({ searchParams }) => {
      const parent = searchParams.get('parent');
      if (parent === null) return { body: { items: [{ id: 1 }, { id: 2 }, { id: 3 }] } };
      return {
        body: parent === '2' ? { error: 'not_in_channel' } : { items: [{ id: Number(parent) * 10 }] },
      };
    });
    const shared = { path: '/all', rows: 'items', columns: ['id'], responses: finding, version: '1' } as const;
    const paging = byCursor({ param: 'cursor', at: 'next?' });
    const api = defineApi({
      name: 'chat',
      sources: {
        parents: listing({ ...shared, paging, key: ({ id }) => Number(id) }),
        rows: listing({
          ...shared,
          paging,
          each: rowOf({ source: 'parents', params: ({ id }) => ({ parent: Number(id) }) }),
          query: ({ parent }) => ({ parent }),
        }),
      },
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl: server.baseUrl }));
    onTestEnd(() => client.close());
    expect(await client.chat.rows().toArray()).toEqual([{ id: 10 }, { id: 30 }]);
  });
});

describe('A3 a page that is allowed to be partial', () => {
  const responses = graphqlErrors({ allowPartial: true });

  test('gives its rows, is marked as incomplete, and the client warns once', async () => {
    const body = { data: pageOf(1, 2), errors: [error('no access to row 3')] };
    const { source, events } = open((await served({ body })).baseUrl, { responses });
    const all = source();
    for await (const page of all.pages())
      expect(page).toMatchObject({ isIncomplete: true, items: [{ id: 1 }, { id: 2 }] });
    await all.toArray();
    const warnings = events.filter(({ type }) => type === 'warning');
    expect(warnings).toMatchObject([{ message: expect.stringContaining('no access to row 3') }]);
  });

  test('has no row where there is null in place of the one with the error', async () => {
    const partial = { all: { nodes: [{ id: 1 }, null, { id: 3 }], pageInfo: { hasNextPage: false, endCursor: null } } };
    const server = await served({ body: { data: partial, errors: [error('no access to row 2')] } });
    expect(await open(server.baseUrl, { responses }).source().toArray()).toEqual([{ id: 1 }, { id: 3 }]);
    const whole = await served({ body: { data: partial } });
    await expect(open(whole.baseUrl, { responses }).source().toArray()).rejects.toThrow(
      'data.all.nodes[1]: it is null',
    );
  });

  test('marks pages that an operator has changed, too', async () => {
    const { source } = open((await served({ body: { data: pageOf(1), errors: [error('a')] } })).baseUrl, { responses });
    const piped = source().pipePages((rows) => rows, { version: '1' });
    for await (const page of piped.pages()) expect(page.isIncomplete).toBe(true);
  });

  test('C1 removes nothing from polls that are compared', async () => {
    const partial = { body: { data: pageOf(1), errors: [error('a')] } };
    const whole = { body: { data: pageOf(1, 2) } };
    const server = await served(whole, partial, whole);
    const told: string[] = [];
    const polled = poll(open(server.baseUrl, { responses }).source(), { every: 1 }).pipe(
      take(3),
      changes({ key: ({ id }) => Number(id) }),
    );
    await polled.forEach(({ type, key }) => void told.push(`${type} ${key}`));
    expect(told).toEqual(['initial 1', 'initial 2']);
    expect(server.requests).toHaveLength(3);
  });

  test('does not quote an error that is too long to be searched for secrets', async () => {
    const said = error(`${'x'.repeat(10_000)} key-of-graph-1`);
    const { source, events } = open((await served({ body: { data: pageOf(1), errors: [said] } })).baseUrl, {
      responses,
    });
    await source().toArray();
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'graph.all: the API reports an error beside the rows, so some may be missing.' },
    ]);
  });

  test('C1 removes nothing from a watch, however often it comes, and the rest is reported', async () => {
    const whole = { body: { data: pageOf(1, 2, 3) } };
    const partial = { body: { data: pageOf(1, 4), errors: [error('rows 2 and 3 are away')] } };
    const lacking = { body: { data: pageOf(1, 3, 4) } };
    const walks = [whole, whole, partial, partial, partial, lacking, partial, lacking];
    const { source } = open((await served(...walks)).baseUrl, { responses });
    const health: PageHealth[] = [];
    const told: string[] = [];
    const watched = source.watch(
      {},
      { every: 1, polls: 7, state: memoryState(), onHealth: (each) => health.push(each) },
    );
    for await (const { type, key } of watched) told.push(`${type} ${key}`);
    expect(told).toEqual(['initial 1', 'initial 2', 'initial 3', 'added 4', 'removed 2']);
    expect(health.map(({ isIncomplete }) => isIncomplete ?? false)).toEqual([
      false,
      true,
      true,
      true,
      false,
      true,
      false,
    ]);
  });
});
