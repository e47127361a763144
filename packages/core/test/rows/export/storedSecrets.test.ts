import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../../scripts/testScope.js';
import { createClient, exportTo } from '../../../src/index.js';
import { byCursor, bySince, defineApi, listing, rowOf, type Paging } from '../../../src/define/index.js';
import { recordState } from '../../../src/kit.js';
import { openListing, serve } from '../../define/servedApi.js';
import { recordingSink } from '../sink/recordingSink.js';

const key = 'k7-Zq93xW-20';

/** State in memory, and the text of all that was ever written to it. */
function watchedState() {
  const written: string[] = [];
  const lists = new Map<string, unknown[]>();
  const state = recordState({
    open: () => Promise.resolve(() => Promise.resolve()),
    async *read(list) {
      yield* lists.get(list) ?? [];
    },
    write(list, records, { isReplaced }) {
      const added = [...records];
      written.push(JSON.stringify(added));
      lists.set(list, [...(isReplaced ? [] : (lists.get(list) ?? [])), ...added]);
      return Promise.resolve();
    },
  });
  return { state, written };
}

const byNext: Paging = byCursor({ param: 'cursor', at: 'next?' });

describe('T2 a value of an incremental export that holds the key is refused, and not stored', () => {
  test.each([
    ['the latest', ['a', key]],
    ['one that is not the latest', [`a ${key.toUpperCase()}`, 'z']],
    ['one that is escaped', [encodeURIComponent(JSON.stringify(`"${key}"`)).replaceAll('-', '%2D'), 'z']],
  ])('%s', async (_which, values) => {
    for (const paging of [byNext, undefined]) {
      const { baseUrl } = await serve(() => ({ body: { items: values.map((at, id) => ({ id, at })) } }));
      const items = listing<{ id: number; at: string }>({
        path: '/items',
        pageSize: { param: 'limit', default: 10, max: 10 },
        paging: bySince({ param: 'since', field: 'at', type: 'text', ...(paging && { paging }) }),
        rows: 'items',
        columns: ['id', 'at'],
      });
      const { state, written } = watchedState();
      const source = openListing(items, { baseUrl, apiKey: key })();
      const run = exportTo(source, recordingSink(), { state, incremental: true, commitEvery: 1 }).run();
      await expect(run).rejects.toMatchObject({ code: 'secret-in-cursor' });
      await expect(run).rejects.not.toThrow(key);
      expect(written.length).toBeGreaterThan(0);
      for (const text of written) expect(text.toLowerCase()).not.toMatch(/k7(-|%2d)zq93xw/);
    }
  });
});

interface Repo {
  readonly id: string;
  readonly name: string;
}

test.each<[string, Repo]>([
  ['a key', { id: key, name: 'b' }],
  ['a parameter', { id: '2', name: `x${key}y` }],
])('T2 a parent that holds the API key in %s is refused, and not stored', async (_where, repo) => {
  const { baseUrl, asked } = await serve((url) =>
    url.pathname === '/api/repos'
      ? { body: { items: [{ id: '1', name: 'a' }, repo] } }
      : { body: { items: [{ id: 1 }] } },
  );
  const forge = defineApi({
    name: 'forge',
    sources: {
      repos: listing<Repo>({ path: '/repos', rows: 'items', columns: ['id'], paging: byNext, key: ({ id }) => id }),
      issues: listing<{ id: number }, { repo: string }, object>({
        each: rowOf({ source: 'repos', params: ({ name }: Repo) => ({ repo: name }) }),
        path: '/repos/{+repo}/issues',
        paging: byNext,
        rows: 'items',
        columns: ['id'],
        version: '1',
      }),
    },
  });
  const client = createClient({ apiKey: key, rateLimit: false, retry: { retries: 0 } }).use(forge({ baseUrl }));
  onTestEnd(() => client.close());
  const { state, written } = watchedState();
  const run = exportTo(client.forge.issues(), recordingSink(), { state, commitEvery: 1 }).run();
  await expect(run).rejects.toMatchObject({ code: 'secret-in-cursor' });
  await expect(run).rejects.not.toThrow(key);
  expect(written.length).toBeGreaterThan(0);
  for (const text of written) expect(text).not.toContain(key);
  expect(asked).toEqual(['/repos']);
});
