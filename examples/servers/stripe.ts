// As Stripe responds: the newest charges first, between two times, after the id of a row.
import type { Answer, Answering } from './listingServer.js';

export interface StripeCharge {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  /** Seconds since 1970. */
  readonly created: number;
}

export interface Stripe {
  readonly key: string;
  readonly version: string;
  readonly charges: StripeCharge[];
  /** Requests that it takes before it refuses one. Default: many. */
  room?: number;
}

export function stripeAnswers(account: Stripe): Answering<unknown> {
  return ({ pathname, searchParams }, _, { headers }) => {
    if (headers.authorization !== `Bearer ${account.key}`) return refuse(401, 'Invalid API Key provided');
    if (headers['stripe-version'] !== account.version) return refuse(400, 'Invalid Stripe API version');
    if (pathname !== '/v1/charges') return refuse(404, `Unrecognized request URL (GET: ${pathname}).`);
    if (account.room !== undefined) account.room -= 1;
    if (account.room === -1)
      return { status: 429, body: { error: { type: 'invalid_request_error', code: 'rate_limit' } } };
    const limit = Number(searchParams.get('limit') ?? 10);
    if (!(limit >= 1 && limit <= 100))
      return refuse(400, 'This value must be less than or equal to 100 (it currently is too large).');
    const from = Number(searchParams.get('created[gte]') ?? 0);
    const to = Number(searchParams.get('created[lt]') ?? Infinity);
    const found = account.charges
      .filter(({ created }) => created >= from && created < to)
      .sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1));
    const after = searchParams.get('starting_after');
    if (after !== null && !account.charges.some(({ id }) => id === after))
      return refuse(400, `No such charge: '${after}'`);
    const begin = after === null ? 0 : found.findIndex(({ id }) => id === after) + 1;
    const data = found.slice(begin, begin + limit);
    return { body: { object: 'list', url: '/v1/charges', has_more: begin + limit < found.length, data } };
  };
}

function refuse(status: number, message: string): Answer {
  return { status, body: { error: { type: 'invalid_request_error', message } } };
}
