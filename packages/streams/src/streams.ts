import type { Change, Plugin, Source } from '@sluice/core';
import type { EvmStream } from './evmStream.js';
import { listStreams, type ListStreamsOptions } from './listStreams.js';
import { watchStreams, type WatchStreamsOptions } from './watchStreams.js';

/** Options of the plugin. */
export interface StreamsOptions {
  /** Base address of the streams interface. */
  readonly baseUrl: string;
}

/** What the plugin adds to a client. */
export interface StreamsApi {
  /** All EVM streams of the key's project. @throws ConfigError, before any request, if an option makes no sense. */
  list(options?: ListStreamsOptions): Source<EvmStream>;
  /** Every change of them, poll after poll. @throws ConfigError, before any request, if an option makes no sense. */
  watch(options: WatchStreamsOptions): Source<Change<EvmStream>>;
}

/**
 * The streams interface.
 *
 * @example
 * const client = createClient({ apiKey }).use(streams({ baseUrl }));
 * client.streams.list().pipe(filter((stream) => stream.status === 'error')).subscribe(console.log);
 */
export function streams({ baseUrl }: StreamsOptions): Plugin<'streams', StreamsApi> {
  return {
    name: 'streams',
    setup(context) {
      const endpoint = context.endpoint(baseUrl);
      return {
        list: (options) => listStreams(endpoint, options),
        watch: (options) => watchStreams(endpoint, options),
      };
    },
  };
}
