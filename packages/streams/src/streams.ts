import {
  defineApi,
  refuseUnknown,
  sharedKey,
  type ApiSource,
  type Change,
  type Plugin,
  type Source,
} from '@sluice/core';
import type { EvmStream } from './evmStream.js';
import { streamListing, type WatchStreamsOptions } from './listStreams.js';

/** Options of the plugin. */
export interface StreamsOptions {
  /** Base URL of the streams API. */
  readonly baseUrl: string;
}

/** What the plugin adds to a client. */
export interface StreamsApi {
  /** The project's EVM streams (`ListStreamsOptions`). @throws ConfigError before any request if one is invalid. */
  readonly list: ApiSource<object, EvmStream>;
  /** All changes of them from poll to poll. @throws ConfigError before any request if an option is invalid. */
  watch(options: WatchStreamsOptions): Source<Change<EvmStream>>;
}

const api = defineApi({ name: 'streams', auth: sharedKey, sources: { list: streamListing } });

/**
 * The streams API.
 *
 * @example
 * const client = createClient({ apiKey }).use(streams({ baseUrl }));
 * client.streams.list().pipe(filter((stream) => stream.status === 'error')).subscribe(console.log);
 */
export function streams(options: StreamsOptions): Plugin<'streams', StreamsApi> {
  refuseUnknown('streams()', options, { baseUrl: true });
  const { name, setup } = api(options);
  return {
    name,
    setup(context) {
      const { list } = setup(context);
      return {
        list,
        watch: ({ pageSize, maxPages, ...watchOptions }) => list.watch({ pageSize, maxPages }, watchOptions),
      };
    },
  };
}
