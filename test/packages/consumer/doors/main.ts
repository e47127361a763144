// What a program exports that imports nothing but the main door: every type is inferred, and printed in a declaration.
import {
  changes,
  createClient,
  createSource,
  definePlugin,
  ExactNumber,
  exportTo,
  HttpError,
  isTransient,
  memoryState,
  parseJson,
  poll,
  SluiceError,
  systemClock,
  watch,
  writeTo,
  type ClientOptions,
  type ExportOptions,
  type PageRequest,
  type Sink,
} from '@sluice/core';
import { filter, of } from 'rxjs';

export const client = createClient({ apiKey: false, rateLimit: { requests: 5, per: 1_000 }, retry: { retries: 2 } });
export const { limiter, limiters, sinks, stores } = client;
export const { events } = client;
export const retries = events.pipe(filter((event) => event.type === 'retry'));
export const some = client.eventsOf('retry', 'settled', 'page', 'limiter', 'outage', 'error', 'plugin-fault');

export const fetchRows = ({ at, walked, cache, since }: PageRequest) =>
  Promise.resolve({ rows: [{ id: at, walked, cache, since }], next: 'end' as const });
export const rows = createSource({
  name: 'tea.leaves',
  identity: null,
  schema: { columns: ['id'], key: ({ id }: { readonly id: string }) => id },
  fetch: () => Promise.resolve({ rows: [{ id: 'a' }], next: 'end' }),
});
export const { info } = rows;
export const { schema, increment, endpoint } = info;
export const pages = rows.pages({ concurrency: 2 });
export const piped = rows.pipePages((all) => all, { version: '1' });
export const fitted = rows.fit(2);
export const all = rows.toArray();
export const iterator = rows[Symbol.asyncIterator]();
export const page = async () => {
  for await (const each of pages) return each;
  return undefined;
};
export const snapshots = poll(rows, { every: 1_000 });
export const differences = snapshots.pipe(changes({ key: ({ id }) => id }));
export const watched = watch(rows, { every: 1_000, onHealth: (health) => health.rows });
export const additions = watched.pipe(filter((change) => change.type === 'added'));
export const ruled = watch(rows, { every: 1_000, rules: { dying: { when: ({ id }) => id === 'a', for: 1_000 } } });
export const warnings = ruled.pipe(filter((event) => event.type === 'due'));

export const state = memoryState();
export const lock = state.lock;
export const printing = {
  name: 'printing',
  identity: null,
  delivery: 'at-least-once',
  open: () =>
    Promise.resolve({
      write: () => Promise.resolve(),
      flush: () => Promise.resolve(0),
      seal: () => Promise.resolve(0),
      close: () => Promise.resolve({ target: 'stdout' }),
      abort: () => Promise.resolve(),
    }),
} satisfies Sink<object>;
export const open = (sink: Sink<object>, context: Parameters<Sink<object>['open']>[0]) => sink.open(context);
export const exporting = exportTo(rows, printing, { state, commitEvery: 1 });
export const report = exporting.run({ onProgress: ({ rows: count }) => count });
export const written = of({ id: 'a' }).pipe(writeTo(printing, { buffer: 10 }));
export const onCommitted: ExportOptions['onCommitted'] = (checkpoint) => checkpoint?.runId;
export const committed = (options: ExportOptions) => options.onCommitted;
export const limiterOf = (options: ClientOptions) => options.limiter;
export const linksOf = (options: ClientOptions) => options.links;

export const plugin = definePlugin({
  name: 'brewing',
  setup: (context) => ({
    context,
    logger: context.logger,
    api: context.endpoint('https://tea.example'),
    brew: () => context.endpoint('https://tea.example').request({ method: 'GET', path: '/', query: {}, route: 'tea' }),
    sent: () => context.endpoint('https://tea.example').send({ method: 'GET', path: '/', query: {}, route: 'tea' }),
  }),
  hooks: {
    attempt: ({ waited }) => waited,
    retry: ({ reason }) => reason,
    limiter: ({ used }) => used,
    commit: (event) => event,
    warning: ({ message }) => message,
  },
  links: [(next) => (request) => next({ ...request, headers: { ...request.headers, tea: 'green' } })],
  sinks: { printing: () => printing },
  stores: { memory: () => state },
});
export const brewing = client.use(plugin);
export const listening = definePlugin({ name: 'listening', hooks: { page: (event) => console.log(event.rows) } });
export const needing = definePlugin({
  name: 'needing',
  requires: ['brewing'],
  setup: (_, { brewing: { brew } }: Pick<typeof brewing, 'brewing'>) => ({ brew }),
});

export const codeOf = (error: unknown) => (SluiceError.is(error) ? error.code : undefined);
export const detailsOf = (error: unknown) => (error instanceof SluiceError ? error.details : undefined);
export const failure = new HttpError('It is away.', { status: 500, excerpt: '' });
export const { advice } = failure;
export const json = parseJson('{}');
export const digits = new ExactNumber('1e400');
export const now = [systemClock.now(), isTransient(failure)];
