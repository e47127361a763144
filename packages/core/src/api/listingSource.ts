import type { ApiResponse } from '../plugins/plugin.js';
import type { Json, RowSchema, UndecodedPage } from '../source/definition.js';
import { createSource, type Source } from '../source/source.js';
import type { SourceOpening } from './apiSource.js';
import type { WalkBounds } from './decodeOptions.js';
import { decodeParams, type ParamDescription } from './decodeParams.js';
import type { ListingDefinition } from './listingDefinition.js';
import { listingPlan } from './listingPlan.js';
import type { Requested } from './pageReader.js';

/** A listing on an API, and what reads its answers. */
interface OpenListing<Row extends object, In extends object, Params> {
  readonly definition: ListingDefinition<Row, In, Params>;
  readonly read: (answer: ApiResponse, requested: Requested) => UndecodedPage<Row>;
  readonly opening: SourceOpening;
  readonly known: readonly ParamDescription[] | undefined;
}

/**
 * The source of a listing with these parameters.
 *
 * @throws ConfigError if the parameters or the bounds make no sense.
 */
export function listingSource<Row extends object, In extends object, Params>(
  { definition, read, opening, known }: OpenListing<Row, In, Params>,
  given: object,
  { pageSize, maxRows, maxPages }: WalkBounds,
): Source<Row> {
  const { name, endpoint, arrays } = opening;
  const { baseUrl } = endpoint;
  const params = decodeParams(name, { schema: definition.params, known }, given);
  const plan = listingPlan(definition, { name, baseUrl, params, pageSize, warn: (message) => endpoint.warn(message) });
  const rowsAt = typeof definition.rows === 'string' ? definition.rows : 'function';
  const isSecret = (text: string): boolean => endpoint.isSecret(text);
  const made: Json = { arrays, rowsAt, version: definition.version ?? null, maxRows: maxRows ?? null };
  return createSource<Row>({
    name,
    identity: { ...plan.requested, ...made },
    rowsIdentity: { ...plan.requestedRows, ...made },
    schema: rowSchema(definition),
    ...{ partitions: plan.partitions, offset: plan.offset, maxRows, maxPages, endpoint },
    async fetch({ partition, at, atLeast, signal }) {
      const first = plan.first(partition, atLeast);
      const address = at ? definition.paging.request(first, at) : first;
      const answer = await endpoint.send({ route: name, ...address, signal });
      const { path } = address;
      const rows = plan.pageSize && Math.max(plan.pageSize, atLeast);
      return read(answer, { route: name, baseUrl, path, from: at, isAgain: atLeast === 2, rows, isSecret });
    },
  });
}

function rowSchema<Row extends object, In extends object, Params>({
  columns,
  key,
  event,
}: ListingDefinition<Row, In, Params>): RowSchema<Row> {
  return { columns, ...(key && { key }), ...(event && { event }) };
}
