import type { Plugin } from '@sluice/core';
import { defineApi, sharedKey, type ApiSource } from '@sluice/core/define';
import { checkOptions } from '@sluice/core/kit';
import type { EvmStream } from './evmStream.js';
import { streamListing } from './listStreams.js';

/** Options of the plugin. */
export interface StreamsOptions {
  /** Base URL of the streams API. */
  readonly baseUrl: string;
}

/** What the plugin adds to a client. */
export interface StreamsApi {
  /**
   * The project's EVM streams (`ListStreamsOptions`); `list.watch` emits their changes from poll to poll.
   *
   * @throws ConfigError before any request if an option is invalid.
   */
  readonly list: ApiSource<object, EvmStream>;
}

const api = defineApi({ name: 'streams', auth: sharedKey, sources: { list: streamListing } });

/**
 * The streams API.
 *
 * @example
 * const client = createClient({ apiKey }).use(streams({ baseUrl }));
 * client.streams.list().pipe(filter((stream) => stream.status === 'error')).subscribe(console.log);
 * client.streams.list.watch({}, { every: 30_000 }).pipe(statusChanges()).subscribe(console.log);
 */
export function streams(options: StreamsOptions): Plugin<'streams', StreamsApi> {
  checkOptions('streams()', options, { baseUrl: true });
  return api(options);
}
