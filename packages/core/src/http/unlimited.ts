import type { Clock } from '../clock.js';
import type { Limiter } from './limiter.js';
import { PauseGate } from './pauseGate.js';

/** The limiter of `rateLimit: false`: a request waits only for a pause that the API asked for. */
export function unlimited(clock: Clock): Limiter {
  const gate = new PauseGate(clock);
  let queued = 0;
  let running = 0;
  return {
    async acquire({ signal }) {
      queued += 1;
      try {
        await gate.pass(signal);
      } finally {
        queued -= 1;
      }
      running += 1;
      let released = false;
      return {
        started: () => gate.remaining === 0,
        release() {
          if (released) return;
          released = true;
          running -= 1;
        },
      };
    },
    pause: (ms) => gate.shut(ms),
    get state() {
      return { queued, running, pausedFor: gate.remaining };
    },
  };
}
