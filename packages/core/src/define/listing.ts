import { checkCount, checkOptions, type OptionKind, wrongKind } from '../checks.js';
import { amend, ConfigError, SluiceError } from '../errors.js';
import { ResponseMeanings } from '../http/response/responseMeanings.js';
import { checkResponses, meaningOf, type Responses } from '../http/response/responses.js';
import type { ApiResponse } from '../plugins/plugin.js';
import { checkTypes } from '../rows/columns/columnTypes.js';
import type { FetchedPage } from '../rows/source/definition.js';
import { isRecord, shownText } from '../values.js';
import { apiSource, type ApiSource, type FreeParams, type SourceDescription, type SourceOpening } from './apiSource.js';
import { eachSource } from './parents/eachSource.js';
import { describeParams, type ParamDescription } from './requests/decodeParams.js';
import type { RowMaking } from './responses/decodeRows.js';
import { checkKey } from './responses/fieldKey.js';
import type { ListingDefinition } from './listingDefinition.js';
import { listPlaces, type RequestSpec, requestSpecKinds } from './requests/requestSpec.js';
import { parseSteps } from './responses/documentPath.js';
import { listingSource } from './listingSource.js';
import type { Paging } from './pages/paging.js';
import { checkPartitionTable } from './requests/partitionValues.js';
import { placeKinds } from './requests/requestPlace.js';
import { newWalkMemory, pageReader, type ReadingApi, rowTest } from './responses/pageReader.js';
import { hasSlot } from './since/sinceSlot.js';
import { isStandard, notStandard, type StandardSchema } from './standardSchema.js';
import { checkEach, type Each } from './parents/each.js';
import {
  type AskedParams,
  type KnownNames,
  type Templates,
  listPathNames,
  listValueNames,
} from './requests/template.js';
import { checkUntil, type Until } from './pages/until.js';

/** One listing of an API, for `defineApi`. */
export interface Listing<Row extends object, In extends object> {
  /** For tests: decodes a response to the first page, as if from `https://api.example.com/`. @throws DecodeError. */
  read(response: Partial<ApiResponse>, name?: string): FetchedPage<Row>;
  /** The source of the same API whose rows are its parents. */
  readonly each?: string;
  /** Whether its rows have a key, so that they can be parents. */
  readonly hasKey: boolean;
  /** The headers that its paging and its page size set, in lower case. */
  readonly placedHeaders: readonly string[];
  /** Creates the source for an API. */
  open(opening: SourceOpening): ApiSource<In, Row>;
}

/**
 * Describes one listing of an API: its requests, the places of values in its responses, and its rows. The `params`
 * schema defines its parameters, or else templates and functions do; `pageSize`, `maxRows` and `maxPages` are added.
 *
 * Paths (`rows`, `total`, and those of `paging`) are names separated by dots. A missing value is a `DecodeError`, not
 * an empty listing, unless the path allows it with `?`. A name with a dot is quoted: `['@odata.nextLink']?`.
 * With `format: 'jsonLines'`, the document is the list of all lines.
 *
 * @example
 * listing({
 *   path: '/markets',
 *   query: { vs_currency: '{currency}' },
 *   pageSize: { param: 'limit', default: 100, max: 250 },
 *   paging: byOffset({ param: 'offset' }),
 *   rows: 'data.items',
 *   total: 'data.total',
 *   columns: ['id', 'price'],
 *   key: 'id',
 * });
 *
 * @throws ConfigError if the definition is invalid.
 */
export function listing<
  Row extends object = Record<string, unknown>,
  Params extends object = object,
  In extends object & FreeParams = never,
  Values extends object = object,
  const Path extends string = string,
  const RequestQuery = unknown,
  const Headers = unknown,
  const Body = unknown,
  const Fields = unknown,
>(
  definition: ListingDefinition<Row, In, Params, Values> &
    Templates<RequestQuery, Headers, Body, Fields> & { readonly path: Path } & KnownNames<
      In,
      Params & Values,
      Path,
      Templates<RequestQuery, Headers, Body, Fields>
    >,
): Listing<Row, AskedParams<In, Params, Path, Templates<RequestQuery, Headers, Body, Fields>, Values>> {
  const { openReader, known } = namingPath(definition, () => {
    const given: unknown = definition;
    if (isRecord(given) && Object.hasOwn(given, 'concurrency'))
      throw fault(
        'concurrency',
        'how many partitions are walked in parallel is an option of the export or walk: give it to exportTo() or pages(), or as --concurrency. For all requests of the API, rateLimit has one',
      );
    checkOptions('listing()', definition, listDefinitionKinds(), 'The definition of a listing');
    const { paging }: { readonly paging?: unknown } = definition;
    if (!paging) throw noPaging();
    checkListing(definition);
    return { openReader: pageReader(definition), known: knownParams(definition) };
  });
  const { each, key, filter, parse, responses } = definition;
  return Object.freeze<
    Listing<Row, AskedParams<In, Params, Path, Templates<RequestQuery, Headers, Body, Fields>, Values>>
  >({
    ...(each && { each: each.source }),
    hasKey: key !== undefined,
    placedHeaders: listPlaces(definition).headers,
    read({ status = 200, headers = {}, body }, name = 'listing') {
      const document = parse && typeof body === 'string' ? parse(body, headers) : body;
      const isRow = rowTest(definition);
      const meanings = new ResponseMeanings(
        responses && ((received) => meaningOf([responses], received, (item) => isRow(item))),
      );
      const partial = meanings.partialOf(name, { status, headers, body: document, page: 1, isFirst: true });
      const { decode, received, ...page } = openReader({ name, ...exampleApi })(
        { status, headers, body: document, partial },
        {
          path: '/',
          first: { query: {} },
          from: undefined,
          isAgain: false,
          pageSize: undefined,
          walked: { pages: 0, rows: 0 },
          seen: newWalkMemory(),
        },
      );
      const rows = decode();
      const kept = filter ? rows.filter(filter) : rows;
      return { ...page, rows: kept, ...(kept !== received && { received }) };
    },
    open: (opening) =>
      apiSource(
        opening,
        () => describe(definition, opening.name, known),
        (given, bounds) => {
          const open = { definition, openReader, opening };
          return each ? eachSource(open, each, given, bounds) : listingSource(open, known, given, bounds);
        },
      ),
  });
}

/** Checks a definition, and names its path in an error: a file may have several definitions. */
function namingPath<R>(definition: unknown, check: () => R): R {
  try {
    return check();
  } catch (error) {
    const path = isRecord(definition) ? definition['path'] : undefined;
    if (SluiceError.is(error) && typeof path === 'string') amend(error, `It is the listing of ${shownText(path)}.`);
    throw error;
  }
}

/** The API for {@link Listing.read}. */
const exampleApi: Omit<ReadingApi, 'name'> = {
  endpoint: {
    baseUrl: 'https://api.example.com',
    isSecret: () => false,
    redact: (text) => text,
    withoutSecret: (address) => address,
    warn: () => undefined,
  },
  clock: { now: () => 0 },
};

/** A function, so that bundlers leave the object out of a web page without listings. */
function listDefinitionKinds() {
  return {
    ...requestSpecKinds,
    // Optional here, because `noPaging` says what to write.
    paging: 'an object?',
    params: 'an object or a function?',
    each: 'an object?',
    description: 'text?',
    rows: 'text or a function',
    total: 'text or a function?',
    until: 'text or a function?',
    format: 'text?',
    parse: 'a function?',
    schema: 'an object or a function?',
    decode: 'a function?',
    version: 'text?',
    columns: 'a list',
    types: 'an object?',
    key: 'anything?',
    statusOf: 'a function?',
    nameOf: 'a function?',
    event: 'a function?',
    filter: 'a function?',
    responses: 'an object or a function?',
  } as const satisfies Readonly<Record<keyof ListingDefinition<never, never, never>, OptionKind>>;
}

function describe<Row extends object, In extends object, Params, Values>(
  { description, each, columns, key, pageSize, paging, filter }: ListingDefinition<Row, In, Params, Values>,
  name: string,
  params: readonly ParamDescription[] | undefined,
): SourceDescription {
  return {
    name,
    columns,
    hasKey: key !== undefined,
    paging: kindOfPaging(paging),
    isIncremental: paging.increment !== undefined,
    ...(description !== undefined && { description }),
    ...(filter && { isFiltered: true }),
    ...(each && { each: `${name.slice(0, name.lastIndexOf('.'))}.${each.source}` }),
    ...(params && { params }),
    ...(pageSize && {
      pageSize: { default: pageSize.default, ...(pageSize.max !== undefined && { max: pageSize.max }) },
    }),
  };
}

/** The kind of a paging, with the paging inside of `bySince`. A paging of a third party may have any identity. */
function kindOfPaging({ identity, increment }: Paging): string {
  const { by, paging: inside } = isRecord(identity) ? identity : {};
  const kind = typeof by === 'string' ? by : 'own';
  return increment && isRecord(inside) && typeof inside['by'] === 'string' ? `${kind}, ${inside['by']}` : kind;
}

function noPaging(): ConfigError {
  return new ConfigError(
    'The definition of a listing is invalid at paging: it is missing. Write paging: onePage() if one response has all rows. Otherwise say how the API continues: byCursor(), byLink(), byOffset(), byPage(), byHeader(), byKeyset(), byConnection() or bySince().',
    { option: 'paging' },
  );
}

/** All parameters of a listing, if they can be known. */
function knownParams(definition: Checked): readonly ParamDescription[] | undefined {
  if (definition.each) return definition.each.known;
  if (definition.params) return describeParams(definition.params);
  if (takesParams(definition)) return undefined;
  const { partitions } = definition;
  const names = listNames(definition).filter((name) => !(isRecord(partitions) && Object.hasOwn(partitions, name)));
  return names.map((name) => ({ name, isRequired: true }));
}

/** Whether a function of the definition takes parameters. */
function takesParams({ query, body, headers, partitions, fields }: Checked): boolean {
  return [query, body, headers, partitions, fields].some((part) => typeof part === 'function');
}

/** The parameters that the templates of a definition name. */
function listNames({ path, query, body, headers, fields }: Checked): readonly string[] {
  return [...new Set([...listPathNames(path), ...[query, body, headers, fields].flatMap(listValueNames)])];
}

/** The parts of a definition that can be checked before any request. */
interface Checked extends Omit<RequestSpec<never, never>, 'partitions'>, RowMaking<object> {
  readonly partitions?: unknown;
  readonly until?: Until | undefined;
  readonly params?: StandardSchema | undefined;
  readonly each?: Each<never, never> | undefined;
  readonly filter?: ((row: never) => boolean) | undefined;
  readonly format?: string | undefined;
  readonly parse?: unknown;
  readonly version?: string | undefined;
  readonly columns: readonly string[];
  readonly types?: Readonly<Record<string, unknown>> | undefined;
  readonly key?: unknown;
  readonly responses?: Responses | undefined;
}

/** @throws ConfigError for the first invalid part. */
function checkListing(definition: Checked): void {
  const { path, query, method = 'GET', body, params, pageSize, paging, schema, decode, version, columns } = definition;
  const { responses, filter, format = 'json', bodyType = 'json', until, partitions } = definition;
  const madeFields = typeof definition.fields === 'function' ? definition.fields : undefined;
  listPathNames(path);
  if (pageSize) {
    checkOptions('pageSize of listing()', pageSize, {
      ...placeKinds,
      default: 'a number',
      max: 'a number?',
    });
    checkCount('pageSize.default', pageSize.default, pageSize.max === undefined ? {} : { max: pageSize.max });
    if (pageSize.max !== undefined) checkCount('pageSize.max', pageSize.max);
  }
  const wrong = wrongKind(paging, { params: 'a list', fields: 'a list?', request: 'a function', next: 'a function' });
  if (wrong) throw fault(`paging.${wrong.option}`, wrong.what);
  const places = listPlaces(definition);
  const names = [
    ...places.params,
    ...Object.entries(typeof query === 'object' ? query : {}).flatMap(([param, value]) =>
      hasSlot('The definition of a listing', paging, value) ? [] : [param],
    ),
  ];
  const headers = [
    ...places.headers,
    ...(typeof definition.headers === 'object' ? Object.keys(definition.headers) : []),
  ].map((header) => header.toLowerCase());
  const headerTwice = firstRepeated(headers);
  if (headerTwice !== undefined) throw fault('headers', `${JSON.stringify(headerTwice)} is set twice`);
  const { fields } = places;
  if (!['GET', 'POST'].includes(method)) throw fault('method', 'it must be GET or POST');
  if (definition.parse !== undefined && definition.format !== undefined)
    throw fault('parse', 'it excludes format: give one of the two');
  if (!['json', 'jsonLines'].includes(format)) throw fault('format', 'it must be json or jsonLines');
  if (!['json', 'form'].includes(bodyType)) throw fault('bodyType', 'it must be json or form');
  const nested = bodyType === 'form' ? fields.find((field) => parseSteps(field).length > 1) : undefined;
  if (nested !== undefined) throw fault('bodyType', `a form has fields, and no place like ${nested}`);
  if (method === 'GET' && bodyType === 'form') throw fault('bodyType', "a GET request has no body: set method: 'POST'");
  if (method === 'GET' && body !== undefined) throw fault('body', "a GET request has none: set method: 'POST'");
  if (method === 'GET' && fields.length > 0)
    throw fault(pageSize?.into === undefined ? 'paging' : 'pageSize', "it is sent in the body: set method: 'POST'");
  if (paging.needsPageSize && pageSize?.max === undefined)
    throw fault('pageSize', 'its paging needs it, with the max of the API: of more, a server sends only as many');
  if (until !== undefined && kindOfPaging(paging) === 'one-page')
    throw fault('until', 'onePage() ends after its page: leave until out');
  checkUntil(definition, fault);
  const twice = firstRepeated(names);
  const filledTwice = firstRepeated(fields);
  if (filledTwice !== undefined) throw fault('body', `${filledTwice} is set twice`);
  if (names.includes('')) throw fault('query', 'a parameter has no name');
  if (twice !== undefined) throw fault('query', `the parameter ${JSON.stringify(twice)} is set twice`);
  const column = firstRepeated(columns);
  if (columns.some((name) => typeof name !== 'string')) throw fault('columns', 'each must be text');
  if (columns.length === 0) throw fault('columns', 'there are none: a table would be empty');
  if (column !== undefined) throw fault('columns', `${JSON.stringify(column)} is there twice`);
  checkKey(definition.key, fault);
  checkTypes('The definition of a listing', definition);
  checkResponses('The definition of a listing', responses);
  if (schema && decode) throw fault('schema', 'it excludes decode: give one of the two');
  checkPartitionTable(partitions, fault);
  const rowCode = { 'the schema': schema, decode, parse: definition.parse, fields: madeFields, 'the filter': filter };
  const [code] = Object.entries(rowCode).find(([, made]) => made !== undefined) ?? [];
  if (code !== undefined && !version)
    throw fault(
      'version',
      `give one, e.g. '1', and change it when ${code} changes: otherwise an export could resume with rows of another kind`,
    );
  for (const [option, standard] of Object.entries({ schema, params }))
    if (standard && !isStandard(standard)) throw fault(option, notStandard);
  if (definition.each) checkEach(definition, fault);
  if (params && !takesParams(definition) && listNames(definition).length === 0)
    throw fault('params', 'they are not used: write {name} into path, query, body or headers, or give a function');
}

function firstRepeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}

function fault(option: string, what: string): ConfigError {
  return new ConfigError(`The definition of a listing is invalid at ${option}: ${what}.`, { option });
}
