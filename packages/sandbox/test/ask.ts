import type { EndpointName, Sandbox } from '../src/index.js';

/** Query parameters; a list becomes `name[]=a&name[]=b`. */
export type Parameters = Readonly<Record<string, string | number | readonly string[]>>;

/** Where a request goes: the endpoint's address with its query. */
export function addressOf(sandbox: Sandbox, endpoint: EndpointName, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...defaultsOf(sandbox)[endpoint], ...parameters })) {
    if (typeof value === 'string' || typeof value === 'number') query.append(name, String(value));
    else for (const item of value) query.append(`${name}[]`, item);
  }
  const base = { streams: `${sandbox.streamsUrl}/streams/evm`, aptos: `${sandbox.aptosUrl}/wallets/nfts` };
  return `${base[endpoint]}?${query}`;
}

/** Sends one request with the right key, for a page of 100 unless told otherwise, following no redirect. */
export function ask(
  sandbox: Sandbox,
  endpoint: EndpointName,
  parameters: Parameters = {},
  init: RequestInit = {},
): Promise<Response> {
  return fetch(addressOf(sandbox, endpoint, parameters), {
    headers: { 'X-API-Key': sandbox.apiKey },
    redirect: 'manual',
    ...init,
  });
}

/** A page as a client reads it; `rows` as JSON texts, so that they can be compared byte by byte. */
export interface AskedPage {
  readonly rows: readonly string[];
  readonly cursor: string | undefined;
  readonly hasNextPage: unknown;
  readonly total: unknown;
  readonly text: string;
}

export async function askPage(
  sandbox: Sandbox,
  endpoint: EndpointName,
  parameters: Parameters = {},
): Promise<AskedPage> {
  const answer = await ask(sandbox, endpoint, parameters);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
  const { result, cursor, hasNextPage, total } = objectOf(JSON.parse(text));
  const rows: readonly unknown[] = Array.isArray(result) ? result : [];
  return {
    rows: rows.map((row) => JSON.stringify(row)),
    cursor: typeof cursor === 'string' && cursor !== '' ? cursor : undefined,
    hasNextPage,
    total,
    text,
  };
}

/** All pages from the first one until there is no cursor. */
export async function walk(
  sandbox: Sandbox,
  endpoint: EndpointName,
  parameters: Parameters = {},
): Promise<AskedPage[]> {
  const pages = [await askPage(sandbox, endpoint, parameters)];
  for (let cursor = pages[0]?.cursor; cursor !== undefined;) {
    const page = await askPage(sandbox, endpoint, { ...parameters, cursor });
    pages.push(page);
    cursor = page.cursor;
  }
  return pages;
}

export function rowsOf(pages: readonly AskedPage[]): string[] {
  return pages.flatMap((page) => page.rows);
}

export function texts(rows: Iterable<unknown>): string[] {
  return Array.from(rows, (row) => JSON.stringify(row));
}

function defaultsOf(sandbox: Sandbox): Record<EndpointName, Parameters> {
  return { streams: { limit: 100 }, aptos: { limit: 100, owner_addresses: sandbox.owners } };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new Error('The answer is no JSON object.');
  return Object.fromEntries(Object.entries(value));
}
