import type { Change } from '@sluice/core';
import { statusChanges, streams, type EvmStream, type StreamsApi } from '@sluice/streams';
import type { Environment } from '../environment.js';
import type { Invocation } from '../invocation.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { runWatch, type WatchCommandOptions, type WatchedRows } from '../watch/runWatch.js';
import { streamLook } from '../watch/streamLook.js';

/** Options of `sluice streams watch`. */
export interface StreamsWatchOptions extends WatchCommandOptions {
  readonly only?: 'status';
  readonly pageSize?: number;
}

/** `sluice streams watch`: every change of the project's EVM streams, as it is found. */
export async function streamsWatch(
  options: StreamsWatchOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { only, pageSize } = options;
  const baseUrl = baseUrlOf('streams', options, environment.variables);
  const rows: WatchedRows<{ readonly streams: StreamsApi }, EvmStream> = {
    add: (client) => client.use(streams({ baseUrl })),
    source: (client, watching) => {
      const all = client.streams.list.watch({ pageSize }, watching);
      const { schema } = all.info;
      return only === undefined
        ? all
        : all.perPage<Change<EvmStream>>(statusChanges(), { version: only, ...(schema && { schema }) });
    },
    look: streamLook(environment.stdout.colors),
  };
  return runWatch(rows, options, environment, invocation);
}
