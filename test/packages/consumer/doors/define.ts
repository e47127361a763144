// What a package that describes an API exports, and imports from nothing but the door for it.
import {
  apisOf,
  basic,
  bearer,
  bodyKey,
  byConnection,
  byCursor,
  byHeader,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  bySince,
  cursorOf,
  defineApi,
  graphqlErrors,
  header,
  listing,
  login,
  noAuth,
  oauth2,
  onePage,
  pathKey,
  queryKey,
  rateLimitHeaders,
  rowOf,
  sharedKey,
  sign,
  sourcesOf,
} from '@sluice/core/define';

export const paging = {
  connection: byConnection('data.orders'),
  cursor: byCursor({ param: 'cursor', at: 'next?' }),
  header: byHeader({ header: 'x-next', param: 'from' }),
  keyset: byKeyset([{ field: 'id', param: 'after' }], { more: 'has_more' }),
  link: byLink({ at: 'links.next' }),
  offset: byOffset({ param: 'offset' }),
  page: byPage({ param: 'page', pages: 'pages' }),
  since: bySince({ field: 'changed', param: 'since', type: 'instant' }),
  one: onePage(),
};
export const cursor = byCursor({ param: 'cursor', at: 'next?' });
export const since = bySince({ field: 'changed', param: 'since', type: 'instant' });
export const increment = since.increment;
export const { request, next } = cursor;
export const cursorAt = cursorOf;

const token = { env: 'TOKEN' };
export const session = login({
  request: { path: '/session', auth: basic({ user: 'me', password: token }) },
  token: 'id',
});
export const credentials = {
  basic: basic({ user: 'me', password: token }),
  bearer: bearer(session),
  header: header('x-token', token, { prefix: 'Token ' }),
  body: bodyKey('key', token),
  path: pathKey('/{key}', token),
  query: queryKey('key', token),
  signed: sign(token, ({ method }, secret) => ({ headers: { signature: `${method} ${secret}` } })),
  oauth: oauth2({ tokenUrl: 'https://tea.example/token', clientId: 'me', clientSecret: token }),
  none: noAuth,
  shared: sharedKey,
};
export const bearing = bearer(token);
export const quota = rateLimitHeaders({ concurrency: 2 });
export const readQuota = quota.read;
export const errors = graphqlErrors();

interface Leaf {
  readonly id: string;
  readonly changed: string;
}
const decode = (record: unknown): Leaf => ({ id: String(record), changed: '' });
const made = { decode, version: '1', columns: ['id', 'changed'], key: 'id' } as const;
export const bare = listing({ path: '/leaves', paging: onePage(), rows: 'leaves', columns: ['id'] });
export const typed = listing({
  ...made,
  path: '/leaves',
  paging: cursor,
  rows: 'leaves',
  total: 'total',
  types: { id: 'text', changed: 'timestamp' },
  responses: graphqlErrors({ allowPartial: true }),
});
export const found = typed.read({ body: {} });
export const filled = listing({
  ...made,
  path: '/teas/{tea}/leaves',
  query: { colour: '{colour}', fixed: 1 },
  headers: { 'x-shop': '{shop}' },
  pageSize: { param: 'limit', default: 2, max: 10 },
  paging: byOffset({ param: 'offset' }),
  rows: 'leaves',
});
export const asked = listing({
  ...made,
  path: '/leaves',
  query: ({ tea }: { readonly tea: string }) => ({ tea }),
  paging: byLink(),
  rows: 'leaves',
});
export const changed = listing({ ...made, path: '/leaves', paging: since, rows: 'leaves' });
export const each = rowOf({ source: 'teas', params: { tea: '{id}' } });
export const picked = rowOf({ source: 'teas', params: ({ id }: Leaf) => ({ tea: id }) });
export const children = listing({ ...made, path: '/teas/{tea}/leaves', each, paging: onePage(), rows: 'leaves' });
export const graph = listing({
  ...made,
  path: '/graphql',
  method: 'POST',
  body: { query: 'query { leaves { id } }', variables: { tea: '{tea}' } },
  responses: errors,
  paging: paging.connection,
  rows: 'data.leaves.nodes',
});

export const tea = defineApi({
  name: 'tea',
  auth: credentials.bearer,
  quota,
  responses: { 404: 'skip' },
  sources: { teas: bare, leaves: typed, filled, asked, changed, children, graph },
});
export const fixed = defineApi({ name: 'fixed', baseUrl: 'https://tea.example', sources: { leaves: typed } });
export const plugin = tea({ baseUrl: 'https://tea.example' });
export const { setup } = plugin;
export const apis = (client: object) => [...apisOf(client).values()].map((api) => api.describe());
export const sources = (client: object) => sourcesOf(client);
export const described = (client: object) => [...sourcesOf(client).values()].map((source) => source.describe());
