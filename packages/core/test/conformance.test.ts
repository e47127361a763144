import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import {
  serveListing,
  testLimiter,
  testSink,
  testSource,
  testStateStore,
  type Answering,
  type RowSamples,
} from '@sluice/testing';
import { describe } from 'vitest';
import { createClient } from '../src/index.js';
import { byConnection, byCursor, defineApi, graphqlErrors, listing } from '../src/define/index.js';
import { unlimited } from '../src/http/limit/localLimiter.js';
import { fileState, streamSink } from '../src/node/index.js';
import { simulatedDisk } from './node/simulatedDisk.js';
import { newProcess } from './node/simulatedExport.js';
import { textFormat } from './node/textRows.js';
import { allBut, notServed } from '../../testing/test/offering.js';
import { tableFixture } from '../../testing/test/tableSink.js';

const lines: RowSamples<string> = { row: (nth) => `row ${nth}` };

/** The rows in a file or stream of {@link textFormat}; a stream has its header again for each export that starts over. */
function linesIn(bytes: Uint8Array = new Uint8Array()): string[] {
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : Buffer.from(bytes)).toString();
  return text.split('\n').filter((line) => line !== '' && line !== 'rows');
}

describe.each([
  ['plain', false],
  ['gzip', true],
])('G5 a stream, %s,', (_, gzip) => {
  testSink({
    ...allBut(
      'a sink that promises exactly-once',
      'a sink that refuses a target that another export is using',
      'a sink whose writer has a `start`',
      '`check` of the sink',
      '`withoutPartition` of the sink',
      '`nested` of the rows',
      gzip ? 'a sink that supports endless sources' : '`suspend` of the writer',
    ),
    rows: lines,
    factory: () => {
      const chunks: Uint8Array[] = [];
      const stream = new Writable({
        write(chunk, _encoding, done) {
          chunks.push(chunk);
          done();
        },
      });
      return { sink: () => streamSink(textFormat, stream, { gzip }), rows: () => linesIn(Buffer.concat(chunks)) };
    },
  });
});

describe('G5 a table in memory, as a database would be,', () => {
  testSink({ ...allBut(), factory: tableFixture });
});

describe('G5 state in a folder, when its machine loses power,', () => {
  testStateStore({
    ...allBut(),
    factory: () => {
      let disk = simulatedDisk();
      disk.putFolder('/data');
      // All stores of one machine run in one process here, until it stops.
      let claims = newProcess();
      const opened = () => fileState('/data/state', { fileSystem: disk, claims });
      return {
        store: opened(),
        another: opened,
        crash: () => {
          disk = disk.restart('dropped');
          claims = newProcess();
        },
      };
    },
  });
});

describe('G5 the limiter of a client without a limit', () => {
  testLimiter({
    ...allBut("a limiter that keeps 'rate'", "a limiter that keeps 'concurrency'"),
    keeps: [],
    factory: ({ clock }) => ({ limiter: unlimited(clock) }),
  });
});

describe('G5 A3 a listing that posts', { tags: ['slow'] }, () => {
  const rows = Array.from({ length: 60 }, (_, id) => ({ id, tag: id % 2 === 0 ? 'even' : 'odd' }));
  const items = listing({
    method: 'POST',
    path: '/graphql',
    rows: 'data.items.nodes',
    columns: ['id', 'tag'],
    key: ({ id }) => Number(id),
    responses: graphqlErrors(),
    paging: byConnection('data.items'),
    partitions: { tag: ['even', 'odd'] },
    body: { query: 'query …', variables: { tag: '{tag}' } },
    pageSize: { into: 'variables.first', default: 12 },
  });

  testSource({
    ...allBut('a source with increments', '`useUpQuota` of the fixture'),
    factory: async () => {
      const api = await serveListing(rows, ({ body, rows: listed, limit }) => {
        const { variables } = JSON.parse(body) as { variables: { tag: string; first: number; after?: string } };
        const { tag, first, after = '-1' } = variables;
        const rest = listed.filter((row) => row.tag === tag && row.id > Number(after));
        const nodes = rest.slice(0, limit(first));
        const pageInfo = { hasNextPage: nodes.length < rest.length, endCursor: String(nodes.at(-1)?.id) };
        return { body: { data: { items: { nodes, pageInfo } } } };
      });
      const client = createClient({ apiKey: 'key-of-graph-1', rateLimit: false }).use(
        defineApi({ name: 'graph', sources: { items } })({ baseUrl: api.baseUrl }),
      );
      return {
        ...api,
        source: () => client.graph.items(),
        dispose: async () => {
          await client.close();
          await api.close();
        },
      };
    },
  });
});

describe('G5 a listing whose pages have entity tags', { tags: ['slow'] }, () => {
  testSource({
    ...allBut(
      '`sent` of the requests',
      'a source of several partitions',
      'a source with increments',
      '`useUpQuota` of the fixture',
      ...notServed,
    ),
    factory: async () => {
      let made = 0;
      let open = 0;
      let how: Answering = 'well';
      const server = createServer((request, response) => {
        made += 1;
        open += 1;
        response.once('close', () => (open -= 1));
        if (how === 'never') return;
        const page = Number(new URL(request.url ?? '/', 'http://localhost').searchParams.get('page') ?? 1);
        const tag = `"${page}"`;
        response.setHeader('etag', tag);
        if (how === 'fail') response.writeHead(400).end();
        else if (request.headers['if-none-match'] === tag) response.writeHead(304).end();
        else {
          const items = [{ id: 2 * page }, { id: 2 * page + 1 }];
          response.end(JSON.stringify({ items, ...(page < 4 && { next: String(page + 1) }) }));
        }
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const items = listing({
        path: '/items',
        rows: 'items',
        columns: ['id'],
        key: ({ id }) => Number(id),
        paging: byCursor({ param: 'page', at: 'next?' }),
      });
      const client = createClient({ apiKey: 'key-of-tagged', rateLimit: false }).use(
        defineApi({ name: 'tagged', sources: { items } })({
          baseUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
        }),
      );
      return {
        source: () => client.tagged.items(),
        requests: () => ({ made, open }),
        answer: (answering) => (how = answering),
        dispose: async () => {
          await client.close();
          server.closeAllConnections();
          server.close();
        },
      };
    },
  });
});
