import { createClient } from '@sluice/core';
import { testPlugin, testSource, type Answering, type SourceFixture, type TestedSource } from '@sluice/core/testing';
import { startSandbox } from '@sluice/sandbox';
import { describe } from 'vitest';
import { allBut } from '../../core/test/testing/offering.js';
import { streams, type StreamsApi } from '../src/index.js';

/** A sandbox, and a source on it. */
async function onSandbox<T>(sourceOf: (api: StreamsApi) => TestedSource<T>): Promise<SourceFixture<T>> {
  let how: Answering = 'well';
  const answers = { well: undefined, fail: { kind: 'status', status: 403 }, never: { kind: 'never' } } as const;
  const sandbox = await startSandbox({ streams: 8, script: () => answers[how] });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false }).use(
    streams({ baseUrl: sandbox.streamsUrl }),
  );
  return {
    source: () => sourceOf(client.streams),
    requests: () => ({ made: sandbox.counts.requests, open: sandbox.counts.open }),
    answer: (answering) => {
      how = answering;
    },
    dispose: async () => {
      await client.close();
      await sandbox.close();
    },
  };
}

describe('G5 the streams of a project', () => {
  testSource({
    ...allBut('a source of several parts'),
    factory: () => onSandbox((api) => api.list({ pageSize: 3 })),
  });
});

describe('G5 a watch of the streams of a project', () => {
  testSource({
    ...allBut('a source that ends'),
    factory: () => onSandbox((api) => api.watch({ every: 20, pageSize: 3 })),
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
          (api) => api.watch({ every: -1 }),
          () => createClient({ apiKey: 'key' }).use(streams({ baseUrl: 'ftp://127.0.0.1' })),
        ],
        apiKey: sandbox.apiKey,
        dispose: () => sandbox.close(),
      };
    },
  });
});
