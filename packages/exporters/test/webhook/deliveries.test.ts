import { HttpError } from '@sluice/core';
import { expect, test } from 'vitest';
import type { DeadLetter } from '../../src/webhook/letters/deadLetter.js';
import { Deliveries, type DeliveriesOptions } from '../../src/webhook/deliveries.js';
import { isRecordFault, type Outcome } from '../../src/webhook/endpoint.js';
import type { Numbered } from '../../src/webhook/outgoing.js';

const at = '2026-01-02T03:04:05.678Z';
const context = { source: 'things', at };
const taken: Outcome = { attempts: 1 };
const refused = (status: number): Outcome => ({
  attempts: 2,
  refusal: new HttpError('No.', { status, excerpt: 'why' }),
});
const recordOf = (number: number, key: string | null = null): Numbered => ({
  number,
  key,
  id: `id${number}`,
  body: JSON.stringify({ n: number }),
});

/** Deliveries that note what they send, by the numbers in it. */
function openDeliveries(
  answer: (numbers: readonly number[]) => Outcome | Promise<Outcome>,
  options: Partial<DeliveriesOptions> = {},
): { deliveries: Deliveries; sent: number[][]; letters: DeadLetter[] } {
  const sent: number[][] = [];
  const letters: DeadLetter[] = [];
  const deliveries = new Deliveries({
    deliveries: 4,
    batch: undefined,
    onDead: 'continue',
    dead: [],
    now: () => at,
    next: 1,
    async send({ body }) {
      const { n, data }: { n?: number; data?: { n: number }[] } = JSON.parse(body);
      const numbers = data?.map((each) => each.n) ?? [n ?? 0];
      sent.push(numbers);
      return answer(numbers);
    },
    store(letter) {
      letters.push(letter);
      return Promise.resolve();
    },
    ...options,
  });
  return { deliveries, sent, letters };
}

test.each([400, 409, 413, 422])('W5 %d speaks of the record', (status) => {
  expect(isRecordFault(new HttpError('', { status, excerpt: '' }))).toBe(true);
});

test.each([300, 401, 402, 403, 404, 405, 406, 408, 410, 411, 415, 418, 425, 429, 431, 451, 500, 503])(
  'W5 %d speaks of the endpoint',
  (status) => {
    expect(isRecordFault(new HttpError('', { status, excerpt: '' }))).toBe(false);
  },
);

test('W6 W7 a refused batch is halved, one half after the other, until it is known which record it was', async () => {
  let running = 0;
  const { deliveries, sent, letters } = openDeliveries(
    async (numbers) => {
      running += 1;
      expect(running).toBe(1);
      await new Promise(setImmediate);
      running -= 1;
      return numbers.includes(3) ? refused(422) : taken;
    },
    { batch: { count: 8, bytes: 1_000 } },
  );
  deliveries.add(
    [1, 2, 3, 4, 5, 6, 7, 8].map((number) => recordOf(number, 'same')),
    context,
  );
  await deliveries.until(9);
  expect(sent).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4], [1, 2], [3, 4], [3], [4], [5, 6, 7, 8]]);
  expect(letters).toEqual([{ id: 'id3', key: 'same', attempts: 2, status: 422, answer: 'why', at, record: { n: 3 } }]);
});

test('W1 a batch of which only a part was settled is sent again as it was; one that was settled whole is not', async () => {
  const { deliveries, sent } = openDeliveries(() => taken, { batch: { count: 3, bytes: 1_000 }, next: 5 });
  deliveries.add(
    [1, 2, 3, 4, 5, 6, 7].map((number) => recordOf(number)),
    context,
  );
  await deliveries.until(8);
  expect(sent).toEqual([[4, 5, 6], [7]]);
});

test('W5 what an earlier run has buried is not sent again, and is settled', async () => {
  const { deliveries, sent } = openDeliveries(() => taken, { dead: [{ id: 'id2', key: 'k' }] });
  deliveries.add(
    [1, 2, 3].map((number) => recordOf(number, 'k')),
    context,
  );
  await deliveries.until(4);
  expect(sent).toEqual([[1], [3]]);
});

test('W7 what an earlier run has buried parks its key, where keys are parked', async () => {
  const { deliveries, sent, letters } = openDeliveries(() => taken, {
    onDead: 'park',
    dead: [
      { id: 'gone', key: 'k' },
      { id: 'replayed', key: null },
    ],
  });
  deliveries.add([recordOf(1, 'k'), recordOf(2, 'other'), recordOf(3)], context);
  await deliveries.until(4);
  expect(sent).toEqual([[2], [3]]);
  expect(letters).toMatchObject([{ id: 'id1', attempts: 0, status: null, answer: '' }]);
});

test('a fault of the endpoint ends all of it, and is told to who waits', async () => {
  const { deliveries, sent } = openDeliveries(
    ([number]) => {
      if (number === 2) throw new HttpError('No.', { status: 503, excerpt: '' });
      return taken;
    },
    { deliveries: 1 },
  );
  deliveries.add(
    [1, 2, 3].map((number) => recordOf(number)),
    context,
  );
  await expect(deliveries.until(4)).rejects.toMatchObject({ status: 503 });
  await deliveries.stop(new Error('later'));
  await expect(deliveries.until(1)).rejects.toMatchObject({ status: 503 });
  expect(sent).toEqual([[1], [2]]);
  expect(deliveries.next).toBe(2);
});
