// As Salesforce responds: a session for the client's id and secret, a query in SOQL, and locators for the rest of it.
import type { Answer, Answering } from './listingServer.js';
import { readToken, tokenFor } from './tokens.js';

export interface SalesforceAccount {
  readonly Id: string;
  readonly Name: string;
  readonly IsDeleted: boolean;
  readonly SystemModstamp: string;
}

export interface Salesforce {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly accounts: SalesforceAccount[];
  /** Rows of a response: it promises no size, whatever `batchSize` says. */
  readonly batch: number;
  /** Sessions so far; only the last one is open. */
  readonly sessions: string[];
  /** Days since it began. Locators of another day are not known any more. */
  day: number;
  /** Whether the organization has used up its requests of 24 hours. */
  isUsedUp?: boolean;
}

const soql =
  /^SELECT Id, Name, IsDeleted, SystemModstamp FROM Account WHERE SystemModstamp >= (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ORDER BY SystemModstamp, Id$/;
const data = '/services/data/v62.0';

export function salesforceAnswers(org: Salesforce): Answering<unknown> {
  return ({ pathname, searchParams }, _, { method, headers, body }) => {
    if (pathname === '/services/oauth2/token')
      return method === 'POST' ? openSession(org, body) : refuse(405, 'GET', '');
    if (headers.authorization !== `Bearer ${org.sessions.at(-1)}`)
      return refuse(401, 'INVALID_SESSION_ID', 'Session expired or invalid');
    if (org.isUsedUp) return refuse(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.');
    const [, locator] = /^\/services\/data\/v62\.0\/query\/([\w-]+)-\d+$/.exec(pathname) ?? [];
    const asked =
      locator === undefined
        ? { from: 0, filters: { q: searchParams.get('q') ?? '', day: String(org.day) } }
        : readToken(locator);
    if (asked?.filters['day'] !== String(org.day)) return refuse(400, 'INVALID_QUERY_LOCATOR', 'invalid query locator');
    if (locator === undefined && pathname !== `${data}/queryAll`)
      return refuse(404, 'NOT_FOUND', 'The requested resource does not exist');
    const [, since] = soql.exec(asked.filters['q'] ?? '') ?? [];
    if (since === undefined) return refuse(400, 'MALFORMED_QUERY', 'unexpected token');
    const { from, filters } = asked;
    const found = org.accounts
      .filter(({ SystemModstamp }) => timeOf(SystemModstamp) >= Date.parse(since))
      .sort((a, b) => timeOf(a.SystemModstamp) - timeOf(b.SystemModstamp) || (a.Id < b.Id ? -1 : 1));
    const to = from + org.batch;
    const isDone = to >= found.length;
    const records = found.slice(from, to).map((row) => ({ attributes: { type: 'Account' }, ...row }));
    const next = { nextRecordsUrl: `${data}/query/${tokenFor({ from: to, filters })}-${to}` };
    return { body: { totalSize: found.length, done: isDone, ...(!isDone && next), records } };
  };
}

/** Its zone has no colon. */
function timeOf(text: string): number {
  return Date.parse(text.replace('+0000', 'Z'));
}

function refuse(status: number, errorCode: string, message: string): Answer {
  return { status, body: [{ message, errorCode }] };
}

/** The response says nothing about how long the session lasts. */
function openSession(org: Salesforce, body: string): Answer {
  const form = new URLSearchParams(body);
  const isClient = form.get('client_id') === org.clientId && form.get('client_secret') === org.clientSecret;
  if (!isClient || form.get('grant_type') !== 'client_credentials')
    return { status: 400, body: { error: 'invalid_client', error_description: 'invalid client credentials' } };
  org.sessions.push(`00D-session-${org.sessions.length}`);
  return {
    body: { access_token: org.sessions.at(-1), token_type: 'Bearer', scope: 'api', issued_day: String(org.day) },
  };
}
