import { watch, type Change, type Endpoint, type Source, type WatchOptions } from '@sluice/core';
import type { EvmStream } from './evmStream.js';
import { listStreams, type ListStreamsOptions } from './listStreams.js';

/** What {@link watchStreams} is asked for. */
export interface WatchStreamsOptions
  extends WatchOptions<EvmStream>, Pick<ListStreamsOptions, 'pageSize' | 'maxPages'> {}

/**
 * Every change of the project's EVM streams: a source whose pages are polls.
 *
 * @throws ConfigError, before any request, if an option makes no sense.
 */
export function watchStreams(endpoint: Endpoint, options: WatchStreamsOptions): Source<Change<EvmStream>> {
  const { pageSize, maxPages, ...watching } = options;
  const streams = listStreams(endpoint, {
    ...(pageSize !== undefined && { pageSize }),
    ...(maxPages !== undefined && { maxPages }),
  });
  return watch(streams, watching);
}
