import { createClient, systemClock } from '@sluice/core';
import { byCursor, byLink, byOffset, byPage, bySince, defineApi, listing, rowOf } from '@sluice/core/define';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { serve, type Said } from '../../../core/test/define/servedApi.js';

/** What the API lists: more in the second round than in the first. */
export type Round = 1 | 2;

/** The moment of a round, in ms. */
const momentOf = (round: Round): number => Date.UTC(2030, 0, round === 1 ? 1 : 3);

export interface Row {
  readonly id: number;
}

interface OwnedRow extends Row {
  readonly owner: string;
}

interface Sized {
  readonly size?: number;
}

interface ChangedRow extends Row {
  readonly at: string;
}

const rows = { rows: 'items', columns: ['id'], key: 'id', total: 'total' } as const;
const owned = { fields: { owner: '{owner}' }, columns: ['owner', 'id'], key: ['owner', 'id'], version: '1' } as const;
const changed = {
  rows: 'items',
  columns: ['id', 'at'],
  key: 'id',
  pageSize: { param: 'n', default: 3, max: 3 },
} as const;
const since = { param: 'since', field: 'at', type: 'instant' } as const;
const after = byCursor({ param: 'after', at: 'next' });

const sources = {
  cursors: listing<Row>({ ...rows, path: '/things', paging: after }),
  pages: listing<Row>({ ...rows, path: '/things', paging: byPage({ param: 'page', pages: 'pages' }) }),
  offsets: listing<Row>({
    ...rows,
    path: '/things',
    pageSize: { param: 'n', default: 2 },
    paging: byOffset({ param: 'offset' }),
  }),
  links: listing<Row>({ ...rows, path: '/things', paging: byLink({ at: 'link' }) }),
  repeated: listing<Row>({ ...rows, path: '/repeated', paging: after }),
  wallets: listing<OwnedRow, object, object, { owner: string }>({
    ...rows,
    ...owned,
    path: '/owners/{owner}',
    partitions: { owner: ['a', 'b', 'c', 'd'] },
    paging: after,
  }),
  fitted: listing<OwnedRow, Sized, Sized, { owner: string }>({
    ...rows,
    ...owned,
    path: '/owners/{owner}',
    partitions: ({ size = 1 }) => ['a', 'b', 'c', 'd'].slice(0, size).map((owner) => ({ owner })),
    fit: (_, concurrency) => ({ size: concurrency + 1 }),
    paging: after,
  }),
  groups: listing<{ name: string }>({ path: '/groups', rows: 'items', columns: ['name'], key: 'name', paging: after }),
  owners: listing<{ name: string }, { group: string }, object>({
    each: rowOf({ source: 'groups', params: ({ name }: { name: string }) => ({ group: name }) }),
    path: '/groups/{group}',
    rows: 'items',
    columns: ['name'],
    key: 'name',
    version: '1',
    paging: after,
  }),
  children: listing<OwnedRow, { owner: string }, object>({
    ...rows,
    ...owned,
    each: rowOf({ source: 'groups', params: ({ name }: { name: string }) => ({ owner: name }) }),
    path: '/owners/{owner}',
    paging: after,
  }),
  grandchildren: listing<OwnedRow, { owner: string }, object>({
    ...rows,
    ...owned,
    each: rowOf({ source: 'owners', params: ({ name }: { name: string }) => ({ owner: name }) }),
    path: '/owners/{owner}',
    paging: after,
  }),
  changes: listing<ChangedRow>({ ...changed, path: '/changes/a', paging: bySince(since) }),
  windows: listing<ChangedRow>({
    ...changed,
    path: '/changes/a',
    paging: bySince({ ...since, begin: '2029-12-25', windows: { to: 'to', step: '2d' } }),
  }),
  childChanges: listing<ChangedRow & OwnedRow, { owner: string }, object>({
    ...changed,
    ...owned,
    columns: ['owner', 'id', 'at'],
    pageSize: { param: 'n', default: 6, max: 6 },
    each: rowOf({ source: 'groups', params: ({ name }: { name: string }) => ({ owner: name }) }),
    path: '/changes/{owner}',
    paging: bySince(since),
  }),
  states: listing<{ id: number; state: string }>({
    path: '/states',
    rows: 'items',
    columns: ['id', 'state'],
    key: 'id',
    paging: after,
  }),
};

const numbered = (count: number): Row[] => Array.from({ length: count }, (_, id) => ({ id }));

/** All rows of a path in a round. */
function listed(pathname: string, round: Round): readonly object[] {
  const [, kind, name = ''] = /^\/api\/(\w+)(?:\/(\w+))?$/.exec(pathname) ?? [];
  switch (kind) {
    case 'things':
      return numbered(8);
    case 'repeated':
      return [0, 1, 2, 0, 3, 1, 4, 5].map((id) => ({ id }));
    case 'owners':
      return numbered({ a: 7, b: 1, c: 3, d: 4 }[name] ?? 2);
    case 'groups':
      return { '': ['a', 'b', 'c', 'd'], a: ['a', 'b', 'x'], b: [], c: ['c'], d: ['d', 'y', 'z'] }[name]!.map(
        (each) => ({
          name: each,
        }),
      );
    case 'changes':
      return numbered(round === 1 ? 5 : 12).map(({ id }) => ({
        id,
        at: new Date(momentOf(1) + (id - 5) * 6 * 3_600_000).toISOString(),
      }));
    case 'states':
      return round === 1
        ? [1, 2, 3].map((id) => ({ id, state: 'new' }))
        : [1, 2, 4].map((id) => ({ id, state: id === 1 ? 'new' : 'old' }));
    default:
      throw new Error(`Nothing is at ${pathname}.`);
  }
}

function answer({ pathname, searchParams: query }: URL, round: Round): Said {
  const [from, to] = [query.get('since') ?? 0, query.get('to') ?? momentOf(round)].map((time) =>
    new Date(time).getTime(),
  );
  const all = listed(pathname, round).filter(
    (row) => !('at' in row) || (Date.parse(String(row.at)) >= from! && Date.parse(String(row.at)) < to!),
  );
  const size = Number(query.get('n') ?? 2);
  const first = Number(query.get('after') ?? query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
  const next = first + size < all.length ? String(first + size) : null;
  return {
    body: {
      items: all.slice(first, first + size),
      total: all.length,
      pages: Math.ceil(all.length / size),
      next,
      link: next && `?after=${next}`,
    },
    headers: { date: new Date(momentOf(round)).toUTCString() },
  };
}

/** The sources of the API in a round, and what they request. */
export async function openStored(round: Round) {
  const { baseUrl, asked } = await serve((url) => answer(url, round));
  const clock = { ...systemClock, now: () => momentOf(round) };
  const client = createClient({
    apiKey: 'a-key-of-the-test',
    rateLimit: false,
    retry: { retries: 0 },
    clock,
    // The address is a part of the state, and that of the server differs. The key goes only to an API of the client.
    links: [(next) => (request) => next({ ...request, baseUrl })],
  })
    .use(defineApi({ name: 'stored', sources })({ baseUrl: 'https://stored.test/api' }))
    .use(defineApi({ name: 'served', sources: { things: sources.cursors } })({ baseUrl }));
  onTestEnd(() => client.close());
  return { sources: client.stored, asked, clock };
}
