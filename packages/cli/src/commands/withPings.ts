import { type Clock, SluiceError, systemClock } from '@sluice/core';
import { causeOf } from '@sluice/core/health';
import { createSender } from '@sluice/core/kit';
import { addressGuard, type UrlGuard } from '@sluice/core/node';
import type { Environment } from '../environment/environment.js';
import { exitCodes } from '../errors/errors.js';
import { chooseExitCode } from '../errors/exitCode.js';
import { findPing, type PingStatus, pingUrl, pingUrls } from '../input/pingUrl.js';
import type { OptionsOf } from '../options/commands.js';

/** Options of every command that pings. */
type PingOptions = OptionsOf<'ping' | 'pingFile' | 'allowAddress' | 'progress'>;

/**
 * Runs a command, and pings a monitor when it begins and ends, so that somebody notices if it does not. Its exit code says
 * how it ended. A ping that fails is a warning, and delays only the end.
 *
 * @throws UsageError if the URL is not one, ForbiddenAddressError if it leads to this machine or a private network.
 */
export async function withPings(
  options: PingOptions,
  environment: Environment,
  work: (environment: Environment) => Promise<number>,
): Promise<number> {
  const template = await findPing(options, environment);
  if (template === undefined) return work(environment);
  const guard = addressGuard({ allow: options.allowAddress });
  const urls = pingUrls(template).map((url) => new URL(url));
  for (const url of urls) guard.checkUrl(url);
  const { stderr } = environment;
  const monitor = openMonitor({
    clock: systemClock,
    async send(status, code, signal) {
      const url = pingUrl(template, status, code);
      if (url !== undefined) await sendPing(url, guard, signal);
    },
    onFailed: (error) => {
      const why = SluiceError.is(error) ? causeOf(error) : 'no response in time';
      const message = `${urls[0]?.host ?? ''} could not be pinged (${why}), so it may report that this run is missing.`;
      const isJson = options.progress === 'json';
      stderr.print(isJson ? `${JSON.stringify({ event: 'warning', message })}\n` : `sluice: ${message}\n`);
    },
  });
  monitor.begin();
  try {
    const code = await work({ ...environment, pingWell: monitor.pingWell });
    await monitor.end(code);
    return code;
  } catch (error) {
    const code = chooseExitCode(error);
    // SIGTERM has ended a watch as asked, which is neither a success nor a failure.
    await monitor.end(code === exitCodes.done ? undefined : code);
    throw error;
  }
}

const timeouts = { connect: 2_000, response: 2_000, total: 4_500 };
const retry = { retries: 1, baseDelay: 500, maxRetryAfter: 1_000 };

async function sendPing(url: string, guard: UrlGuard, signal: AbortSignal): Promise<void> {
  const sender = createSender({ url, guard, timeouts, retry });
  try {
    await sender.send({ headers: () => ({}), signal });
  } finally {
    await sender.close();
  }
}

/** Ms between two pings of a watch that is well, at least. */
const wellEvery = 60_000;
/** Ms for which the end waits: for earlier pings, since a start must not come last, and for its own. */
const longestEarlier = 2_000;
const longestLast = 3_000;

interface MonitorParts {
  readonly clock: Clock;
  /** Rejects at once when the signal is aborted. */
  readonly send: (status: PingStatus, code: number | undefined, signal: AbortSignal) => Promise<void>;
  /** Called with the first failure, and again once a ping has succeeded. */
  readonly onFailed: (error: unknown) => void;
}

/** Sends pings one after the other, in the background until the end. */
export function openMonitor({ clock, send, onFailed }: MonitorParts) {
  let stop = new AbortController();
  let last = Promise.resolve();
  let wellAt = -Infinity;
  let isFailing = false;
  const ping = (status: PingStatus, code?: number): void => {
    const { signal } = stop;
    last = last
      .then(() => send(status, code, signal))
      .then(
        () => {
          isFailing = false;
        },
        (error: unknown) => {
          if (!isFailing) onFailed(error);
          isFailing = true;
        },
      );
  };
  const settle = async (longest: number): Promise<void> => {
    const cancel = clock.after(longest, () => stop.abort());
    await last;
    cancel();
  };
  return {
    begin: () => ping('start'),
    /** Says that a watch is well, at most once a minute. */
    pingWell: (): void => {
      const now = clock.monotonic();
      if (now - wellAt < wellEvery) return;
      wellAt = now;
      ping('success', exitCodes.done);
    },
    /** Resolves after five seconds at most. @param code the exit code; `undefined`, and 75, are not told. */
    end: async (code: number | undefined): Promise<void> => {
      await settle(longestEarlier);
      if (code === undefined || code === exitCodes.unfinished) return;
      stop = new AbortController();
      ping(code === exitCodes.done ? 'success' : 'fail', code);
      await settle(longestLast);
    },
  };
}
