import { ConfigError, createClient } from '@sluice/core';
import { startSandbox, type SandboxOptions } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { evmStreamSchema, streams, type ListStreamsOptions, type Trigger } from '../src/index.js';

async function setUp(options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ streams: 301, ...options });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false, retry: { retries: 0 } }).use(
    streams({ baseUrl: sandbox.streamsUrl }),
  );
  onTestFinished(async () => {
    await client.close();
    await sandbox.close();
  });
  return { sandbox, list: client.streams.list };
}

describe('the streams of a project', () => {
  test('are all rows of the listing, as they were sent', async () => {
    const { sandbox, list } = await setUp();
    expect(await list().toArray()).toEqual([...sandbox.streamRows()]);
    expect(sandbox.counts.requests).toBe(4);
  });

  const shapes: [string, NonNullable<SandboxOptions['shape']>][] = [
    ['what its reference shows', 'reference'],
    ['a cursor of null', { end: 'null' }],
    ['an empty cursor', { end: 'empty' }],
    ['a single stream as an object', { oneRow: 'object' }],
  ];
  test.each(shapes)('are complete where the API answers with %s', async (_what, shape) => {
    const { sandbox, list } = await setUp({ shape });
    expect(await list().toArray()).toEqual([...sandbox.streamRows()]);
  });

  test.each(['live', 'reference'] as const)('have their triggers as a list at hand in the %s shape', async (shape) => {
    const { list } = await setUp({ nasty: 0, shape });
    const [stream] = await list({ maxRows: 1 }).toArray();
    const triggers: readonly Trigger[] = [stream?.triggers ?? []].flat();
    expect(triggers).toMatchObject([{ type: 'erc20transfer', functionAbi: { name: 'balanceOf' } }]);
    expect(Array.isArray(stream?.triggers)).toBe(shape === 'live');
  });

  test('are none where the project has none', async () => {
    for (const noRows of ['list', 'null', 'absent'] as const) {
      const { list } = await setUp({ streams: 0, shape: { noRows } });
      expect(await list().toArray()).toEqual([]);
    }
  });

  test('are asked for by limit and cursor only', async () => {
    const { sandbox, list } = await setUp();
    await list({ pageSize: 60, maxRows: 150 }).toArray();
    const queries = sandbox.requests.map(({ query }) => new URLSearchParams(query));
    expect(queries.map((query) => [...query.keys()])).toEqual([['limit'], ['limit', 'cursor'], ['limit', 'cursor']]);
    expect(queries.map((query) => query.get('limit'))).toEqual(['60', '60', '60']);
    expect(sandbox.requests[0]).toMatchObject({ path: expect.stringMatching(/\/streams\/evm$/), method: 'GET' });
  });

  test('come with their total on each page', async () => {
    const { list } = await setUp();
    for await (const page of list().pages()) expect(page.total).toBe(301);
  });

  test('have a key each, by id', async () => {
    const { sandbox, list } = await setUp();
    const keys = (await list().toArray()).map((stream) => evmStreamSchema.key?.(stream));
    expect(keys).toEqual(Array.from(sandbox.streamRows(), ({ id }) => id));
  });

  test('go on after a page that is shorter than asked for', async () => {
    const { sandbox, list } = await setUp({
      script: ({ nth }) => (nth === 2 ? { kind: 'empty-page' } : undefined),
    });
    expect(await list().toArray()).toEqual([...sandbox.streamRows()]);
  });
});

describe('before any request, a listing', () => {
  test.each<[string, ListStreamsOptions, RegExp]>([
    ['in pages of 0', { pageSize: 0 }, /pageSize is 0: it must be a whole number from 1 to 100/],
    ['in pages of 101', { pageSize: 101 }, /pageSize is 101/],
    ['in pages of 1.5', { pageSize: 1.5 }, /pageSize is 1.5/],
    ['in pages of NaN', { pageSize: NaN }, /pageSize is NaN/],
    ['with no row', { maxRows: 0 }, /maxRows is 0/],
    ['with no page', { maxPages: 0 }, /maxPages is 0/],
  ])('%s is refused', async (_what, options, message) => {
    const { sandbox, list } = await setUp();
    expect(() => list(options)).toThrow(ConfigError);
    expect(() => list(options)).toThrow(message);
    expect(sandbox.counts.requests).toBe(0);
  });

  test('in pages of 1 and of 100 is fine', async () => {
    const { list } = await setUp({ streams: 3 });
    expect(await list({ pageSize: 1 }).toArray()).toHaveLength(3);
    expect(await list({ pageSize: 100 }).toArray()).toHaveLength(3);
  });
});
