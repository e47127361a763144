// Code as the author of a plugin would write it, with what the compiler must infer and refuse.
import { defineConfig } from '@sluice/cli/config';
import { createClient, definePlugin, memoryState, type Change, type Source } from '@sluice/core';
import { byCursor, defineApi, listing } from '@sluice/core/define';
import { testStateStore } from '@sluice/testing';
import { startSandbox } from '@sluice/sandbox';
import { streams, type StreamsApi } from '@sluice/streams';

interface Row {
  readonly id: string;
  readonly tag: string;
}

export const board = defineApi({
  name: 'board',
  sources: {
    rows: listing({
      path: '/streams/evm',
      query: ({ since }: { since: number }) => ({ since }),
      pageSize: { param: 'limit', default: 2, max: 100 },
      paging: byCursor({ param: 'cursor', at: 'cursor?' }),
      rows: 'result',
      total: 'total',
      decode: (record, path, read): Row => {
        if (typeof record !== 'object' || !record || !('id' in record && 'tag' in record))
          throw read.fault(path, 'no row');
        return { id: String(record.id), tag: String(record.tag) };
      },
      version: '1',
      columns: ['id', 'tag'],
      key: ({ id }) => id,
    }),
  },
});

export const counter = definePlugin({
  name: 'counter',
  requires: ['streams'],
  setup: (_, { streams: api }: { streams: StreamsApi }) => ({ count: async () => (await api.list().toArray()).length }),
  hooks: { warning: ({ message }) => message.length },
});

export default defineConfig({ plugins: [board({ baseUrl: 'https://board.example' })], defaults: { rate: '25/s' } });

const sandbox = await startSandbox({ streams: 7 });
const baseUrl = sandbox.streamsUrl;
const bare = createClient({ apiKey: sandbox.apiKey });
// @ts-expect-error It requires streams, which are not in use.
const tooEarly = () => bare.use(counter);
const client = bare.use(board({ baseUrl })).use(streams({ baseUrl })).use(counter);
const rows: Source<Row> = client.board.rows({ since: 0, maxRows: 5 });
const changes: Source<Change<Row>> = client.board.rows.watch({ since: 0 }, { every: 1_000 });
// @ts-expect-error `since` is a number.
const wrong = () => client.board.rows({ since: 'then' });

const checks: string[] = [];
testStateStore({ test: (title) => checks.push(title), factory: () => ({ store: memoryState() }) });

console.log(
  JSON.stringify({
    rows: (await rows.toArray()).length,
    counted: await client.counter.count(),
    hasChecks: checks.length > 3,
    changes: changes.info.name,
    unused: [tooEarly, wrong].length,
  }),
);
await client.close();
await sandbox.close();
