import { createClient } from '@sluice/core';
import { testPlugin, testSource, type SourceFixture, type TestedSource } from '@sluice/testing';
import { startSandbox } from '@sluice/sandbox';
import { describe } from 'vitest';
import { allBut, notServed } from '../../testing/test/offering.js';
import { onSandbox } from '../../testing/test/onSandbox.js';
import { streams, type StreamsApi } from '../src/index.js';

/** A source of the streams of a sandbox. */
function onStreams<T>(sourceOf: (api: StreamsApi) => TestedSource<T>): Promise<SourceFixture<T>> {
  return onSandbox({ streams: 8 }, (client, { streamsUrl }) => {
    const { streams: api } = client.use(streams({ baseUrl: streamsUrl }));
    return () => sourceOf(api);
  });
}

describe('G5 the streams of a project', () => {
  testSource({
    ...allBut(
      'a source of several partitions',
      'a source with increments',
      '`useUpQuota` of the fixture',
      ...notServed,
    ),
    factory: () => onStreams((api) => api.list({ pageSize: 3 })),
  });
});

describe('G5 a watch of the streams of a project', () => {
  testSource({
    ...allBut('a source that ends'),
    factory: () => onStreams((api) => api.list.watch({ pageSize: 3 }, { every: 20 })),
  });
});

describe('G5 the plugin for streams', () => {
  testPlugin({
    ...allBut('`hooks` of the plugin', 'a plugin that requires others'),
    factory: async () => {
      const sandbox = await startSandbox({ streams: 3 });
      return {
        plugin: () => streams({ baseUrl: sandbox.streamsUrl }),
        use: (api) => api.list().toArray(),
        refused: [
          (api) => api.list({ pageSize: 101 }),
          (api) => api.list.watch({}, { every: -1 }),
          () => createClient({ apiKey: 'a-key-of-ours' }).use(streams({ baseUrl: 'ftp://127.0.0.1' })),
        ],
        apiKey: sandbox.apiKey,
        dispose: () => sandbox.close(),
      };
    },
  });
});
