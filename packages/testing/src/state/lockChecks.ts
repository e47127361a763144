import { SluiceError } from '@sluice/core';
import { check, checkSame, shown } from '../check.js';
import { calm, eventually } from '../waiting.js';
import type { Trial } from '../suite.js';
import { OpenedState, type AskedLock } from './openedState.js';
import type { StateChecks } from './recordChecks.js';
import type { StateStoreFixture } from './stateStoreFixture.js';

/** Who may use a state, and when. */
export const lockChecks: StateChecks = {
  'grants one export lock at a time, in the order of the calls': async (trial) => {
    const state = await OpenedState.on(trial);
    const asked = [state.ask(), state.ask(), state.ask()];
    for (const [at, lock] of asked.entries()) {
      await given(trial, lock, `Export ${at}`);
      await calm();
      const inside = asked.filter(({ outcome }) => outcome === 'given').length;
      checkSame(inside, at + 1, 'The number of exports that got the lock, one after the other,');
      await lock.release();
    }
    const again = state.ask();
    await given(trial, again, 'An export that started after all others');
  },

  'grants locks to an export and a watch at the same time': async (trial) => {
    const state = await OpenedState.on(trial);
    await given(trial, state.ask('watch'), 'A watch');
    await given(trial, state.ask('export'), 'An export beside a watch');
  },

  'refuses a second watch with a LockError, unless the first one is closing': async (trial) => {
    const state = await OpenedState.on(trial);
    const first = new AbortController();
    const watch = state.ask('watch', first.signal);
    await given(trial, watch, 'A watch');
    const second = state.ask('watch');
    await settled(trial, second, 'A second watch');
    check(
      second.outcome === 'refused' && SluiceError.is(second.reason, 'lock'),
      `A second watch must be refused with a LockError, since a watch never ends, but was ${outcomeOf(second)}.`,
    );
    first.abort(new Error('Closing.'));
    const third = state.ask('watch');
    await calm();
    checkSame(third.outcome, 'waits', 'The result of a watch that starts while another one is closing');
    await watch.release();
    await given(trial, third, 'A watch that waited for one that was closing');
  },

  'stops waiting at once when aborted, and forgets the waiting export': async (trial) => {
    const state = await OpenedState.on(trial);
    const first = state.ask();
    await given(trial, first, 'An export');
    const stop = new AbortController();
    const aborted = state.ask('export', stop.signal);
    const last = state.ask();
    await calm();
    const reason = new Error('Not wanted any more.');
    stop.abort(reason);
    await settled(trial, aborted, 'An export that was aborted while it waited');
    checkAborted(aborted, reason);
    await calm();
    checkSame(last.outcome, 'waits', 'The result of an export behind an aborted one, while another one is running,');
    await first.release();
    await given(trial, last, 'An export behind an aborted one');
  },

  'grants no lock if the signal is aborted already': async (trial) => {
    const state = await OpenedState.on(trial);
    const reason = new Error('Not wanted from the beginning.');
    const aborted = state.ask('export', AbortSignal.abort(reason));
    await settled(trial, aborted, 'An export that was aborted already');
    checkAborted(aborted, reason);
    await given(trial, state.ask(), 'An export behind one that was aborted already');
  },

  'grants no lock to another store while it is locked': async (trial) => {
    const state = await OpenedState.on(trial);
    const another = await state.another();
    for (const use of ['export', 'watch'] as const) {
      const first = state.ask(use);
      await given(trial, first, `The first ${use}`);
      const stop = new AbortController();
      const second = state.ask(use, stop.signal, another);
      await calm();
      check(second.outcome !== 'given', `Two stores on one state have the lock for the same ${use}.`);
      if (second.outcome === 'refused')
        check(
          SluiceError.is(second.reason, 'lock'),
          `Another store must wait, or be refused with a LockError, but was ${outcomeOf(second)}.`,
        );
      const reason = new Error('Not wanted any more.');
      stop.abort(reason);
      await settled(trial, second, 'Another store that was aborted');
      await first.release();
      const third = state.ask(use, undefined, another);
      await given(trial, third, 'Another store after the lock was released');
      await third.release();
    }
  },
};

function given(trial: Trial<StateStoreFixture>, lock: AskedLock, who: string): Promise<void> {
  return settled(trial, lock, who).then(() =>
    check(lock.outcome === 'given', `${who} must get the lock, but was ${outcomeOf(lock)}.`),
  );
}

function settled({ timeout }: Trial<StateStoreFixture>, lock: AskedLock, who: string): Promise<void> {
  return eventually(() => lock.outcome !== 'waits', `${who} neither got the lock nor was refused`, timeout);
}

function checkAborted(lock: AskedLock, reason: unknown): void {
  check(
    lock.outcome === 'refused' && lock.reason === reason,
    `An aborted lock request must be refused with signal.reason itself, but was ${outcomeOf(lock)}.`,
  );
}

function outcomeOf({ outcome, reason }: AskedLock): string {
  return outcome === 'refused'
    ? `refused with ${shown(reason)}`
    : outcome === 'given'
      ? 'granted the lock'
      : 'left waiting';
}
