import type { ApiAnswer } from '../plugins/plugin.js';
import type { FetchedPage } from '../source/definition.js';
import { apiSource, type ApiSource, type SourceDescription, type SourceOpening } from './apiSource.js';
import { checkListing } from './checkListing.js';
import type { FreeParams } from './decodeOptions.js';
import { describeParams, type ParamDescription } from './decodeParams.js';
import type { ListingDefinition } from './listingDefinition.js';
import { listingSource } from './listingSource.js';
import { pageReader } from './pageReader.js';

/** One listing of an API, for `defineApi`. */
export interface Listing<Row extends object, In extends object> {
  /**
   * What it makes of an answer to its first page, without a request, as if asked at `https://api.example.com/`: for tests of a definition.
   *
   * @throws DecodeError as a walk would.
   */
  read(answer: Partial<ApiAnswer>, name?: string): FetchedPage<Row>;
  /** Opens it on an API. */
  open(opening: SourceOpening): ApiSource<In, Row>;
}

/**
 * Describes one listing of an API: what is asked, where an answer holds what, and what a row is. Its options are its parameters, typed by
 * the `params` schema or by what its functions take, and `pageSize`, `maxRows` and `maxPages`.
 *
 * Paths (`rows`, `total`, and those of `paging`) are names with dots between. One that leads nowhere in an answer is a `DecodeError` and
 * never an empty listing, unless it says with `?` that it may.
 *
 * @example
 * listing({
 *   path: '/markets',
 *   query: ({ currency }: { currency: string }) => ({ vs_currency: currency }),
 *   pageSize: { param: 'limit', default: 100, most: 250 },
 *   paging: byOffset({ param: 'offset' }),
 *   rows: 'data.items',
 *   total: 'data.total',
 *   columns: ['id', 'price'],
 *   key: ({ id }) => String(id),
 * });
 *
 * @throws ConfigError if the definition makes no sense.
 */
export function listing<
  Row extends object = Record<string, unknown>,
  Params extends object = object,
  In extends object & FreeParams = Params,
>(definition: ListingDefinition<Row, In, Params>): Listing<Row, In> {
  checkListing(definition);
  const read = pageReader(definition);
  const known = knownParams(definition);
  return Object.freeze<Listing<Row, In>>({
    read({ status = 200, headers = {}, body }, route = 'listing') {
      const answer = { status, headers, body };
      const asked = { route, baseUrl: 'https://api.example.com', path: '/' };
      const late = read(answer, { ...asked, from: undefined, isAgain: false, rows: undefined });
      const { decode, received, ...page } = late;
      const rows = decode();
      return { ...page, rows, ...(rows !== received && { received }) };
    },
    open: (opening) =>
      apiSource({
        opening,
        walk: (given, bounds) => listingSource({ definition, read, opening, known }, given, bounds),
        describe: () => describe(definition, opening.name, known),
      }),
  });
}

function describe<Row extends object, In extends object, Params>(
  { description, columns, key, pageSize }: ListingDefinition<Row, In, Params>,
  name: string,
  params: readonly ParamDescription[] | undefined,
): SourceDescription {
  return {
    ...{ name, columns, hasKey: key !== undefined },
    ...(description !== undefined && { description }),
    ...(params && { params }),
    ...(pageSize && {
      pageSize: { default: pageSize.default, ...(pageSize.most !== undefined && { most: pageSize.most }) },
    }),
  };
}

/** All parameters that a listing takes, where that can be known. */
function knownParams<Row extends object, In extends object, Params>({
  params,
  path,
  query,
  parts,
}: ListingDefinition<Row, In, Params>): readonly ParamDescription[] | undefined {
  if (params) return describeParams(params);
  return [path, query, parts].some((part) => typeof part === 'function') ? undefined : [];
}
