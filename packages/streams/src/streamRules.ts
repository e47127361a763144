import type { Rule } from '@sluice/core/kit';
import type { EvmStream } from './evmStream.js';

const hour = 3_600_000;

/** The rules of the API of streams. */
export const streamRules = {
  /**
   * A stream that stays in `error` for 24 hours is terminated for good, with its events: it is due after 20 hours, and
   * again each hour.
   *
   * @param status the status of a stream that is dying
   *
   * @example
   * client.streams.list.watch({}, { every: 30_000, state: fileState('watch'), rules: { dying: streamRules.dying() } });
   */
  dying: (status = 'error'): Rule<EvmStream> => ({
    when: (stream) => stream.status === status,
    for: 20 * hour,
    again: hour,
    deadline: 24 * hour,
    version: status,
  }),
} as const;
