import { checkCount, checkNumbers, checkOptions } from '../checks.js';
import { httpDate, msUntil } from '../http/response/retryAfter.js';
import { parseItems } from '../http/response/structuredItems.js';

/** Options of {@link rateLimitHeaders}. */
export interface RateLimitHeadersOptions {
  /**
   * Longest wait for a quota that is used up, in ms. Default 3,900,000 (65 minutes), enough for quotas per hour. Beyond
   * it, requests fail with a `RateLimitError` that has `retryAt`.
   */
  readonly maxQuotaWait?: number | undefined;
  /** Requests in parallel if the API has no limit besides its quota. Default 8. */
  readonly concurrency?: number | undefined;
}

/** A quota as one response reports it. */
export interface QuotaReport {
  /** The API's name of the quota, e.g. of a resource or policy; empty if it has none. */
  readonly name: string;
  /** Requests that are left. */
  readonly remaining: number;
  /** Ms from the response until more are left. Absent if nothing is left and the API does not say until when. */
  readonly resetIn?: number;
}

/** How an API reports its quotas; made by {@link rateLimitHeaders}. */
export interface QuotaRules {
  readonly maxQuotaWait: number;
  readonly concurrency: number;
  /**
   * Reads a response's quotas.
   *
   * @param headers names in lower case
   * @param now wall time in ms, for responses without a `Date`
   */
  readonly read: (headers: Readonly<Record<string, string>>, now: number) => readonly QuotaReport[];
}

/**
 * Lets the response headers of an API steer its limiter: what is left of a quota is spread until the quota is renewed.
 *
 * It reads `RateLimit` and `RateLimit-Policy` in their structured form (`"default";r=50;t=30`) and in the older one
 * (`limit=100, remaining=50, reset=30`), or else the fields `RateLimit-Remaining`, `-Reset` or `-Reset-After`, and
 * `-Limit`, also as `X-RateLimit-…`, as `X-Rate-Limit-…` or with a vendor's name before. They may be of requests or of a
 * window: `X-RateLimit-Reset-Requests`, `X-RateLimit-Remaining-Minute`. Quotas of something else, e.g. of tokens, are
 * ignored.
 *
 * A reset is in seconds, a duration (`6m0s`), in seconds or ms since 1970, or a date, and is compared with the response's
 * `Date`. Without one, more is left after the field's window, if that is named, from the response on. If servers behind
 * each other report several values (`900, 4`), the smallest counts. Quotas of several resources (`X-RateLimit-Resource`
 * or `-Bucket`), windows or policies are kept apart. Values that make no sense are ignored: negative, repeated, more than
 * a year ahead. Without a reset and a window, only a refusal with nothing left is noticed.
 *
 * The guarantee holds for one process per quota.
 *
 * @example
 * const api = coins({ baseUrl, quota: rateLimitHeaders() });
 *
 * @throws ConfigError if an option is invalid.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * @see https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function rateLimitHeaders(options: RateLimitHeadersOptions = {}): QuotaRules {
  checkOptions('rateLimitHeaders()', options, { maxQuotaWait: true, concurrency: true });
  const { maxQuotaWait = 3_900_000, concurrency = 8 } = options;
  checkNumbers('rateLimitHeaders', { maxQuotaWait }, (ms) => ms >= 0, 'of at least 0');
  checkCount('rateLimitHeaders.concurrency', concurrency);
  return Object.freeze({ maxQuotaWait, concurrency, read: readQuotas });
}

type Headers = Readonly<Record<string, string>>;

function readQuotas(headers: Headers, now: number): readonly QuotaReport[] {
  // A cache stores these headers together with the response, so they may be long out of date.
  if (Number(headers['age'] ?? 0) > 0) return [];
  const resetIn = (text: string): number | undefined => timeUntil(text, httpDate(headers['date'] ?? '', now) ?? now);
  const policies = readPolicies(headers['ratelimit-policy'] ?? '');
  const structured = dropRepeated(readRateLimit(headers['ratelimit'] ?? '', policies, resetIn));
  const all = [structured, ...readFields(headers, policies, resetIn)].filter(({ length }) => length > 0);
  return all.find((reports) => reports.some((report) => report.resetIn !== undefined)) ?? all[0] ?? [];
}

/** Ms of the windows that a field may name. */
const windows: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  daily: 86_400_000,
  month: 31 * 86_400_000,
};
/**
 * A field: its prefix, what the quota is of (requests, or one of the windows), and what is said of it. APIs write the last
 * two in either order.
 */
const fieldForm =
  /^((?:[a-z]+-)*rate-?limit)-(?:(requests|second|minute|hour|day|daily|month)-)?(remaining|limit|reset-after|reset|interval-milliseconds)(?:-(requests|second|minute|hour|day|daily|month))?$/;
const usualPrefixes = ['ratelimit', 'x-ratelimit', 'x-rate-limit'];

/** The reports of single fields, of each prefix. */
function readFields(
  headers: Headers,
  policies: ReadonlyMap<string, number | undefined>,
  resetIn: (text: string) => number | undefined,
): QuotaReport[][] {
  const found = Object.entries(headers).flatMap(([header, value]) => {
    const [, prefix = '', before, field = '', kind = before ?? ''] = fieldForm.exec(header) ?? [];
    return prefix === '' ? [] : [{ prefix, kind, field, value }];
  });
  const resource = headers['x-ratelimit-resource'] ?? headers['x-ratelimit-bucket'] ?? '';
  return [...new Set([...usualPrefixes, ...found.map(({ prefix }) => prefix)])].map((prefix) => {
    const own = found.filter((each) => each.prefix === prefix);
    return [...new Set(own.map(({ kind }) => kind))].flatMap((kind) => {
      const valueOf = (field: string): string | undefined =>
        own.find((each) => each.kind === kind && each.field === field)?.value;
      const name = [prefix === 'ratelimit' ? '' : resource, kind].filter((part) => part !== '').join(';');
      const [remaining, reset] = readLayers(valueOf('remaining'), valueOf('reset-after') ?? valueOf('reset'));
      const window =
        windows[kind] ?? parseNumber(valueOf('interval-milliseconds')) ?? policies.get('') ?? ('unsaid' as const);
      return makeReports(name, {
        remaining,
        limit: valueOf('limit'),
        in: reset === undefined ? window : resetIn(reset),
      });
    });
  });
}

/** What is left and its reset, of the layer that has the least: those behind each other may each have added a value. */
function readLayers(remaining: string | undefined, reset: string | undefined): (string | undefined)[] {
  const all = remaining?.split(',') ?? [];
  const resets = reset?.split(',') ?? [];
  if (all.length < 2 || all.length !== resets.length) return [remaining, reset];
  const least = all.reduce((found, text, at) => (Number(text) < Number(all[found]) ? at : found), 0);
  return [all[least], resets[least]];
}

/** The value of `RateLimit`, in its older form (to draft 7) or its structured one (from draft 8). */
function readRateLimit(
  value: string,
  policies: ReadonlyMap<string, number | undefined>,
  resetIn: (text: string) => number | undefined,
): QuotaReport[] {
  if (/^\s*(limit|remaining|reset)\s*=/i.test(value)) {
    const fields = value.split(',').map((part) =>
      part
        .trim()
        .toLowerCase()
        .split(/\s*=\s*/),
    );
    if (fields.some(({ length }) => length !== 2)) return [];
    const field = (name: string): string | undefined => {
      const [first, ...others] = fields.filter(([key]) => key === name);
      return others.length === 0 ? first?.[1] : undefined;
    };
    const reset = field('reset');
    const until = reset === undefined ? (policies.get('') ?? 'unsaid') : resetIn(reset);
    return makeReports('', { remaining: field('remaining'), limit: field('limit'), in: until });
  }
  const items = parseItems(value);
  if (items.some(({ name }) => isNumber(name))) return [];
  return items.flatMap(({ name, params }) => {
    const remaining = params.get('r');
    const reset = params.get('t');
    // A policy may count something else than requests.
    const isOfRequests = !policies.has(name) || policies.get(name) !== undefined;
    if (!isOfRequests) return [];
    const partition = params.get('pk');
    const until = reset === undefined ? (policies.get(name) ?? 'unsaid') : resetIn(reset);
    const full = partition === undefined ? name : `${name};${partition}`;
    return makeReports(full, { remaining, limit: undefined, in: until });
  });
}

/** The windows of policies in ms, by name; `undefined` for those that do not count requests. */
function readPolicies(value: string): Map<string, number | undefined> {
  return new Map(
    parseItems(value).map(({ name, params }) => {
      const window = parseNumber(params.get('w'));
      const isOfRequests = (params.get('qu') ?? '"requests"') === '"requests"';
      return [isNumber(name) ? '' : name, isOfRequests && window !== undefined ? window * 1000 : undefined];
    }),
  );
}

/** The report, if it makes sense. */
function makeReports(
  name: string,
  given: {
    readonly remaining: string | undefined;
    readonly limit: string | undefined;
    /** `undefined` if it makes no sense. */
    readonly in: number | undefined | 'unsaid';
  },
): QuotaReport[] {
  const remaining = Math.floor(parseNumber(given.remaining?.trim()) ?? NaN);
  if (Number.isNaN(remaining) || given.in === undefined || name.length > longestName) return [];
  // Old drafts list the policies after the limit: `100, 100;w=60`.
  const limit = parseNumber(given.limit?.split(',')[0]?.trim()) ?? 0;
  if (given.in === 'unsaid') return remaining === 0 ? [{ name, remaining }] : [];
  return [{ name, remaining: limit > 0 ? Math.min(remaining, limit) : remaining, resetIn: given.in }];
}

const longestName = 200;

function dropRepeated(reports: readonly QuotaReport[]): QuotaReport[] {
  return reports.filter(({ name }) => reports.filter((other) => other.name === name).length === 1);
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function parseNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined;
}

const year = 366 * 86_400_000;

/** Ms from `sent` until a reset. A moment that has just passed is now; one that is long past is a mistake. */
function timeUntil(text: string, sent: number): number | undefined {
  const ms = msUntil(text, sent);
  return ms !== undefined && ms >= -60_000 && ms <= year ? Math.max(0, ms) : undefined;
}
