import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SluiceError } from '@sluice/core';
import { causeOf, healthLevel, healthText, type RunHealth } from '@sluice/core/health';
import type { PageHealth } from '@sluice/core/kit';
import { Failure } from '../errors/errors.js';
import { codeOf, thrownText } from '../errors/thrown.js';
import type { ListenAddress } from '../options/option.js';
import { formatCount, formatDuration } from '../terminal/format.js';

/** What a health check is told. */
export interface Verdict {
  readonly isWell: boolean;
  /** One sentence, without anything that the API or the target said. */
  readonly sentence: string;
}

/** What a watch is like. */
export interface WatchState {
  /** Of the run, as the page and the terminal show it. */
  readonly health: RunHealth;
  /** The target, with an article. */
  readonly target: string;
  /** The latest poll of this run; absent before the first one has ended. */
  readonly poll?: Pick<PageHealth, 'outcome' | 'failures' | 'error'> | undefined;
  /** Ms since the last poll that was accepted; absent before the first one. */
  readonly acceptedFor?: number | undefined;
  /** Ms between polls. */
  readonly every: number;
  readonly isStopping: boolean;
}

/** Ms that a poll may take, and be late, besides its interval. */
const allowance = 60_000;

/**
 * Whether polls are accepted and the target takes what they find.
 *
 * @example judgeWatch({ health: { kind: 'target', since: 12_000, cause: 'HTTP 502' }, target: 'the webhook', … })
 * // { isWell: false, sentence: 'The webhook has taken nothing for 12 s (HTTP 502).' }
 */
export function judgeWatch({ health, target, poll, acceptedFor, every, isStopping }: WatchState): Verdict {
  const unwell = (sentence: string): Verdict => ({ isWell: false, sentence });
  if (isStopping) return unwell('The watch is stopping.');
  const said = healthText(health, target, 'changes');
  if (healthLevel(health) === 'failing') return unwell(said);
  if (poll?.outcome === 'failed') {
    const { failures = 1, error } = poll;
    const polls = failures === 1 ? 'The last poll' : `The last ${formatCount(failures, 'poll')}`;
    return unwell(`${polls} failed (${SluiceError.is(error) ? causeOf(error) : 'error'}).`);
  }
  if (acceptedFor === undefined) return unwell('No poll has succeeded yet.');
  // It, or what it found, is stuck.
  if (acceptedFor > 2 * every + allowance)
    return unwell(`The last poll that succeeded was ${formatDuration(acceptedFor)} ago. ${said}`);
  const slow = healthLevel(health) === 'waiting' || 'backlog' in health ? ` ${said}` : '';
  return { isWell: true, sentence: `The last poll succeeded ${formatDuration(acceptedFor)} ago.${slow}` };
}

/**
 * Answers health checks at any path: 200 if all is well, else 503. It does not keep the process alive.
 *
 * @returns the address, and what ends it.
 * @throws Failure if the address can't be used.
 */
export async function answerHealthChecks(
  { host, port }: ListenAddress,
  judge: () => Verdict,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer({ requestTimeout: 5_000, keepAliveTimeout: 1 }, ({ method }, response) => {
    const isRead = method === 'GET' || method === 'HEAD';
    const { isWell, sentence } = isRead ? judge() : { isWell: false, sentence: 'Only GET is allowed.' };
    response.writeHead(isRead ? (isWell ? 200 : 503) : 405, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Cache-Control': 'no-store',
      Connection: 'close',
      ...(!isRead && { Allow: 'GET, HEAD' }),
    });
    response.end(`${sentence}\n`);
  });
  server.maxConnections = 100;
  server.on('connection', (socket) => socket.unref());
  await once(server.listen(port, host), 'listening').catch((error: unknown) => {
    // It may be free when a supervisor starts the command again, which a wrong command line is not.
    throw new Failure(
      `--health can't use ${host}:${port} (${codeOf(error) ?? thrownText(error)}). Does the same command run already? Else give another one.`,
    );
  });
  // E.g. that no file is left to open: the watch goes on, and the supervisor asks again.
  server.on('error', () => undefined);
  server.unref();
  return { url: `http://${nameAddress(server.address())}/`, close: () => server.close() };
}

function nameAddress(found: AddressInfo | string | null): string {
  if (typeof found !== 'object' || found === null) return '';
  return `${found.family === 'IPv6' ? `[${found.address}]` : found.address}:${found.port}`;
}
