import { memoryState } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import type { Outgoing } from '../../src/webhook/outgoing.js';
import { RecentIds, Spool, startOfTarget } from '../../src/webhook/spool.js';
import type { SpooledPage, WebhookPosition } from '../../src/webhook/decodeSpool.js';

const placeAt = (next: number): WebhookPosition => ({ ...startOfTarget, next });
const at = '2026-01-02T03:04:05.678Z';

function pageOf(first: number, count: number, bytes = 2): SpooledPage {
  const records: Outgoing[] = Array.from({ length: count }, (_, index) => ({
    id: `id${first + index}`,
    key: 'k',
    body: JSON.stringify('x'.repeat(bytes)),
  }));
  return { at, first, records };
}

describe('W1 the spool', () => {
  test('gives back the pages behind the commit as they were, and how far they had come', async () => {
    const state = memoryState();
    const spool = new Spool(state.log('spool'));
    await spool.append([pageOf(1, 3)], placeAt(1));
    await spool.append([pageOf(4, 3), pageOf(7, 3)], placeAt(2));
    await spool.append([], placeAt(6));
    const left = await new Spool(state.log('spool')).read(placeAt(4));
    expect(left.pages).toMatchObject([pageOf(4, 3), pageOf(7, 3)]);
    expect(left.sinkPosition).toEqual(placeAt(6));
    expect([...left.recent]).toEqual(Array.from({ length: 9 }, (_, index) => `id${index + 1}`));
  });

  test('never goes back behind what is committed', async () => {
    const state = memoryState();
    await new Spool(state.log('spool')).append([pageOf(1, 3)], placeAt(1));
    expect((await new Spool(state.log('spool')).read(placeAt(4))).sinkPosition).toEqual(placeAt(4));
  });

  test('is written anew once it is large, and still knows the ids', async () => {
    const state = memoryState();
    const log = state.log('spool');
    const spool = new Spool(log);
    const recent = new RecentIds();
    const page = pageOf(1, 10, 100_000);
    page.records.forEach(({ id }, index) => {
      recent.add(id, index + 1);
    });
    await spool.append([page], placeAt(1));
    await spool.compact(placeAt(11), recent);
    expect(log.bytes).toBeGreaterThan(1_000_000);
    for (let nth = 1; nth < 5; nth += 1) await spool.append([pageOf(10 * nth + 1, 10, 100_000)], placeAt(10 * nth + 1));
    await spool.compact(placeAt(51), recent);
    expect(log.bytes).toBeLessThan(1_000);
    const left = await new Spool(state.log('spool')).read(placeAt(51));
    expect(left).toMatchObject({ pages: [], sinkPosition: placeAt(51) });
    expect([...left.recent]).toEqual(page.records.map(({ id }) => id));
  });

  test('of another version is refused', async () => {
    const state = memoryState();
    await state.log('spool').append({ v: 1 });
    await expect(new Spool(state.log('spool')).read(placeAt(1))).rejects.toMatchObject({ code: 'checkpoint' });
  });

  test('without a log keeps nothing', async () => {
    const spool = new Spool(undefined);
    await spool.append([pageOf(1, 3)], placeAt(1));
    await spool.compact(placeAt(4), new RecentIds());
    expect((await spool.read(placeAt(1))).pages).toEqual([]);
    await spool.remove();
    await spool.close();
  });
});

describe('the ids of what was on its way lately', () => {
  const filled = (count: number): RecentIds => {
    const recent = new RecentIds();
    for (let number = 1; number <= count; number += 1) recent.add(`id${number}`, number);
    return recent;
  };

  test('are 20,000 at least', () => {
    const recent = filled(25_000);
    recent.forget(25_001);
    expect([recent.has('id5000'), recent.has('id5001')]).toEqual([false, true]);
    recent.forget(25_001);
    expect([...recent]).toHaveLength(20_000);
  });

  test('are never fewer than what is not committed', () => {
    const recent = filled(25_000);
    recent.forget(101);
    expect([recent.has('id100'), recent.has('id101')]).toEqual([false, true]);
  });
});
