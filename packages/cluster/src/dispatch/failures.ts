import { isTransient, SluiceError } from '@sluice/core';
import { LimiterUnavailableError } from '../limiter/limiterUnavailableError.js';

/** Failures in a row without a saved page, after which a partition is given up. */
export const maxFailures = 5;

/** What the system says of a folder that takes no file at all, and of a server that is not there. */
const systemFaults = new Set(
  'ENOSPC EDQUOT EROFS EACCES EPERM ESTALE ENOTCONN ENODEV EHOSTDOWN EHOSTUNREACH ENETUNREACH ETIMEDOUT ECONNREFUSED EMFILE ENFILE ENOMEM'.split(
    ' ',
  ),
);

/** What a database says of connections, users, room and shutdowns, in SQLSTATE. */
const serverFaults = /^(08|28|53|57P|25006|42501)/;

/**
 * Whose fault an error is.
 * - `machine`: this machine lacks something, e.g. the folder, room or rights in it, the source, a key that the API
 *   accepts, an authority that signed its certificate, an open client, or Redis, or an export holds the table. Another one may have it, or this one later, so the partition is not
 *   to blame.
 * - `partition`: whatever else there is. Other faults of the API or of the target count here, too: nobody can tell them
 *   from rows that can't be fetched or stored.
 */
export function findBlame(error: unknown): 'machine' | 'partition' {
  if (!SluiceError.is(error)) return 'partition';
  const { platformCode, code = platformCode, status } = error.details;
  const isMachine =
    ['config', 'lock'].includes(error.code) ||
    error instanceof LimiterUnavailableError ||
    (error.code === 'sink' && typeof code === 'string' && (systemFaults.has(code) || serverFaults.test(code))) ||
    // All partitions have the same key.
    (error.code === 'http' && status === 401) ||
    // Its client is closed, or does not trust the certificate of the API.
    (error.code === 'network' && !isTransient(error));
  return isMachine ? 'machine' : 'partition';
}

/**
 * Failures in a row, after one more. A partition that gets on is not poisonous, however long it takes. One that has
 * started over as often as it may, and lost what it saved each time, does not get on.
 */
export function countFailures(
  before: number,
  { error, hasSaved }: { readonly error: unknown; readonly hasSaved: boolean },
): number {
  if (SluiceError.is(error, 'cursor-refused') || isFinal(error)) return maxFailures;
  // Whoever was given up and is tried again, e.g. by hand, starts over.
  if (hasSaved || before >= maxFailures) return hasSaved ? 0 : 1;
  return before + 1;
}

/** Whether each attempt finds the same: what was written can't become the target's rows. */
function isFinal(error: unknown): boolean {
  return SluiceError.is(error, 'sink') && error.details['isLost'] === true;
}

/** Ms until the next attempt: 2 s, 8 s, 32 s, 128 s. */
export function backoffAfter(failures: number, unit = 2_000): number {
  return unit * 4 ** Math.max(0, failures - 1);
}

/**
 * What others may read of an error: Redis keeps it. Errors of this library have no secrets; what foreign code throws
 * stays in the worker's own log.
 */
export function describeError(error: unknown): string {
  if (SluiceError.is(error)) return error.message;
  return `${error instanceof Error ? error.name : 'An error'}: see the log of the worker.`;
}
