import { SluiceError } from '@sluice/core';
import { calm } from '../calm.js';
import { check, checkSame } from '../check.js';
import type { Checks } from '../suite.js';
import type { OpenedState } from './openedState.js';

/** Who may use a state, and when. */
export const lockChecks: Checks<OpenedState> = {
  'grants one export lock at a time, in the order of the calls': async (state) => {
    const asked = [state.requestLock(), state.requestLock(), state.requestLock()];
    for (const [at, lock] of asked.entries()) {
      await lock.checkGranted(`Export ${at}`);
      await calm();
      const inside = asked.filter((each) => each.state === 'granted').length;
      checkSame(inside, at + 1, 'The number of exports that got the lock, one after the other,');
      await lock.release();
    }
    const again = state.requestLock();
    await again.checkGranted('An export that started after all others');
  },

  'grants locks to an export and a watch at the same time': async (state) => {
    await state.requestLock('watch').checkGranted('A watch');
    await state.requestLock('export').checkGranted('An export beside a watch');
  },

  'refuses a second watch with a LockError, unless the first one is closing': async (state) => {
    const first = new AbortController();
    const watch = state.requestLock('watch', first.signal);
    await watch.checkGranted('A watch');
    const second = state.requestLock('watch');
    await second.settle('A second watch');
    check(
      second.state === 'refused' && SluiceError.is(second.reason, 'lock'),
      `A second watch must be refused with a LockError, since a watch never ends, but was ${second.outcome}.`,
    );
    first.abort(new Error('Closing.'));
    const third = state.requestLock('watch');
    await calm();
    checkSame(third.state, 'waiting', 'The result of a watch that starts while another one is closing');
    await watch.release();
    await third.checkGranted('A watch that waited for one that was closing');
  },

  'stops waiting at once when aborted, and forgets the waiting export': async (state) => {
    const first = state.requestLock();
    await first.checkGranted('An export');
    const stop = new AbortController();
    const aborted = state.requestLock('export', stop.signal);
    const last = state.requestLock();
    await calm();
    const reason = new Error('Not wanted any more.');
    stop.abort(reason);
    await aborted.checkAborted('An export that was aborted while it waited', reason);
    await calm();
    checkSame(last.state, 'waiting', 'The result of an export behind an aborted one, while another one is running,');
    await first.release();
    await last.checkGranted('An export behind an aborted one');
  },

  'grants no lock if the signal is aborted already': async (state) => {
    const reason = new Error('Not wanted from the beginning.');
    const aborted = state.requestLock('export', AbortSignal.abort(reason));
    await aborted.checkAborted('An export that was aborted already', reason);
    await state.requestLock().checkGranted('An export behind one that was aborted already');
  },

  'grants no lock to another store while it is locked': async (state) => {
    const another = await state.another();
    for (const use of ['export', 'watch'] as const) {
      const first = state.requestLock(use);
      await first.checkGranted(`The first ${use}`);
      const stop = new AbortController();
      const second = state.requestLock(use, stop.signal, another);
      await calm();
      check(second.state !== 'granted', `Two stores on one state have the lock for the same ${use}.`);
      if (second.state === 'refused')
        check(
          SluiceError.is(second.reason, 'lock'),
          `Another store must wait, or be refused with a LockError, but was ${second.outcome}.`,
        );
      const reason = new Error('Not wanted any more.');
      stop.abort(reason);
      await second.settle('Another store that was aborted');
      await first.release();
      const third = state.requestLock(use, undefined, another);
      await third.checkGranted('Another store after the lock was released');
      await third.release();
    }
  },
};
