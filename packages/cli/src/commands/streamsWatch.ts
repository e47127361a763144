import type { Change } from '@sluice/core';
import { statusChanges, streams, type EvmStream } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { openClient, type ConnectionOptions } from '../settings/openClient.js';
import { changeTargetOf } from '../watch/changeTargetOf.js';
import { streamLook } from '../watch/streamLook.js';
import { watchChanges, type WatchChangesOptions, type Watching } from '../watch/watchChanges.js';
import { watchStateOf } from '../watch/watchState.js';

/** Options of `sluice streams watch`. */
export interface StreamsWatchOptions extends WatchChangesOptions, ConnectionOptions {
  readonly only?: 'status';
  readonly pageSize?: number;
}

/** `sluice streams watch`: every change of the project's EVM streams, as it is found. */
export async function streamsWatch(options: StreamsWatchOptions, environment: Environment): Promise<number> {
  const { only, pageSize } = options;
  const look = streamLook(environment.stdout.colors);
  const target = await changeTargetOf(options, look, environment);
  const state = watchStateOf(options, target, environment);
  const baseUrl = baseUrlOf('streams', options, environment.variables);
  await using client = (await openClient(options, environment)).use(streams({ baseUrl }));
  const source = (watching: Watching) => {
    const all = client.streams.watch({ ...watching, ...(pageSize !== undefined && { pageSize }) });
    const { schema } = all.info;
    return only === undefined
      ? all
      : all.perPage<Change<EvmStream>>(statusChanges(), { version: only, ...(schema && { schema }) });
  };
  return await watchChanges({ client, source, look, target, state }, options, environment);
}
