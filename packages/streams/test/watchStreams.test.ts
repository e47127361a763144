import { ConfigError, createClient, memoryState, type Change, type Page } from '@sluice/core';
import { startSandbox, type SandboxOptions } from '@sluice/sandbox';
import { filter, from, toArray, lastValueFrom } from 'rxjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { statusChanges, streams, type EvmStream } from '../src/index.js';

async function setUp(options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ streams: 50, ...options });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false, retry: { retries: 0 } }).use(
    streams({ baseUrl: sandbox.streamsUrl }),
  );
  onTestFinished(async () => {
    await client.close();
    await sandbox.close();
  });
  return { sandbox, client };
}

type Poll = Page<Change<EvmStream>>;

/** Polls one after another; `then` is what happens on the server after each. */
async function polled(pages: AsyncIterable<Poll>, then: readonly (() => void)[]): Promise<Poll[]> {
  const all: Poll[] = [];
  for await (const page of pages) {
    all.push(page);
    then[all.length - 1]?.();
  }
  return all;
}

describe('watching streams', () => {
  test(
    'C2 tells what really changed, and nothing of rows that move, pages that fail and lists that are cut',
    { tags: ['slow'] },
    async () => {
      let nth = 0;
      const { sandbox, client } = await setUp({
        script: () => {
          nth += 1;
          // Two walks of the first poll, five pages each; then one walk a poll.
          if (nth === 3 || nth === 14 || nth === 28) sandbox.moveRows('streams', 3);
          if (nth === 18) return { kind: 'status', status: 503 };
          if (nth === 21) return { kind: 'html' };
          return undefined;
        },
      });
      const index = 7;
      const { id, tag } = sandbox.stream(index);
      let added = '';
      const watched = client.streams.list.watch({ pageSize: 10 }, { every: 20, polls: 9 });
      const pages = await polled(watched.pages(), [
        () => undefined,
        () => undefined,
        () => sandbox.setStream(index, { status: 'error', statusMessage: 'The webhook is gone' }),
        () => (added = sandbox.stream(sandbox.addStream()).id),
        () => sandbox.removeStream(3),
      ]);
      const changes = pages.flatMap(({ items }) => items);
      const later = changes.slice(50).map(({ type, key }) => [type, key]);
      expect(changes.slice(0, 50).every(({ type }) => type === 'initial')).toBe(true);
      expect(later).toHaveLength(3);
      expect(later).toContainEqual(['changed', id]);
      expect(later).toContainEqual(['added', added]);
      expect(later.at(-1)?.[0]).toBe('removed');
      expect(pages.filter(({ health }) => health?.outcome === 'failed')).toHaveLength(2);
      const [change] = await lastValueFrom(from(changes).pipe(statusChanges(), toArray()));
      expect(change?.after.tag).toBe(tag);
    },
  );

  test('C4 is the same watch with pages of another size', async () => {
    const { sandbox, client } = await setUp();
    const state = memoryState();
    const changes = (pageSize: number) =>
      client.streams.list.watch({ pageSize }, { every: 20, polls: 1, state }).toArray();
    expect(await changes(50)).toHaveLength(50);
    sandbox.setStream(7, { status: 'error' });
    expect(await changes(10)).toHaveLength(1);
    const infos = [50, 10].map((pageSize) => client.streams.list.watch({ pageSize }, { every: 20 }).info);
    expect(infos[0]?.identity).toEqual(infos[1]?.identity);
    const made = (pageSize: number, version: string) =>
      client.streams.list({ pageSize }).pipePages(
        filter(({ status }) => status === 'error'),
        { version },
      ).info.rowsIdentity;
    expect(made(50, '1')).toBeDefined();
    expect(made(50, '1')).toEqual(made(10, '1'));
    expect(made(50, '1')).not.toEqual(made(50, '2'));
  });

  test('P4 a listing of more pages than maxPages ends it on the first poll', async () => {
    const { client } = await setUp();
    const watched = client.streams.list.watch({ pageSize: 10, maxPages: 4 }, { every: 20, polls: 1 });
    await expect(watched.toArray()).rejects.toMatchObject({ code: 'too-many-pages' });
    expect(
      await client.streams.list.watch({ pageSize: 10, maxPages: 5 }, { every: 20, polls: 1 }).toArray(),
    ).toHaveLength(50);
  });

  test('C9 a refused key ends it on the first poll', async () => {
    const { sandbox } = await setUp();
    const client = createClient({ apiKey: 'another-key', rateLimit: false }).use(
      streams({ baseUrl: sandbox.streamsUrl }),
    );
    onTestFinished(() => client.close());
    await expect(client.streams.list.watch({}, { every: 20 }).toArray()).rejects.toMatchObject({
      code: 'http',
      status: 401,
    });
    expect(sandbox.counts.requests).toBe(1);
  });

  test('C10 an unknown field in project is refused before any request', async () => {
    const { sandbox, client } = await setUp();
    expect(() => client.streams.list.watch({}, { every: 20, project: ['stauts'] })).toThrow(ConfigError);
    expect(() => client.streams.list.watch({}, { every: 0 })).toThrow(ConfigError);
    expect(sandbox.counts.requests).toBe(0);
  });
});

describe('statusChanges', () => {
  test('are those of status or message, before and after; not what came, went, or changed otherwise', async () => {
    const { sandbox } = await setUp({ streams: 1, nasty: 0 });
    const stream: EvmStream = { ...sandbox.stream(0), status: 'active' };
    const seen = { key: String(stream.id), generation: 2, observedAt: '2030-01-01T00:00:00.000Z' };
    const changed = (id: string, now: Partial<EvmStream>, ...fields: string[]): Change<EvmStream> => ({
      ...seen,
      id,
      type: 'changed',
      before: stream,
      after: { ...stream, ...now },
      fields,
    });
    const all: Change<EvmStream>[] = [
      { ...seen, id: '1', type: 'initial', before: null, after: stream, fields: [] },
      { ...seen, id: '2', type: 'added', before: null, after: stream, fields: [] },
      changed('3', { status: 'error' }, 'status'),
      changed('4', { description: 'mine', statusMessage: 'too slow' }, 'description', 'statusMessage'),
      changed('5', { description: 'mine', advancedOptions: null }, 'advancedOptions.status', 'description'),
      { ...seen, id: '6', type: 'removed', before: stream, after: null, fields: [] },
    ];
    const narrowed = await lastValueFrom(from(all).pipe(statusChanges(), toArray()));
    expect(narrowed.map(({ id }) => id)).toEqual(['3', '4']);
    expect(narrowed.map(({ before, after }) => [before.status, after.status])).toEqual([
      ['active', 'error'],
      ['active', 'active'],
    ]);
  });

  test('are there as well where a function says what is compared', async () => {
    const { sandbox, client } = await setUp({ streams: 2, nasty: 0 });
    sandbox.setStream(0, { status: 'active' });
    const project = ({ status, tag }: EvmStream): unknown => [status, tag];
    const watched = client.streams.list.watch({}, { every: 20, polls: 3, project }).pipePages(statusChanges());
    const told: unknown[] = [];
    for await (const { items, index } of watched.pages()) {
      told.push(items.map(({ before, after }) => [before.status, after.status]));
      sandbox.setStream(0, index === 0 ? { status: 'error' } : { tag: 'another' });
    }
    expect(told).toEqual([[], [['active', 'error']], []]);
  });

  test.each<[string, unknown, unknown, boolean]>([
    ['text', 'slow', 'gone', true],
    ['nothing', null, null, false],
    ['nothing, then text', null, 'slow', true],
    ['another code', { code: 1, text: 'slow' }, { code: 2, text: 'slow' }, true],
    ['another name', { code: 1 }, { number: 1 }, true],
    ['one more', { code: 1 }, { code: 1, text: 'slow' }, true],
    ['a list', [1], { '0': 1 }, true],
    [
      'the same in another order',
      { code: 1, deep: { a: [1], b: null } },
      { deep: { b: null, a: [1] }, code: 1 },
      false,
    ],
  ])('of a status that may be an object: %s', async (_, before, after, isTold) => {
    const { sandbox } = await setUp({ streams: 1, nasty: 0 });
    const stream = { ...sandbox.stream(0), description: 'mine' };
    const change = {
      id: '1',
      key: '1',
      type: 'changed',
      generation: 2,
      observedAt: '2030-01-01T00:00:00.000Z',
      before: { ...stream, statusMessage: before },
      after: { ...stream, statusMessage: after },
      fields: ['statusMessage.code', 'description'],
    } as Change<EvmStream>;
    expect(await lastValueFrom(from([change]).pipe(statusChanges(), toArray()))).toHaveLength(isTold ? 1 : 0);
  });
});
