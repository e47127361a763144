import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { SignalWatch } from '../src/signalWatch.js';

test('T4 a request that ends takes the signal from none of the others that share it', () => {
  const watch = new SignalWatch();
  const controller = new AbortController();
  const told: string[] = [];
  const [endFirst, endSecond] = ['first', 'second', 'third'].map((name) =>
    watch.watch(controller.signal, () => told.push(name)),
  );
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  endFirst!();
  // Once is enough: what ended twice is still one.
  endFirst!();
  endSecond!();
  controller.abort();
  expect(told).toEqual(['third']);
});

test('T4 with the last of them the listener goes, and comes again with the next one', () => {
  const watch = new SignalWatch();
  const controller = new AbortController();
  const told: string[] = [];
  watch.watch(controller.signal, () => told.push('first'))();
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  watch.watch(controller.signal, () => told.push('second'));
  controller.abort();
  expect(told).toEqual(['second']);
});

test('T4 an abort also ends what is watched while others hear of it, and leaves nothing watched', () => {
  const watch = new SignalWatch();
  const controller = new AbortController();
  const told: string[] = [];
  const endFirst = watch.watch(controller.signal, () => {
    told.push('first');
    endSecond();
    watch.watch(controller.signal, () => told.push('third'));
  });
  const endSecond = watch.watch(controller.signal, () => told.push('second'));
  controller.abort();
  endFirst();
  expect(told).toEqual(['first', 'third']);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});
