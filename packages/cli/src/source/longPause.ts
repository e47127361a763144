import { type Client, type Clock, systemClock } from '@sluice/core';
import type { Environment } from '../environment/environment.js';
import { TimeUp } from '../errors/errors.js';
import { every } from '../progress/reporter.js';
import { formatMinute } from '../terminal/format.js';

const checkEvery = 1_000;
/** Checks in a row. At a single one another API may be just between two pages. */
const minChecks = 3;

/**
 * Interrupts a command with `--max-time` if nothing is left for some seconds but a pause that is longer than its time: no
 * request runs, all that wait may start only after it, and no delivery waits. Returns a function that ends the checks.
 */
export function endInLongPause(
  client: Client,
  { endsAt, interrupt, signal }: Pick<Environment, 'endsAt' | 'interrupt' | 'signal'>,
  clock: Clock = systemClock,
): () => void {
  if (endsAt === undefined) return () => undefined;
  let deliveries = 0;
  let checks = 0;
  const following = client.eventsOf('delivery').subscribe(({ waiting }) => {
    deliveries = waiting;
  });
  const endChecks = every(clock, checkEvery, () => {
    const busy = [client.limiter, ...client.limiters.values()].filter(({ queued, running }) => queued + running > 0);
    const pause = Math.min(...busy.map(({ pausedFor, running }) => (running > 0 ? 0 : pausedFor)));
    const isTooLong = busy.length > 0 && pause > endsAt - clock.monotonic();
    checks = isTooLong && deliveries === 0 ? checks + 1 : 0;
    if (checks < minChecks || signal.aborted) return;
    const until = formatMinute(new Date(clock.now() + pause).toISOString());
    interrupt(
      new TimeUp(`Stopped: the next request may start at ${until}, after the end of --max-time.`, { isPaused: true }),
    );
  });
  return () => {
    following.unsubscribe();
    endChecks();
  };
}
