import { describe, expect, it } from 'vitest';
import type { StateStore } from '@sluice/core';
import { recordState, type RecordLists } from '@sluice/core/kit';

/** Lists in memory, which say when they are opened and closed. */
function openable({ failing = [] }: { failing?: readonly number[] } = {}) {
  const told: string[] = [];
  const lists = new Map<string, readonly object[]>();
  let opened = 0;
  const records: RecordLists = {
    open: () => {
      opened += 1;
      told.push('open');
      if (failing.includes(opened)) return Promise.reject(new Error('no connection'));
      return Promise.resolve(async () => {
        await Promise.resolve();
        told.push('close');
      });
    },
    async *read(list) {
      yield* lists.get(list) ?? [];
    },
    write: (list, added, { isReplaced }) => {
      lists.set(list, isReplaced ? [...added] : [...(lists.get(list) ?? []), ...added]);
      return Promise.resolve();
    },
  };
  return { state: recordState(records), told, lists };
}

const { signal } = new AbortController();

async function recordsOf(state: StateStore, name: string): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const record of state.log(name).read()) records.push(record);
  return records;
}

describe('G5 state in lists of records', () => {
  it('opens for the first holder, and closes after the last', async () => {
    const { state, told } = openable();
    const releases = [await state.lock(signal), await state.lock(signal, 'watch')];
    expect(told).toEqual(['open']);
    await releases[0]?.();
    await releases[0]?.();
    expect(told).toEqual(['open']);
    await releases[1]?.();
    expect(told).toEqual(['open', 'close']);
  });

  it('opens again only when it is closed', async () => {
    const { state, told } = openable();
    const release = await state.lock(signal, 'watch');
    const closing = release();
    const next = await state.lock(signal);
    await closing;
    expect(told).toEqual(['open', 'close', 'open']);
    await next();
  });

  it('lets the next holder open after an attempt that failed', async () => {
    const { state, told } = openable({ failing: [1] });
    await expect(state.lock(signal)).rejects.toThrow('no connection');
    const release = await state.lock(signal);
    await release();
    expect(told).toEqual(['open', 'open', 'close']);
  });

  it('gives all that wait for the same attempt its error', async () => {
    const { state, told } = openable({ failing: [1] });
    const both = await Promise.allSettled([state.lock(signal), state.lock(signal, 'watch')]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(told).toEqual(['open']);
    await (
      await state.lock(signal)
    )();
    expect(told).toEqual(['open', 'open', 'close']);
  });

  it('keeps a record and a log of the same name apart', async () => {
    const { state, lists } = openable();
    await state.save('a', { of: 'record' });
    await state.log('a').append({ of: 'log' });
    await state.log('a').append({ of: 'log', nth: 2 });
    expect(await state.load('a')).toEqual({ of: 'record' });
    expect(await recordsOf(state, 'a')).toEqual([{ of: 'log' }, { of: 'log', nth: 2 }]);
    await state.remove('a');
    expect(await state.load('a')).toBeUndefined();
    expect([...lists.keys()]).toEqual(['record/a', 'log/a']);
  });
});
