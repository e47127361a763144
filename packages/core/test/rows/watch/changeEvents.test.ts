import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createClient,
  createSource,
  definePlugin,
  memoryState,
  watch,
  type Endpoint,
  type Hooks,
  type Source,
  type StateStore,
} from '../../../src/index.js';
import type { ChangeEvent } from '../../../src/kit.js';
import { canary } from '../../http/canary.js';
import { SkippingClock } from './skippingClock.js';

interface Stream {
  readonly id: string;
  readonly status: unknown;
}

/** Streams by poll; the first poll makes two walks. */
type Polls = readonly (readonly Stream[])[];

const first: readonly Stream[] = [
  { id: 'a', status: 'active' },
  { id: 'b', status: 'error' },
];
const second: readonly Stream[] = [
  { id: 'a', status: 'error' },
  { id: 'c', status: null },
];
const polls: Polls = [first, first, second, second, second];

/** A client whose watch sees these polls. */
function open(hooks: Hooks | undefined, listed: Polls = polls, statusOf = (row: Stream): unknown => row.status) {
  const client = createClient({ apiKey: canary, rateLimit: false }).use(
    definePlugin({ name: 'api', setup: ({ endpoint }): Endpoint => endpoint('http://127.0.0.1:9') }),
  );
  onTestFinished(() => client.close());
  let walks = 0;
  let asked = 0;
  const source: Source<Stream> = createSource<Stream>({
    name: 'test.streams',
    identity: null,
    schema: {
      columns: ['id', 'status'],
      key: ({ id }) => id,
      nameOf: ({ id }) => (id === 'a' ? ' The first ' : undefined),
      statusOf(row) {
        asked += 1;
        return statusOf(row);
      },
    },
    endpoint: client.api,
    fetch: () => Promise.resolve({ rows: listed[(walks += 1) - 1] ?? listed.at(-1) ?? [], next: 'end' }),
  });
  if (hooks) client.use({ name: 'hooked', hooks });
  return { client, source, asked: () => asked };
}

async function run(source: Source<Stream>, state?: StateStore, count = 4): Promise<void> {
  const options = { every: 1_000, clock: new SkippingClock(), polls: count, confirmations: 2, holdAbove: 1 };
  for await (const page of watch(source, { ...options, ...(state && { state }) }).pages()) void page;
}

const inShort = ({ kind, key, before, after }: ChangeEvent): string => `${kind} ${key} ${before} -> ${after}`;

describe('U1 change events', () => {
  test('U1 tell each change with the status before and after, as it is emitted', async () => {
    const seen: ChangeEvent[] = [];
    const { source } = open({ change: (event) => seen.push(event) });
    await run(source);
    expect(seen.map(inShort)).toEqual([
      'initial a null -> active',
      'initial b null -> error',
      'changed a active -> error',
      'added c null -> null',
      'removed b error -> null',
    ]);
    expect(new Set(seen.map(({ source: name }) => name))).toEqual(new Set(['test.streams.changes']));
    expect(seen.map(({ name }) => name)).toEqual(['The first', undefined, 'The first', undefined, undefined]);
    for (const { observedAt } of seen) expect(new Date(observedAt).toISOString()).toBe(observedAt);
  });

  test('U1 tell the rows that a watch resumes with, which are not changes', async () => {
    const state = memoryState();
    await run(open(undefined).source, state);
    const seen: ChangeEvent[] = [];
    const { source } = open({ change: (event) => seen.push(event) }, [second, second]);
    await run(source, state, 1);
    expect(seen.map(inShort)).toEqual(['known a error -> error', 'known c null -> null']);
  });

  test('U1 begin before the changes that are emitted again', async () => {
    const state = memoryState();
    const { source } = open(undefined, [first, first, second, second, second]);
    const options = { every: 1_000, clock: new SkippingClock(), polls: 4, holdAbove: 1, state };
    // The consumer never asks for more than the second generation: it is not committed.
    for await (const { items } of watch(source, options).pages({ prefetch: 0 }))
      if (items.some(({ key }) => key === 'c')) break;
    const seen: ChangeEvent[] = [];
    await run(open({ change: (event) => seen.push(event) }, [second]).source, state, 1);
    const known = seen.filter(({ kind }) => kind === 'known').map(inShort);
    expect(known.sort()).toEqual(['known a active -> active', 'known b error -> error']);
    expect(seen.filter(({ kind }) => kind !== 'known').map(inShort)).toContain('changed a active -> error');
  });

  test('U1 are not created if nobody receives them: no status is read', async () => {
    const { source, asked } = open({ page: () => undefined, request: () => undefined });
    await run(source);
    expect(asked()).toBe(0);
  });

  test.each<[string, (row: Stream) => unknown]>([
    ['is not a text', () => ({ a: 1 })],
    ['is too long for one', () => 'x'.repeat(201)],
    [
      'throws',
      () => {
        throw new Error('of a status');
      },
    ],
  ])('U1 have no status where it %s, and lose no change', async (_what, statusOf) => {
    const seen: ChangeEvent[] = [];
    const { source } = open({ change: (event) => seen.push(event) }, polls, statusOf);
    await run(source);
    expect(seen).toHaveLength(5);
    expect(seen.filter(({ before, after }) => before !== null || after !== null)).toEqual([]);
  });

  test('U1 hold no secret, and reach a watch of rows that an operator has made', async () => {
    const seen: ChangeEvent[] = [];
    const rows = [{ id: `key ${canary}`, status: `is ${canary}` }];
    const { source } = open({ change: (event) => seen.push(event) }, [rows]);
    await run(
      source.pipePages((page) => page, { schema: source.info.schema!, version: '1' }),
      undefined,
      1,
    );
    expect(seen.map(inShort)).toEqual(['initial key [hidden] null -> is [hidden]']);
  });
});
