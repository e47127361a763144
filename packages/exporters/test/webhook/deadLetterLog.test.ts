import { join } from 'node:path';
import { exportTo, memoryState, type StateStore } from '@sluice/core';
import { recordState } from '@sluice/core/kit';
import { fileState } from '@sluice/core/node';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { DeadLetterLog, lettersName } from '../../src/webhook/letters/deadLetterLog.js';
import { StateLetters } from '../../src/webhook/letters/stateLetters.js';
import { readDeadLetters, replay } from '../../src/webhook.js';
import { letterOf } from './deadLetterSamples.js';
import { openReceiver, secret, webhookTo } from './forwarding.js';
import { thingSource } from './thingSource.js';

const { signal } = new AbortController();

/** The ids of the letters of a state, those that are replayed with a mark, and their lines. */
async function lettersIn(state: StateStore): Promise<string[]> {
  const found: string[] = [];
  for await (const { letter, line, isReplayed } of readDeadLetters(state))
    found.push(`${line} ${letter.id}${isReplayed ? '!' : ''}`);
  return found;
}

const states: readonly [kind: string, open: () => () => StateStore][] = [
  [
    'in memory',
    () => {
      const state = memoryState();
      return () => state;
    },
  ],
  [
    'in a folder',
    () => {
      const folder = join(temporaryFolder(), 'state');
      return () => fileState(folder);
    },
  ],
];

describe.each(states)('W9 dead letters in a state %s', (_, open) => {
  test('are kept with the checkpoint, listed, and sent again by a replay, after which none is left', async () => {
    const stateOf = open();
    const refusing = await openReceiver({
      script: ({ records }) => (records.some(({ body }) => /"n":[36],?/.test(body)) ? { status: 422 } : undefined),
    });
    const source = thingSource({ count: 9, pageSize: 3 });
    const id = ({ n }: { readonly n: number }) => `thing-${n}`;
    const report = await exportTo(source, webhookTo(refusing, { deadLetter: true, id }), { state: stateOf() }).run();
    expect(report).toMatchObject({ rows: 9, deadLetters: { count: 2 } });
    expect(report.deadLetters).not.toHaveProperty('path');
    expect((await lettersIn(stateOf())).map((line) => line.slice(2)).sort()).toEqual(['thing-3', 'thing-6']);
    const options = { secret, allowAddresses: ['127.0.0.1'], retry: { baseDelay: 1 } };
    const half = await openReceiver({
      script: ({ records }) => (records.some(({ id }) => id === 'thing-6') ? { status: 422 } : undefined),
    });
    const first = await replay(stateOf(), { url: `${half.url}/hook`, ...options });
    expect(first).toEqual({ replayed: 1, stillDead: 1, left: 1 });
    expect((await lettersIn(stateOf())).filter((line) => line.endsWith('!'))).toHaveLength(1);
    const receiver = await openReceiver();
    const second = await replay(stateOf(), { url: `${receiver.url}/hook`, ...options });
    expect(second).toEqual({ replayed: 1, stillDead: 0, left: 0 });
    expect([...receiver.accepted.keys()]).toEqual(['thing-6']);
    expect(await lettersIn(stateOf())).toEqual([]);
    await expect(replay(stateOf(), { url: receiver.url, ...options })).rejects.toThrow('has no dead letters');
  });

  test('are held by the export that writes them', async () => {
    const stateOf = open();
    const state = stateOf();
    const release = await state.lock(signal);
    const stop = new AbortController();
    const replayed = replay(state, { url: 'https://hooks.example.com', secret, signal: stop.signal });
    stop.abort(new Error('Not wanted any more.'));
    await expect(replayed).rejects.toThrow('Not wanted any more.');
    await release();
  });

  test('behind the committed position are dropped if their records are sent again, and others stay', async () => {
    const stateOf = open();
    const state = stateOf();
    const release = await state.lock(signal);
    const reopen = (position: DeadLetterLog['position'] | undefined, ...resent: string[]) =>
      DeadLetterLog.open(state.log('letters'), { position, resent: new Set(resent) });
    const other = await reopen(undefined);
    await other.append(letterOf(9));
    await other.close();
    const first = await reopen(undefined);
    await Promise.all([1, 2].map((n) => first.append(letterOf(n, { key: `key ${n}` }))));
    const { position } = first;
    expect(position).toEqual({ from: 1, end: 3 });
    await Promise.all([3, 4].map((n) => first.append(letterOf(n, { attempts: n - 3 }))));
    await first.close();
    const second = await reopen(position, 'record-1', 'record-3');
    expect(second.own).toMatchObject([
      { id: 'record-1', key: 'key 1', isParked: false },
      { id: 'record-2', key: 'key 2' },
      { id: 'record-4' },
    ]);
    await second.append(letterOf(3));
    expect(second.position).toEqual({ from: 1, end: 6 });
    await second.close();
    await release();
    expect(await lettersIn(stateOf())).toEqual(['1 record-9', '2 record-1', '3 record-2', '5 record-4', '6 record-3']);
  });

  test('that another version wrote are an error, and nothing is sent', async () => {
    const state = open()();
    const release = await state.lock(signal);
    await state.log('letters').append({ kind: 'letter' });
    await release();
    await expect(lettersIn(state)).rejects.toMatchObject({ code: 'checkpoint' });
    await expect(replay(state, { url: 'https://hooks.example.com', secret })).rejects.toThrow('another version');
  });
});

test('W9 dead letters in the state need one', async () => {
  const receiver = await openReceiver();
  const run = exportTo(thingSource({ count: 1 }), webhookTo(receiver, { deadLetter: true })).run();
  await expect(run).rejects.toThrow('deadLetter is the state of the export, and it has none: give it a state');
});

test.each([
  ['5,000 small letters at once', 5_000, 'small', [5_000]],
  ['large ones in batches that fit into memory', 3, 'x'.repeat(9_000_000), [2, 1]],
])('W9 a replay reads %s', async (_, count, text, batches) => {
  const lists = new Map<string, readonly object[]>();
  let walks = 0;
  const state = recordState({
    open: () => Promise.resolve(() => Promise.resolve()),
    async *read(list) {
      walks += 1;
      yield* lists.get(list) ?? [];
    },
    write: (list, records) => Promise.resolve(void lists.set(list, [...records])),
  });
  const letters = Array.from({ length: count }, (_letter, n) => ({ letter: letterOf(n, { record: { text } }) }));
  await state.log(lettersName).replace(letters);
  const opened = await StateLetters.open(state, signal);
  walks = 0;
  const found: number[] = [];
  const ids: string[] = [];
  for await (const batch of opened.pending()) {
    found.push(batch.length);
    for (const { read } of batch) ids.push((await read()).id);
  }
  expect(found).toEqual(batches);
  expect(walks).toBe(batches.length);
  expect(ids).toEqual(letters.map(({ letter }) => letter.id));
  await opened.close();
});
