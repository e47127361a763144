import { watch, type Change, type Endpoint, type Source, type WatchOptions } from '@sluice/core';
import type { EvmStream } from './evmStream.js';
import { listStreams } from './listStreams.js';

/** What {@link watchStreams} is asked for. */
export interface WatchStreamsOptions extends WatchOptions<EvmStream> {
  /** Rows a page, a whole number from 1 to 100, the API's maximum. Default 100. */
  readonly pageSize?: number;
}

/**
 * Every change of the project's EVM streams: a source whose pages are polls.
 *
 * @throws ConfigError, before any request, if an option makes no sense.
 */
export function watchStreams(endpoint: Endpoint, options: WatchStreamsOptions): Source<Change<EvmStream>> {
  const { pageSize, ...watching } = options;
  return watch(listStreams(endpoint, pageSize === undefined ? {} : { pageSize }), watching);
}
