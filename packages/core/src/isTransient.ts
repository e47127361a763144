import { SluiceError } from './errors.js';

/**
 * Whether the same walk may do better another time, although nobody changes anything: the network failed, the API was busy or down, an
 * answer was cut short or a web page, a cursor expired, rows moved during the walk.
 *
 * `false` for all that stays: a key or a request that the API refuses, a client that is closed, a certificate that is not trusted, an answer
 * of another shape, a listing that goes round in a circle, an option that makes no sense, and every error that is none of Sluice's.
 *
 * @example
 * poll(client.streams.list(), { every: 30_000 }).pipe(
 *   retry({ delay: (error) => (isTransient(error) ? timer(30_000) : throwError(() => error)) }),
 * );
 */
export function isTransient(error: unknown): error is SluiceError {
  if (!SluiceError.is(error)) return false;
  const { code, details } = error;
  switch (code) {
    case 'timeout':
    case 'rate-limited':
    case 'cursor-refused':
    case 'rows-moved':
      return true;
    case 'network':
      return details['isClosed'] !== true && !isCertificateFault(String(details['platformCode']));
    case 'http':
      return isRetriedStatus(Number(details['status']));
    case 'decode':
      // What is no document has an excerpt. Of a document it says where its shape is another one.
      return 'excerpt' in details;
    default:
      return false;
  }
}

const retriedStatuses = new Set([408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]);

/** Whether an answer with this status may be another one the next time. */
export function isRetriedStatus(status: number): boolean {
  return retriedStatuses.has(status);
}

/** Whether a platform's code says that the certificate of a server is not trusted. */
export function isCertificateFault(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/.test(code);
}
