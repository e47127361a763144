// Three APIs of other shapes are exported and watched, and their servers fail.
// After `npm start`: cd examples && npx tsx plugins/apis.test.ts
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import {
  createClient,
  exportTo,
  SluiceError,
  type Change,
  type Client,
  type Source,
  type StateStore,
} from '@sluice/core';
import { noAuth, type ApiOptions } from '@sluice/core/define';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import {
  byLinkHeader,
  byOffsetAndTotal,
  byToken,
  startListing,
  type Answering,
  type ListingServer,
} from '../servers/listingServer.js';
import { coins } from './coins.js';
import { files } from './files.js';
import { github } from './github.js';

/** An API and how to use it, whatever its shape. */
interface Opened {
  readonly client: Client;
  readonly source: (pageSize: number) => Source<object>;
  readonly watch: (state: StateStore) => Source<Change<object>>;
}

interface Case {
  readonly answering: Answering<unknown>;
  readonly row: (index: number) => object;
  readonly open: (options: ApiOptions) => Opened;
  /** What is wrong with a row, and where it is in the response. */
  readonly wrong: object;
  readonly path: string;
}

const bare = () => createClient({ apiKey: 'example-key', rateLimit: false, retry: { retries: 0 } });
const watching = (state: StateStore) => ({ every: 10, polls: 1, confirmations: 1, state });

const cases: Record<string, Case> = {
  'offset and total': {
    answering: byOffsetAndTotal,
    row: (index) => ({ id: `c${index}`, name: `Coin, no. ${index}`, price: index / 8 }),
    open(options) {
      const client = bare().use(coins(options));
      const { markets } = client.coins;
      return {
        client,
        source: (pageSize) => markets({ currency: 'usd', pageSize }),
        watch: (state) => markets.watch({ currency: 'usd' }, watching(state)),
      };
    },
    wrong: { price: 'free' },
    path: 'data.items[2].price',
  },
  'links in a header': {
    answering: byLinkHeader,
    row: (index) => ({ number: index, title: `It breaks "${index}" times`, state: 'open', labels: ['kept by nobody'] }),
    open(options) {
      const client = bare().use(github({ ...options, auth: noAuth }));
      const { issues } = client.github;
      return {
        client,
        source: (pageSize) => issues({ owner: 'a', repo: 'b', pageSize }),
        watch: (state) => issues.watch({ owner: 'a', repo: 'b' }, watching(state)),
      };
    },
    wrong: { title: null },
    path: '[2].title',
  },
  'tokens in the body': {
    answering: byToken,
    row: (index) => ({ id: `f${index}`, name: `${index}.txt`, size: index * 10 }),
    open(options) {
      const client = bare().use(files(options));
      const { inFolder } = client.files;
      return {
        client,
        source: (pageSize) => inFolder({ folder: 'root', pageSize }),
        watch: (state) => inFolder.watch({ folder: 'root' }, watching(state)),
      };
    },
    wrong: { id: 7 },
    path: 'files[2].id',
  },
};

for (const [name, { answering, row, open, wrong, path: wrongPath }] of Object.entries(cases))
  describe(`an API with ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const server = await startListing<unknown>(
      answering,
      Array.from({ length: 95 }, (_, index) => row(index)),
    );
    const { client, source, watch } = open({ baseUrl: server.baseUrl });
    after(async () => {
      await client.close();
      await server.close();
      rmSync(folder, { recursive: true });
    });
    const target = (file: string): string => join(folder, file);
    const exported = (file: string) =>
      exportTo(source(10), csv({ path: target(file) }), {
        state: fileState(`${target(file)}.state`),
        commitEvery: 1,
      }).run();

    test('is exported completely', async () => {
      const { rows } = await exported('all.csv');
      assert.equal(rows, 95);
      const lines = readFileSync(target('all.csv'), 'utf8').trimEnd().split('\r\n');
      assert.equal(lines.length, 96);
    });

    test('is exported to the same bytes if the server stops in the middle', async () => {
      failAfter(server, 4);
      await assert.rejects(exported('again.csv'), (error) => SluiceError.is(error, 'http'));
      [server.answer, server.instead] = ['well', () => undefined];
      const asked = server.requests.length;
      await exported('again.csv');
      assert.ok(server.requests.length - asked < 10, 'it began anew');
      assert.deepEqual(readFileSync(target('again.csv')), readFileSync(target('all.csv')));
    });

    test('is watched across restarts', async () => {
      const state = () => fileState(target('watched'));
      const first = await watch(state()).toArray();
      assert.deepEqual([...new Set(first.map(({ type }) => type))], ['initial']);
      server.rows.splice(3, 1);
      server.rows.push(row(1000));
      const later = await watch(state()).toArray();
      assert.deepEqual(later.map(({ type }) => type).sort(), ['added', 'removed']);
    });

    test('cannot loop', async () => {
      const [first] = server.requests;
      server.instead = () => first;
      await assert.rejects(
        source(10).toArray(),
        (error) => SluiceError.is(error, 'no-progress') || SluiceError.is(error, 'rows-moved'),
      );
      server.instead = () => undefined;
    });

    test('reports the place of a row with another shape', async () => {
      server.rows[2] = { ...row(2), ...wrong };
      await assert.rejects(source(10).toArray(), (error) => {
        assert.ok(SluiceError.is(error, 'decode'));
        assert.equal(error.details['path'], wrongPath);
        return true;
      });
    });
  });

function failAfter(server: ListingServer<unknown>, requests: number): void {
  const before = server.counts.made;
  server.instead = () => {
    if (server.counts.made - before > requests) server.answer = 'fail';
    return undefined;
  };
}
