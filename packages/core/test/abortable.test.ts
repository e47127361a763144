import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { abortableBy } from '../src/abortable.js';

test('T4 with one listener for all, an abort rejects each promise that is pending, with its reason', async () => {
  const controller = new AbortController();
  const untilAborted = abortableBy(controller.signal);
  expect(await untilAborted(Promise.resolve('done'))).toBe('done');
  await expect(untilAborted(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  const pending = [1, 2, 3].map(() => untilAborted(new Promise(() => undefined)));
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  const reason = new Error('stopped');
  controller.abort(reason);
  for (const each of pending) await expect(each).rejects.toBe(reason);
  await expect(untilAborted(Promise.resolve('late'))).rejects.toBe(reason);
});
