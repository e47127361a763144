// As Zendesk responds: what changed since a time, without the last minute, and a cursor also at the end of the stream.
import type { Answer, Answering } from './listingServer.js';

export interface Zendesk {
  readonly token: string;
  readonly tickets: ZendeskTicket[];
  readonly users: ZendeskUser[];
  /** Requests a minute. Default: many. */
  readonly perMinute?: number;
}

export interface ZendeskTicket {
  readonly id: number;
  readonly subject: string;
  readonly status: string;
  readonly updated_at: string;
  /** Seconds since 1970 of the last change, also by the system, which leaves `updated_at` as it is. */
  readonly generated_timestamp: number;
}

export interface ZendeskUser {
  readonly id: number;
  readonly name: string;
  readonly updated_at: string;
}

export function zendeskAnswers(desk: Zendesk): Answering<unknown> {
  const { perMinute = 1_000_000 } = desk;
  const started: number[] = [];
  return (url, _, { headers }) => {
    if (headers.authorization !== `Bearer ${desk.token}`)
      return refuse(401, 'invalid_token', 'The access token provided is expired, revoked, malformed or invalid.');
    const now = Date.now();
    const [earliest = now] = started.slice(-perMinute);
    if (started.length >= perMinute && now < earliest + 60_000) {
      const wait = { 'retry-after': String(Math.ceil((earliest + 60_000 - now) / 1000)) };
      return {
        ...refuse(429, 'APIRateLimitExceeded', 'Number of allowed incremental export requests per minute exceeded'),
        headers: wait,
      };
    }
    started.push(now);
    const [, name] = /^\/api\/v2\/incremental\/(tickets|users)\/cursor\.json$/.exec(url.pathname) ?? [];
    if (name === 'tickets') return page(url, name, desk.tickets, (row) => row.generated_timestamp);
    if (name === 'users') return page(url, name, desk.users, (row) => Math.floor(Date.parse(row.updated_at) / 1000));
    return refuse(404, 'InvalidEndpoint', 'Not found');
  };
}

function page<Row extends { readonly id: number }>(
  url: URL,
  name: string,
  table: readonly Row[],
  timeOf: (row: Row) => number,
): Answer {
  const { searchParams } = url;
  const start = searchParams.get('start_time');
  const cursor = searchParams.get('cursor');
  const now = Date.now() / 1000;
  if (cursor === null && !/^\d+$/.test(start ?? ''))
    return refuse(400, 'InvalidValue', 'You must pass a valid start_time or cursor');
  if (cursor === null && Number(start) > now - 60)
    return refuse(422, 'StartTimeTooRecent', 'Too recent start_time. Use a start_time older than 60 seconds');
  const [time = 0, id = 0] = cursor === null ? [Number(start), 0] : atob(cursor).split('|').filter(Boolean).map(Number);
  const size = Math.min(Number(searchParams.get('per_page') ?? 1000), 1000);
  const rest = table
    .filter((row) => timeOf(row) <= now - 60 && (timeOf(row) > time || (timeOf(row) === time && row.id > id)))
    .sort((a, b) => timeOf(a) - timeOf(b) || a.id - b.id);
  const rows = rest.slice(0, size);
  const last = rows.at(-1);
  const after = last ? btoa(`${timeOf(last)}.0||${last.id}|`) : cursor;
  const next = new URL(url.pathname, url);
  next.search = String(new URLSearchParams({ cursor: after ?? '', per_page: String(size) }));
  const end = { after_cursor: after, after_url: after === null ? null : next.href, end_of_stream: size >= rest.length };
  return { body: { [name]: rows, ...end } };
}

function refuse(status: number, error: string, description: string): Answer {
  return { status, body: { error, description } };
}
