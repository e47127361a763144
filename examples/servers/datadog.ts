// As Datadog responds: logs that match a query, by a cursor that stands for one search, to whoever has both keys.
import { z } from 'zod';
import type { Answering } from './listingServer.js';
import { readToken, tokenFor } from './tokens.js';

export interface DatadogLog {
  readonly id: string;
  readonly attributes: { readonly timestamp: string; readonly service: string; readonly message: string };
}

export interface Datadog {
  readonly apiKey: string;
  readonly appKey: string;
  readonly logs: DatadogLog[];
  /** Requests in each second. Default: many. */
  readonly quota?: number;
  refused: number;
}

const search = z.strictObject({
  filter: z.strictObject({ query: z.string(), from: z.string().optional(), to: z.literal('now') }),
  sort: z.literal('timestamp'),
  page: z.strictObject({ limit: z.number().max(1000).optional(), cursor: z.string().optional() }).optional(),
});

export function datadogAnswers(org: Datadog): Answering<unknown> {
  const limit = org.quota ?? 1_000_000;
  let used = 0;
  let reset = 0;
  return ({ pathname }, _, { method, headers, body }) => {
    if (headers['dd-api-key'] !== org.apiKey || headers['dd-application-key'] !== org.appKey)
      return { status: 403, body: { errors: ['Forbidden'] } };
    if (method !== 'POST' || pathname !== '/api/v2/logs/events/search')
      return { status: 404, body: { errors: ['Not found'] } };
    const now = Date.now() / 1000;
    if (now >= reset) [used, reset] = [0, Math.ceil(now) + 1];
    used += 1;
    const quota = {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-period': '1',
      'x-ratelimit-remaining': String(Math.max(0, limit - used)),
      'x-ratelimit-reset': String(Math.ceil(reset - now)),
      'x-ratelimit-name': 'logs_public_search_api',
    };
    if (used > limit) {
      org.refused += 1;
      return { status: 429, body: { errors: ['Rate limit of 1 requests in 1 seconds reached'] }, headers: quota };
    }
    const asked = search.safeParse(JSON.parse(body));
    if (!asked.success) return { status: 400, body: { errors: ['invalid_argument'] }, headers: quota };
    const { filter, page: { limit: size = 10, cursor } = {} } = asked.data;
    const quarter = new Date(Date.now() - 900_000).toISOString();
    const filters = { query: filter.query, since: filter.from ?? quarter };
    const rest = cursor === undefined ? { from: 0, filters } : readToken(cursor);
    // A cursor is one of the same search.
    if (JSON.stringify(rest?.filters) !== JSON.stringify(filters))
      return { status: 400, body: { errors: ['Invalid pagination cursor'] }, headers: quota };
    const found = org.logs
      .filter(({ attributes }) => `service:${attributes.service}` === filters.query)
      .filter(({ attributes }) => Date.parse(attributes.timestamp) >= Date.parse(filters.since))
      .sort((a, b) => Date.parse(a.attributes.timestamp) - Date.parse(b.attributes.timestamp));
    const from = rest?.from ?? 0;
    const more = from + size < found.length && { page: { after: tokenFor({ from: from + size, filters }) } };
    return {
      body: { data: found.slice(from, from + size), meta: { elapsed: 3, status: 'done', ...more } },
      headers: quota,
    };
  };
}
