import { ConfigError } from '../../errors.js';
import { definedJson, frozenJson } from '../../json.js';
import type { Json } from '../../rows/source/definition.js';
import { createPlannedSource, type Source } from '../../rows/source/source.js';
import type { WalkBounds } from '../apiSource.js';
import { listingPlan } from '../listingPlan.js';
import { identityOfRows, type OpenListing, pageFetcher, sourceOptions } from '../listingSource.js';
import { Parents } from './parents.js';
import { listPartitionValues } from '../requests/partitionValues.js';
import type { Each } from './each.js';
import { choosePageSize, type RequestSpec } from '../requests/requestSpec.js';
import { requireNamed } from '../requests/template.js';

/** Creates the source of a listing that has parents. @throws ConfigError if a parameter or a limit is invalid. */
export function eachSource<Row extends object, In extends object, Params extends object, Values>(
  open: OpenListing<Row, In, Params, Values>,
  each: Each<In, Params>,
  params: object,
  bounds: WalkBounds,
): Source<Row> {
  const { definition, opening } = open;
  const { name, endpoint } = opening;
  const { baseUrl } = endpoint;
  const { pageSize } = bounds;
  const { given, parents: parentParams, of: paramsOf } = each.begin(name, params);
  const parents = requireParents(name, opening.sibling?.(each.source)?.({ ...parentParams }));
  const warn = (message: string): void => endpoint.warn(message);
  const fetchPage = pageFetcher(open);
  const fixed = {
    baseUrl,
    ...collectFixedParts(definition),
    ...(each.fields && { params: { ...each.fields } }),
    given: definedJson(given, `The parameters of ${name}`),
    ...identityOfRows(open, bounds.maxRows),
  };
  const { identity, rowsIdentity = identity } = parents.info;
  const requested = {
    each: identity,
    ...fixed,
    pageSize: choosePageSize(name, definition.pageSize, pageSize) ?? null,
    paging: definition.paging.identity,
  };
  return createPlannedSource<Row>(
    {
      ...sourceOptions(open, bounds),
      identity: requested,
      walkIdentity: { ...requested, maxRows: null },
      rowsIdentity: { each: rowsIdentity, ...fixed },
      levels: 1 + (parents.info.levels ?? 0),
    },
    (start) =>
      new Parents<Row, Params>(
        {
          name,
          parents,
          paramsOf,
          requireNames: (names) => requireNamed(name, definition, { params: {}, optional: names }),
          valuesOf: (ofParent) => listPartitionValues(definition, { name, params: ofParent, warn }),
          planOf: (ofParent, values) => listingPlan(definition, { name, baseUrl, params: ofParent, values, pageSize }),
          increment: definition.paging.increment,
          clock: opening.clock,
          warn,
          isSecret: (text) => endpoint.isSecret(text),
          fetch: fetchPage,
        },
        start,
      ),
  );
}

/** @throws ConfigError if rows of the source can't be parents. `defineApi` has checked the definitions only. */
function requireParents(name: string, source: Source<unknown> | undefined): Source<unknown> {
  if (!source) throw new ConfigError(`${name} has parents, so it needs an API that has their source: use defineApi.`);
  const { info } = source;
  if (info.isEndless || !info.schema?.key)
    throw new ConfigError(`${name} can't have rows of ${info.name} as parents: they have no key.`);
  return source;
}

/** The parts of requests that do not depend on a parent. Functions can't be compared: the version stands for them. */
function collectFixedParts<Params, Values>({
  path,
  query,
  method,
  body,
  bodyType,
  headers,
  partitions,
  fields,
}: RequestSpec<Params, Values>): Readonly<Record<string, Json>> {
  const fixed = Object.entries({ path, method, body, bodyType, headers, partitions, fields }).flatMap(
    ([option, value]): [string, Json][] =>
      value === undefined || typeof value === 'function' ? [] : [[option, frozenJson(value, option)]],
  );
  return { ...Object.fromEntries(fixed), ...(typeof query === 'object' && { query: definedJson(query, 'query') }) };
}
