import { check, checkSame, show } from '../check.js';
import type { Checks } from '../suite.js';
import type { DrivenLimiter, OpenLimiter, RequestedPermit } from './drivenLimiter.js';

/** How permits are granted, released and aborted. */
export const permitChecks: Checks<OpenLimiter> = {
  'grants permits in the order of the calls': async (open) => {
    const driven = await open();
    driven.limiter.pause(driven.per / 2);
    driven.acquireMany(6);
    await driven.untilBegun(6, 'After a pause');
    driven.acquireMany(3);
    await driven.untilBegun(9, 'With nothing in their way');
    checkSame(driven.order, [0, 1, 2, 3, 4, 5, 6, 7, 8], 'The order of permits, compared with the order of the calls,');
  },

  'reports how many wait and how many run': async (open) => {
    const driven = await open();
    driven.checkState(0, 0, 'before anybody asked');
    driven.limiter.pause(driven.per);
    driven.acquireMany(3);
    await driven.settle();
    driven.checkState(3, 0, 'when three wait');
    await driven.untilBegun(3, 'After a pause');
    driven.checkState(0, 3, 'when three run');
    driven.begun[1]?.permit?.release();
    driven.checkState(0, 2, 'when one of three was released');
    driven.releaseAll();
    driven.checkState(0, 0, 'when all were released');
  },

  'counts one release of a permit, however often it is released': async (open) => {
    const driven = await open();
    driven.acquireMany(3);
    await driven.untilBegun(3, 'With nothing in their way');
    driven.begun[0]?.permit?.release();
    driven.begun[0]?.permit?.release();
    driven.checkState(0, 2, 'when one of three was released twice');
  },

  'rejects at once when a waiting permit is aborted, and forgets it': async (open) => {
    const driven = await open();
    driven.limiter.pause(driven.per);
    const stop = new AbortController();
    const first = driven.acquire();
    const aborted = driven.acquire({ signal: stop.signal });
    const last = driven.acquire();
    await driven.settle();
    const reason = new Error('Not wanted any more.');
    const before = driven.now;
    stop.abort(reason);
    await checkRefused(driven, aborted, reason, 'while it waited');
    driven.checkState(2, 0, 'as soon as one of three was aborted');
    check(driven.now === before, 'A permit that was aborted while it waited was refused later.');
    await driven.untilBegun(2, 'After a pause in which one of three was aborted');
    await driven.pass(driven.per);
    checkSame(driven.order, [first.nth, last.nth], 'The permits that began when the second of three was aborted');
    driven.checkState(0, 2, 'when one of three was aborted, and the others run');
  },

  'rejects at once when the signal is aborted already': async (open) => {
    const driven = await open();
    const reason = new Error('Not wanted from the beginning.');
    const requested = driven.acquire({ signal: AbortSignal.abort(reason) });
    await checkRefused(driven, requested, reason, 'already');
    driven.checkState(0, 0, 'when one was refused that was aborted already');
  },

  'keeps counting a permit that is aborted after it began': async (open) => {
    const driven = await open();
    const stop = new AbortController();
    const requested = driven.acquire({ signal: stop.signal });
    await driven.untilBegun(1, 'With nothing in its way');
    stop.abort(new Error('Too late.'));
    await driven.settle();
    driven.checkState(0, 1, 'when a permit was aborted that had begun');
    requested.permit?.release();
    driven.checkState(0, 0, 'when a permit was released that had been aborted');
  },

  'leaves no listener on a signal': async (open) => {
    const driven = await open();
    const stop = new AbortController();
    const listeners = countListeners(stop.signal);
    driven.limiter.pause(driven.per / 2);
    for (let count = 0; count < 4; count += 1) driven.acquire({ signal: stop.signal });
    await driven.untilBegun(4, 'After a pause');
    driven.releaseAll();
    checkSame(listeners(), 0, 'The number of listeners on a signal whose permits were granted and released');
  },

  'starts nothing during a pause': async (open) => {
    const driven = await open();
    const { per } = driven;
    const start = driven.now;
    driven.limiter.pause(2 * per);
    driven.acquireMany(2);
    await driven.pass(per);
    // A request during the pause waits too.
    driven.acquire();
    await driven.untilBegun(3, 'After a pause');
    checkPaused(driven.begun, start + 2 * per);
  },

  'obeys the longest of several pauses': async (open) => {
    const driven = await open();
    const { per, limiter } = driven;
    const start = driven.now;
    limiter.pause(2 * per);
    limiter.pause(per / 2);
    driven.acquire();
    await driven.pass(per);
    limiter.pause(per / 4);
    limiter.pause(3 * per);
    const end = driven.now + 3 * per;
    check(end > start + 2 * per, 'The clock goes backwards.');
    await driven.untilBegun(1, 'After several pauses');
    checkPaused(driven.begun, end);
  },

  'reports how long a pause lasts': async (open) => {
    const driven = await open();
    const { per, limiter } = driven;
    checkSame(limiter.state.pausedFor, 0, 'pausedFor before any pause');
    const start = driven.now;
    limiter.pause(2 * per);
    await driven.pass(per / 2);
    const left = limiter.state.pausedFor;
    const due = start + 2 * per - driven.now;
    check(left === due, `pausedFor is ${left}, but ${due} ms are left.`);
    await driven.pass(2 * per);
    checkSame(limiter.state.pausedFor, 0, 'pausedFor after a pause');
  },
};

async function checkRefused(driven: DrivenLimiter, requested: RequestedPermit, reason: unknown, when: string) {
  await driven.trial.eventually(
    () => requested.refusal !== undefined || requested.permit !== undefined,
    `A permit that was aborted ${when} was not refused`,
  );
  check(requested.permit === undefined, 'An aborted permit was granted.');
  check(
    requested.refusal?.isThrown !== true,
    'An aborted permit must be refused by a promise, but the call itself threw.',
  );
  check(
    requested.refusal?.error === reason,
    `An aborted permit must be refused with signal.reason itself, not with ${show(requested.refusal?.error)}.`,
  );
}

function checkPaused(begun: readonly RequestedPermit[], until: number): void {
  const [early] = begun.filter(({ begunAt = 0 }) => begunAt < until);
  check(early === undefined, `A permit began ${until - (early?.begunAt ?? 0)} ms before the end of a pause.`);
}

/** Returns a function that counts the listeners that a signal got since now. */
function countListeners(signal: AbortSignal): () => number {
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners.add(args[1]);
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners.delete(args[1]);
    remove(...args);
  };
  return () => listeners.size;
}
