import { type Client, systemClock } from '@sluice/core';
import type { Environment } from '../environment/environment.js';
import { TimeUp } from '../errors/errors.js';
import { every } from '../progress/reporter.js';
import { formatMinute } from '../terminal/format.js';

const checkEvery = 1_000;

/**
 * Interrupts a command with `--max-time` as soon as nothing is left but a pause that is longer than its time: no request
 * runs, all that wait may start only after it, and no delivery waits. Returns a function that ends the checks.
 */
export function endInLongPause(client: Client, { endsAt, interrupt, signal }: Environment): () => void {
  if (endsAt === undefined) return () => undefined;
  let deliveries = 0;
  const following = client.eventsOf('delivery').subscribe(({ waiting }) => {
    deliveries = waiting;
  });
  const endChecks = every(systemClock, checkEvery, () => {
    const busy = [client.limiter, ...client.limiters.values()].filter(({ queued, running }) => queued + running > 0);
    const pause = Math.min(...busy.map(({ pausedFor, running }) => (running > 0 ? 0 : pausedFor)));
    const isTooLong = busy.length > 0 && pause > endsAt - systemClock.monotonic();
    if (!isTooLong || deliveries > 0 || signal.aborted) return;
    const until = formatMinute(new Date(systemClock.now() + pause).toISOString());
    interrupt(
      new TimeUp(`Stopped: the next request may start at ${until}, after the end of --max-time.`, { isPaused: true }),
    );
  });
  return () => {
    following.unsubscribe();
    endChecks();
  };
}
