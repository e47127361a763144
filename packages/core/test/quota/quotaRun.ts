import { Random } from '../../../../test/kit/random.js';
import type { Adapter, AttemptResponse, AttemptRequest } from '../../src/http/adapter/adapter.js';
import { createClient, definePlugin, type ClientEvent, type ClientOptions } from '../../src/index.js';
import { rateLimitHeaders, type RateLimitHeadersOptions } from '../../src/define/index.js';
import type { EndpointOptions } from '../../src/plugins/plugin.js';
import { FakeClock } from '../fakeClock.js';
import type { QuotaServer } from './quotaServers.js';

/** The API of a quota server, on a simulated clock and network. */
export interface QuotaApi extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly events: readonly ClientEvent[];
  readonly client: ReturnType<typeof createClient>;
  /** All responses so far, with the time since the start at which the server gave them. */
  readonly given: readonly { readonly at: number; readonly status: number; readonly path: string }[];
  request(options?: {
    readonly route?: string;
    readonly path?: string;
    readonly signal?: AbortSignal;
  }): Promise<unknown>;
  /** Requests without end, so many at once. Each series ends with its first error, which is in the list. */
  keepRequesting(workers: number, path?: string): unknown[];
  /** Ends {@link keepRequesting}. */
  stop(): void;
}

export interface QuotaRunOptions {
  /** By the path of the request. */
  readonly servers: Readonly<Record<string, Pick<QuotaServer, 'answer'>>>;
  readonly quota?: RateLimitHeadersOptions;
  readonly endpoint?: EndpointOptions;
  readonly client?: Partial<ClientOptions>;
  readonly seed?: number;
  /** Default: a quick one, which does not wait for retries: these take a turn of a real timer. */
  readonly clock?: FakeClock;
  /** Ms from the client to the server, and from there. */
  readonly latency?: readonly [number, number];
}

/** A clock that waits for retries, and for Bottleneck, which both use real timers. */
export function patientClock(): FakeClock {
  return new FakeClock(async () => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  });
}

export function openQuotaApi(options: QuotaRunOptions): QuotaApi {
  const { servers, quota, endpoint = {}, latency = [20, 200], seed = 1 } = options;
  const { clock = new FakeClock() } = options;
  const random = new Random(seed);
  const given: { at: number; status: number; path: string }[] = [];
  const passed = (): Promise<void> =>
    new Promise((resolve) => {
      clock.after(random.skewed(...latency), resolve);
    });
  const adapter = (): Adapter => ({
    async send({ url }: AttemptRequest): Promise<AttemptResponse> {
      await passed();
      const path = new URL(url).pathname;
      const answer = servers[path]?.answer(clock.now()) ?? { status: 404, headers: {} };
      given.push({ at: clock.monotonic(), status: answer.status, path });
      await passed();
      return { ...answer, text: '{}' };
    },
    close: () => Promise.resolve(),
  });
  const plugin = definePlugin({
    name: 'api',
    setup: (context) => context.endpoint('https://quota.example', { quota: rateLimitHeaders(quota), ...endpoint }),
  });
  const client = createClient({
    apiKey: false,
    clock,
    adapter,
    random: () => random.next(),
    ...options.client,
  }).use(plugin);
  const events: ClientEvent[] = [];
  client.events.subscribe((event) => events.push(event));
  let isOver = false;
  const api: QuotaApi = {
    clock,
    events,
    given,
    client,
    request: ({ route = 'api.things', path = '/', signal } = {}) =>
      client.api.request({ route, path, query: {}, ...(signal && { signal }) }),
    keepRequesting(workers, path = '/') {
      const failures: unknown[] = [];
      for (let nth = 0; nth < workers; nth += 1)
        void (async () => {
          while (!isOver) await api.request({ path, route: `api${path}` });
        })().catch((error: unknown) => failures.push(error));
      return failures;
    },
    stop: () => (isOver = true),
    async [Symbol.asyncDispose]() {
      isOver = true;
      await client.close();
    },
  };
  return api;
}
