import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Change, createSource, exportTo, memoryState, type StateStore, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import type { WebhookOptions } from '@sluice/exporters/webhook';
import type { Receiver, ReceiverAnswer } from '@sluice/sandbox';
import { firstValueFrom, Subject } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { openReceiver, webhookTo } from './forwarding.js';

interface Stream {
  readonly id: string;
  readonly status: string;
}

interface WatchedRun {
  readonly polls: number;
  readonly rowsOf?: (walk: number) => readonly Stream[];
  readonly every?: number;
  readonly signal?: AbortSignal;
  readonly onWarning?: (message: string) => void;
}

/** Two streams: each walk finds another status, from the third one on, which is the first that is compared. */
const flapping = (walk: number): Stream[] => {
  const nth = Math.max(0, walk - 1);
  return [
    { id: 'a', status: `a${String(nth)}` },
    { id: 'b', status: `b${String(Math.floor(nth / 2))}` },
  ];
};

/** Streams that are watched and forwarded, run after run. */
class Forwarded {
  walks = 0;
  /** Called before each walk. */
  onWalk: (walk: number) => void | Promise<void> = () => undefined;
  readonly #receiver: Receiver;
  readonly #state: StateStore;
  readonly #options: Partial<WebhookOptions<Change<Stream>>>;

  constructor(receiver: Receiver, state: StateStore, options: Partial<WebhookOptions<Change<Stream>>> = {}) {
    this.#receiver = receiver;
    this.#state = state;
    this.#options = { retry: { baseDelay: 1, maxDelay: 20, for: Infinity }, ...options };
  }

  run({ polls, rowsOf = flapping, every = 1, signal, onWarning }: WatchedRun) {
    const source = createSource<Stream>({
      name: 'streams',
      identity: null,
      schema: { columns: ['id', 'status'], key: ({ id }) => id },
      fetch: async () => {
        const walk = this.walks;
        this.walks += 1;
        await this.onWalk(walk);
        return { rows: rowsOf(walk), next: 'end' as const };
      },
    });
    const changes = watch(source, { every, polls, state: this.#state });
    const sink = webhookTo<Change<Stream>>(this.#receiver, this.#options);
    return exportTo(changes, sink, { state: this.#state, ...(onWarning && { onWarning }) }).run({ signal });
  }

  /** What the receiver accepted of a stream, in the order of its arrival. */
  statuses(id: string): unknown[] {
    return [...this.#receiver.accepted.values()].flatMap(({ body }) => {
      const { data } = JSON.parse(body) as { readonly data: Change<Stream> };
      return data.key === id ? [data.after?.status] : [];
    });
  }
}

const upTo = (id: string, last: number): string[] =>
  Array.from({ length: last + 1 }, (_, nth) => `${id}${String(nth)}`);

describe('W1 changes wait in the spool while', () => {
  test.each<[string, ReceiverAnswer]>([
    ['the receiver is unavailable', { status: 503 }],
    ['its connections break', 'reset'],
    ['it does not respond', 'never'],
    ['it wants a pause', { status: 429, retryAfter: 1 }],
  ])('%s: polls go on, and each state that they saw arrives once, in order', { tags: ['slow'] }, async (_, answer) => {
    let isDown = true;
    const receiver = await openReceiver({ script: () => (isDown ? answer : 'ok') });
    const forwarded = new Forwarded(receiver, fileState(join(temporaryFolder(), 'state')), { timeout: 200 });
    forwarded.onWalk = (walk) => {
      if (walk >= 9) isDown = false;
    };
    await forwarded.run({ polls: 10 });
    expect([forwarded.statuses('a'), forwarded.statuses('b')]).toEqual([upTo('a', 9), upTo('b', 4)]);
    expect(receiver.counts.differing).toBe(0);
  });

  test(
    'more of them wait than may be in memory, and those on the disk follow in order',
    { tags: ['slow'] },
    async () => {
      let isDown = true;
      const receiver = await openReceiver({ script: () => (isDown ? { status: 503 } : 'ok') });
      const folder = join(temporaryFolder(), 'state');
      const forwarded = new Forwarded(receiver, fileState(folder), { batch: 2_000, deliveries: 2 });
      forwarded.onWalk = (walk) => {
        if (walk >= 4) isDown = false;
      };
      const rowsOf = (walk: number): Stream[] =>
        Array.from({ length: 6_000 }, (_, n) => ({ id: `s${n}`, status: `${'x'.repeat(300)}${Math.max(1, walk)}` }));
      await forwarded.run({ polls: 4, rowsOf });
      // Of 4 polls, the first one needs two walks.
      expect(receiver.counts).toMatchObject({ accepted: 24_000, doubled: 0, differing: 0 });
      for (const id of ['s0', 's5999'])
        expect(forwarded.statuses(id).map((status) => String(status).replaceAll('x', ''))).toEqual([
          '1',
          '2',
          '3',
          '4',
        ]);
      expect(readdirSync(folder).filter((name) => /^spool(-\d+)?\.log$/.test(name))).toEqual([]);
    },
  );
});

test(
  'a spool that is full makes the watch wait, which a warning says once while nothing is taken',
  { tags: ['slow'] },
  async () => {
    let isDown = true;
    const receiver = await openReceiver({ script: () => (isDown ? { status: 503 } : 'ok') });
    const forwarded = new Forwarded(receiver, memoryState(), { maxSpool: 4_000 });
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    const run = forwarded.run({ polls: 40, onWarning });
    await expect.poll(() => warnings).toHaveLength(1);
    const { walks } = forwarded;
    for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
    expect(forwarded.walks).toBe(walks);
    expect(walks).toBeLessThan(20);
    expect(receiver.accepted.size).toBe(0);
    expect(warnings).toEqual([
      `The spool is full: 4 kB wait for ${receiver.url}. No more is fetched until it has taken some of them.`,
    ]);
    isDown = false;
    await run;
    expect(forwarded.statuses('a')).toEqual(upTo('a', 39));
  },
);

describe('W5 an endpoint that', () => {
  test.each<[string, ReceiverAnswer, object]>([
    ['does not exist', { status: 404 }, { code: 'http', details: { status: 404 } }],
    ['wants another secret', { status: 401 }, { code: 'http', details: { status: 401 } }],
    ['redirects', { status: 302, headers: { location: '/' } }, { code: 'unexpected-redirect' }],
  ])(
    '%s ends a watch at once, not at its next poll, and what waits is sent by the next run',
    async (_, answer, error) => {
      let isWrong = true;
      const receiver = await openReceiver({ script: () => (isWrong ? answer : 'ok') });
      const forwarded = new Forwarded(receiver, memoryState());
      await expect(forwarded.run({ polls: 9, every: 3_600_000 })).rejects.toMatchObject(error);
      expect(forwarded.walks).toBe(2);
      isWrong = false;
      await forwarded.run({ polls: 1 });
      expect([forwarded.statuses('a'), forwarded.statuses('b')]).toEqual([upTo('a', 1), ['b0']]);
    },
  );
});

describe('W1 a watch that is stopped while changes wait', () => {
  test(
    'lets the deliveries that are under way end, and the next run sends the others while it polls',
    { tags: ['slow'] },
    async () => {
      const answers = new Subject<void>();
      const isAnswering = firstValueFrom(answers);
      const stop = new AbortController();
      const receiver = await openReceiver({ onRequest: () => isAnswering });
      const forwarded = new Forwarded(receiver, fileState(join(temporaryFolder(), 'state')), { deliveries: 1 });
      forwarded.onWalk = (walk) => {
        if (walk === 6) stop.abort();
      };
      stop.signal.addEventListener('abort', () => answers.next());
      await forwarded
        .run({ polls: 20, signal: stop.signal })
        .catch((error: unknown) => expect(error).toBe(stop.signal.reason));
      const { requests } = receiver.counts;
      expect(receiver.counts.accepted).toBe(requests);
      await forwarded.run({ polls: 1 });
      expect(receiver.counts).toMatchObject({ doubled: 0, differing: 0 });
      const found = forwarded.statuses('a');
      expect(found.slice(0, 5)).toEqual(upTo('a', 4));
      expect(found.at(-1)).toBe(`a${String(forwarded.walks - 2)}`);
    },
  );

  test(
    'ends in time if the receiver is down, and the next run polls before it has sent them',
    { tags: ['slow'] },
    async () => {
      let isDown = true;
      const stop = new AbortController();
      const receiver = await openReceiver({ script: () => (isDown ? 'never' : 'ok') });
      const forwarded = new Forwarded(receiver, fileState(join(temporaryFolder(), 'state')), { timeout: 300 });
      forwarded.onWalk = (walk) => {
        if (walk === 5) stop.abort();
      };
      await forwarded
        .run({ polls: 20, signal: stop.signal })
        .catch((error: unknown) => expect(error).toBe(stop.signal.reason));
      const { walks } = forwarded;
      forwarded.onWalk = (walk) => {
        if (walk === walks + 2) isDown = false;
      };
      await forwarded.run({ polls: 4 });
      const found = forwarded.statuses('a');
      expect(found.slice(0, 4)).toEqual(upTo('a', 3));
      expect(found.slice(-4)).toEqual(upTo('a', forwarded.walks - 2).slice(-4));
      expect(receiver.counts.differing).toBe(0);
    },
  );
});
