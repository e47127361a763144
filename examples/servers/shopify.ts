// As Shopify responds: the next page in a Link whose page_info stands for all filters, and a bucket that leaks.
import type { Answer, Answering } from './listingServer.js';
import { readToken, tokenFor } from './tokens.js';

export interface ShopifyOrder {
  readonly id: number;
  readonly name: string;
  readonly total_price: string;
  readonly updated_at: string;
}

export interface Shop {
  readonly token: string;
  readonly orders: ShopifyOrder[];
  readonly products: readonly { readonly id: number; readonly variants: readonly object[] }[];
  /** Requests for which its bucket has room, until one was refused. Default: many. */
  room?: number;
}

export function shopifyAnswers(shop: Shop): Answering<unknown> {
  return (url, _, { headers }) => {
    const { pathname, searchParams } = url;
    if (headers['x-shopify-access-token'] !== shop.token) return refusal(401, '[API] Invalid API key or access token');
    if (shop.room !== undefined) shop.room -= 1;
    if (shop.room === -1)
      return { ...refusal(429, 'Exceeded 2 calls per second for api client.'), headers: { 'retry-after': '0.2' } };
    const info = searchParams.get('page_info');
    const more = [...searchParams.keys()].filter((name) => !['page_info', 'limit', 'fields'].includes(name));
    if (info !== null && more.length > 0)
      return refusal(400, { [String(more[0])]: `${more[0]} cannot be passed when page_info is present.` });
    const asked = info === null ? { from: 0, filters: Object.fromEntries(searchParams) } : readToken(info);
    if (!asked) return refusal(400, { page_info: 'Invalid value.' });
    const { from, filters } = asked;
    const [, name = ''] = /^\/admin\/api\/2025-10\/(orders|products)\.json$/.exec(pathname) ?? [];
    const list = name === 'orders' ? listOrders(shop, filters) : name === 'products' ? shop.products : undefined;
    if (!list) return refusal(404, 'Not Found');
    const to = from + Math.min(Number(searchParams.get('limit') ?? 50), 250);
    const next = new URL(url.pathname, url);
    next.search = String(new URLSearchParams({ limit: String(to - from), page_info: tokenFor({ from: to, filters }) }));
    return {
      body: { [name]: list.slice(from, to) },
      ...(to < list.length && { headers: { link: `<${next.href}>; rel="next"` } }),
    };
  };
}

function refusal(status: number, errors: string | object): Answer {
  return { status, body: { errors } };
}

/** Without `status`, only open orders are listed, and all of these are closed. */
function listOrders({ orders }: Shop, filters: Readonly<Record<string, string>>): readonly ShopifyOrder[] {
  const { status, order, updated_at_min: from = '1970-01-01T00:00:00Z' } = filters;
  const listed = orders.filter((row) => status === 'any' && Date.parse(row.updated_at) >= Date.parse(from));
  return order === 'updated_at asc'
    ? listed.sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at))
    : listed;
}
