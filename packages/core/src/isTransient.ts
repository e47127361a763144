import { SluiceError } from './errors.js';
import { isRetriedStatus } from './retriedStatuses.js';

/**
 * Whether the same walk may succeed later without any change: the network failed, the API was busy or down, a response
 * was cut or HTML, a cursor expired, rows moved during the walk.
 *
 * `false` for permanent errors: a `Retry-After` of more than a day, a refused key or request, a closed client, an
 * untrusted certificate, a response of another shape, a loop, an invalid option, and errors not thrown by Sluice.
 *
 * @example
 * poll(client.streams.list(), { every: 30_000 }).pipe(
 *   retry({ delay: (error) => (isTransient(error) ? timer(30_000) : throwError(() => error)) }),
 * );
 */
export function isTransient(error: unknown): error is SluiceError {
  if (!SluiceError.is(error) || isOwnFault(error)) return false;
  const { code, details } = error;
  switch (code) {
    case 'rate-limited':
      return !(Number(details['retryAfter']) > longestWait);
    case 'timeout':
    case 'cursor-refused':
    case 'rows-moved':
      return true;
    case 'network':
      return !isCertificateFault(String(details['platformCode']));
    case 'http':
      return details['isTemporary'] === undefined
        ? isRetriedStatus(Number(details['status']))
        : details['isTemporary'] === true;
    case 'decode':
      // Only the error of a body that is not JSON has an excerpt. A document of unexpected shape will not change.
      return 'excerpt' in details;
    default:
      return false;
  }
}

const ownCodes: readonly string[] = ['config', 'checkpoint', 'lock', 'plugin', 'sink'];

/** Whether only a change of this program or machine can solve the error, whatever the API sends later. */
export function isOwnFault(error: unknown): boolean {
  return !SluiceError.is(error) || ownCodes.includes(error.code) || error.details['isClosed'] === true;
}

/** Ms. An API that asks for a longer wait does not recover by itself while a watch or poll waits. */
const longestWait = 86_400_000;

/** Whether a platform's error code means an untrusted certificate. */
export function isCertificateFault(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/.test(code);
}
