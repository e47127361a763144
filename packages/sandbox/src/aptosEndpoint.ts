import type { AnswerShape } from './served/answerShape.js';
import type { Cursors } from './cursor.js';
import type { Holdings } from './served/holdings.js';
import { fullAddress } from './served/owners.js';
import { openPage, formatPage } from './page.js';
import { readCursor, readList, readWholeNumber } from './parameters.js';
import { Refusal } from './refusal.js';
import type { Endpoint } from './requestListener.js';

/**
 * `GET …/wallets/nfts?limit&offset&cursor&owner_addresses&collection_blacklist&collection_whitelist`: up to 1,000
 * holdings per page. A cursor overrides `offset`. With a collection filter, any page may be short or empty.
 */
export function aptosEndpoint(holdings: Holdings, cursors: Cursors, shape: Required<AnswerShape>): Endpoint {
  return (query) => {
    const limit = readWholeNumber(query, 'limit', { min: 1, max: 1_000 });
    const offset = readWholeNumber(query, 'offset', { min: 0, max: 999_999_999_999_999, otherwise: 0 });
    const owners = readOwners(query);
    const include = readCollections(query, 'collection_whitelist');
    const exclude = readCollections(query, 'collection_blacklist');
    const view = () => holdings.of(owners, { include, exclude });
    const page = openPage({
      cursors,
      query: JSON.stringify([owners, include.toSorted(), exclude.toSorted()]),
      sent: readCursor(query),
      start: () => view().seek(offset),
      read: (place) => view().read(place, limit),
    });
    return (fault) => {
      const { rows, cursor } = page(fault);
      return {
        ...formatPage({ rows, cursor: shape.next === 'cursor' ? cursor : null }, shape),
        ...(shape.hasNextPage === 'sent' ? { hasNextPage: cursor !== null } : {}),
      };
    };
  };
}

function readOwners(query: URLSearchParams): string[] {
  const owners = readList(query, 'owner_addresses').map((text) => {
    const address = fullAddress(text);
    if (address !== undefined) return address;
    throw new Refusal(400, 'owner_addresses: each must be 0x and 1 to 64 hexadecimal digits');
  });
  if (owners.length === 0) throw new Refusal(400, 'owner_addresses: at least one is required');
  return [...new Set(owners)];
}

function readCollections(query: URLSearchParams, name: string): string[] {
  return readList(query, name).map((text) => {
    const digits = /^(?:0x)?([0-9a-f]{1,64})$/i.exec(text)?.[1];
    if (digits === undefined) throw new Refusal(400, `${name}: each must be a hash of up to 64 hexadecimal digits`);
    return digits.toLowerCase();
  });
}
