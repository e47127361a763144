import { expect, test } from 'vitest';
import { streamRules, type EvmStream } from '../src/index.js';

test('a stream is dying after 20 hours in error, and is told of each hour until it is terminated', () => {
  const hour = 3_600_000;
  const { when, ...rule } = streamRules.dying();
  expect(rule).toEqual({ for: 20 * hour, again: hour, deadline: 24 * hour, version: 'error' });
  const stream = (status: string): EvmStream => ({ id: 'a', status });
  expect([when(stream('error')), when(stream('active'))]).toEqual([true, false]);
  const other = streamRules.dying('failing');
  expect([other.version, other.when(stream('failing')), other.when(stream('error'))]).toEqual(['failing', true, false]);
});
