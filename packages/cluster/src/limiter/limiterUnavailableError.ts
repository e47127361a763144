import { NetworkError } from '@sluice/core';

/**
 * The processes' common limiter does not answer, so nothing may start. The walk can be resumed. Its code is `network`;
 * `details.limiter` is the limiter's name.
 */
export class LimiterUnavailableError extends NetworkError {
  constructor(name: string, summary: string, cause?: unknown) {
    super(summary, { details: { limiter: name }, fault: 'machine', cause });
  }
}
