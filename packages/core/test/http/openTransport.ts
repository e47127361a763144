import { onTestEnd } from '../../../../scripts/testScope.js';
import { createAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { AccessBook } from '../../src/http/apiAccess.js';
import type { ApiKey } from '../../src/auth/renewedSecret.js';
import { apiTransport } from '../../src/http/apiTransport.js';
import { openApiKey } from '../../src/auth/openCredentials.js';
import type { HttpEvent } from '../../src/http/events.js';
import type { Timeouts } from '../../src/http/requestTimes.js';
import type { Limiter } from '../../src/http/limit/limiterTypes.js';
import { applyDefaults } from '../../src/http/requestTimes.js';
import type { RetryOptions } from '../../src/http/retry/retryOptions.js';
import { Secrets } from '../../src/http/secrets.js';
import type { TransportRequest, TransportResponse } from '../../src/http/transport.js';
import { unlimited } from '../../src/http/limit/localLimiter.js';
import { FakeClock } from '../fakeClock.js';
import { canary } from './canary.js';

export interface OpenOptions {
  readonly createAdapter?: typeof createAdapter;
  readonly apiKey?: ApiKey | false;
  /** How often a renewal of its keys was asked for. */
  readonly renewals?: { readonly times: number };
  readonly limiter?: (clock: FakeClock) => Limiter;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryOptions>;
  readonly maxBodyBytes?: number;
  readonly random?: () => number;
  /** Whether the test moves the clock. Default: it moves by each retry's delay as soon as something waits for that. */
  readonly isHandTurned?: boolean;
  /** What happens before the clock moves by a retry's delay. */
  readonly meanwhile?: (transport: OpenTransport) => Promise<void>;
}

export interface OpenTransport {
  get(overrides?: Partial<TransportRequest>): Promise<TransportResponse>;
  readonly events: readonly HttpEvent[];
  /** The delays of its retries, in ms. */
  readonly delays: readonly number[];
  readonly clock: FakeClock;
  readonly limiter: Limiter;
  /** As the client does when it closes. */
  close(): void;
}

export const route = 'test.route';

/**
 * The transport with all its parts, without the client around it: on a clock that goes as fast as retries need it, with half
 * of each back-off's bound as its delay.
 */
export function openTransport(baseUrl: string, options: OpenOptions = {}): OpenTransport {
  const clock = new FakeClock();
  const secrets = new Secrets();
  const maxBodyBytes = options.maxBodyBytes ?? 1_000_000;
  const { timeouts, retry } = applyDefaults(options);
  const adapter = (options.createAdapter ?? createAdapter)({ connectTimeout: timeouts.connect, maxBodyBytes });
  const limiter = (options.limiter ?? unlimited)(clock);
  const closed = new AbortController();
  const events: HttpEvent[] = [];
  const delays: number[] = [];
  const credentials = openApiKey(options.apiKey ?? canary, {
    secrets,
    clock,
    echoedFor: 180_000,
    renewals: options.renewals,
  });
  const apis = new AccessBook();
  apis.add({ baseUrl, credentials, limiter });
  const transport = apiTransport({
    adapter,
    secrets,
    apis,
    clock,
    random: options.random ?? (() => 0.5),
    timeouts,
    retry,
    maxBodyBytes,
    emit(_type, make) {
      const event: HttpEvent = make();
      events.push(event);
      if (event.type !== 'retry') return;
      delays.push(event.delay);
      if (options.isHandTurned) return;
      void clock
        .asked(event.delay)
        .then(() => options.meanwhile?.(opened))
        .then(() => clock.advance(event.delay));
    },
    closed: closed.signal,
  });
  onTestEnd(() => adapter.close());
  const opened: OpenTransport = {
    get: (overrides) => transport({ route, baseUrl, path: '/things', query: {}, ...overrides }),
    events,
    delays,
    clock,
    limiter,
    close() {
      closed.abort();
    },
  };
  return opened;
}
