import { expect, test } from 'vitest';
import { PauseGate } from '../../src/http/pauseGate.js';

test('T7 whoever waits for the end of a pause goes before who comes when it is over, and in the order of coming', async () => {
  let time = 0;
  let ring = (): void => undefined;
  const gate = new PauseGate({
    now: () => time,
    monotonic: () => time,
    after: (_ms, callback) => {
      ring = callback;
      return () => undefined;
    },
  });
  const passed: string[] = [];
  const pass = (name: string): Promise<number> => gate.pass().then(() => passed.push(name));
  gate.shut(100);
  const waiting = ['first', 'second', 'third'].map(pass);
  // The pause is over, and the timer has not gone off yet: the process was busy.
  time = 100;
  const late = pass('late');
  await new Promise((resolve) => setImmediate(resolve));
  expect(passed).toEqual([]);
  ring();
  await Promise.all([...waiting, late]);
  expect(passed).toEqual(['first', 'second', 'third', 'late']);
  // Nobody waits any more.
  await pass('next');
});
