import type { Limiter } from '../../src/kit.js';
import type { FakeClock } from '../fakeClock.js';

/** A limiter whose permits a test grants one by one. */
export function limiterByHand(clock: FakeClock): { readonly limiter: Limiter; grantAfter(ms: number): Promise<void> } {
  const waiting: (() => void)[] = [];
  let awaited: (() => void) | undefined;
  return {
    limiter: {
      acquire: () =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ release: () => undefined }));
          awaited?.();
        }),
      pause: () => undefined,
      state: { queued: 0, running: 0, pausedFor: 0 },
    },
    async grantAfter(ms) {
      if (waiting.length === 0) await new Promise<void>((resolve) => (awaited = resolve));
      await clock.advance(ms);
      waiting.shift()?.();
    },
  };
}
