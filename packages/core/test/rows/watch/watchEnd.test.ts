import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { memoryState, type StateStore } from '../../../src/index.js';
import type { StateLog } from '../../../src/kit.js';
import { Listing, rowsOf } from './listing.js';
import { watchPolls } from './watchPolls.js';

/** A state in memory that says when its log is let go of, which takes a while, and when its lock is. */
function toldState(told: string[]): StateStore {
  const state = memoryState();
  return {
    ...state,
    lock: async (...use) => {
      const release = await state.lock(...use);
      return async () => {
        told.push('the lock is released');
        await release();
      };
    },
    log: (name) => {
      const log: StateLog = state.log(name);
      log.close = async () => {
        told.push('the log is being closed');
        await turnOfTheLoop();
        told.push('the log is closed');
      };
      return log;
    },
  };
}

test('C6 a watch lets the next one in only when its log is closed', async () => {
  const told: string[] = [];
  await watchPolls(new Listing(rowsOf('a', 'b')), 2, { state: toldState(told) });
  expect(told).toEqual(['the log is being closed', 'the log is closed', 'the lock is released']);
});
