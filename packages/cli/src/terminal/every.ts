import type { Clock } from '@sluice/core';

/** Calls back every `ms` until the answer is called. */
export function every(clock: Clock, ms: number, callback: () => void): () => void {
  let cancel = clock.after(ms, tick);
  function tick(): void {
    cancel = clock.after(ms, tick);
    callback();
  }
  return () => {
    cancel();
  };
}
