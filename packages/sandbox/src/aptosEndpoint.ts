import type { AnswerShape } from './answerShape.js';
import type { Cursors } from './cursor.js';
import type { Holdings } from './holdings.js';
import { fullAddress } from './owners.js';
import { pageOf, worded } from './page.js';
import { cursorOf, list, wholeNumber } from './parameters.js';
import { Refusal } from './refusal.js';
import type { Endpoint } from './requestListener.js';

/**
 * `GET …/wallets/nfts?limit&offset&cursor&owner_addresses&collection_blacklist&collection_whitelist`: up to 1,000
 * holdings per page. A cursor overrides `offset`. With a collection filter, any page may be short or empty.
 */
export function aptosEndpoint(holdings: Holdings, cursors: Cursors, shape: Required<AnswerShape>): Endpoint {
  return (query) => {
    const limit = wholeNumber(query, 'limit', { min: 1, max: 1_000 });
    const offset = wholeNumber(query, 'offset', { min: 0, max: 999_999_999_999_999, otherwise: 0 });
    const owners = ownersOf(query);
    const include = collectionsOf(query, 'collection_whitelist');
    const exclude = collectionsOf(query, 'collection_blacklist');
    const view = () => holdings.of(owners, { include, exclude });
    const page = pageOf({
      cursors,
      query: JSON.stringify([owners, include.toSorted(), exclude.toSorted()]),
      sent: cursorOf(query),
      start: () => view().seek(offset),
      read: (place) => view().read(place, limit),
    });
    return (fault) => {
      const { rows, cursor } = page(fault);
      return {
        ...worded({ rows, cursor: shape.next === 'cursor' ? cursor : null }, shape),
        ...(shape.hasNextPage === 'sent' ? { hasNextPage: cursor !== null } : {}),
      };
    };
  };
}

function ownersOf(query: URLSearchParams): string[] {
  const owners = list(query, 'owner_addresses').map((text) => {
    const address = fullAddress(text);
    if (address !== undefined) return address;
    throw new Refusal(400, 'owner_addresses: each must be 0x and 1 to 64 hexadecimal digits');
  });
  if (owners.length === 0) throw new Refusal(400, 'owner_addresses: at least one is required');
  return [...new Set(owners)];
}

function collectionsOf(query: URLSearchParams, name: string): string[] {
  return list(query, name).map((text) => {
    const digits = /^(?:0x)?([0-9a-f]{1,64})$/i.exec(text)?.[1];
    if (digits === undefined) throw new Refusal(400, `${name}: each must be a hash of up to 64 hexadecimal digits`);
    return digits.toLowerCase();
  });
}
