import { isRecord } from '@sluice/core/kit';
import { Failure } from '../../errors/errors.js';
import { type Field, joinPath } from './documentFields.js';
import { type ApiDraft, code, type Code, type Guess, type ListingDraft } from './draft.js';
import { guessPageSize, nameListing } from './fromExample.js';
import { guessPaging, type Param } from './guessPaging.js';
import { guessTotal, rankKey } from './guessRows.js';
import { quoteText } from './quoteText.js';

type Fields = Readonly<Record<string, unknown>>;

/** Whether a document is a description by OpenAPI 3 or Swagger 2. */
export function isOpenApi(document: unknown): document is Fields {
  return isRecord(document) && (typeof document['openapi'] === 'string' || document['swagger'] === '2.0');
}

/**
 * Makes a draft of an OpenAPI description: a listing for each GET whose response has a list of objects.
 *
 * @param from the address of the description, to which that of its server may be relative; absent for a file
 * @param nameVariable names the environment variable of a secret, e.g. for `TOKEN`
 * @throws Failure if there is no such GET.
 * @see https://spec.openapis.org/oas/v3.1.0
 */
export function draftFromOpenApi(
  document: Fields,
  from: URL | undefined,
  nameVariable: (secret: string) => string,
): ApiDraft {
  const names = new Set<string>();
  const listings = Object.entries(objectAt(document, 'paths')).flatMap(([path, item]): ListingDraft[] => {
    const listing = isRecord(item) ? draftListing(document, path, item) : undefined;
    if (!listing) return [];
    const name = findFreeName(listing.name, path, names);
    names.add(name);
    return [{ ...listing, name }];
  });
  if (listings.length === 0)
    throw new Failure('The OpenAPI description has no GET whose response is a list of objects.');
  return { baseUrl: findBaseUrl(document, from), auth: findAuth(document, nameVariable), listings };
}

function draftListing(document: Fields, path: string, item: Fields): ListingDraft | undefined {
  const get = objectAt(item, 'get');
  const schema = findResponseSchema(document, get);
  const found = schema && findList(document, schema, path);
  if (!found) return undefined;
  const query = [...listAt(item, 'parameters'), ...listAt(get, 'parameters')]
    .map((each) => resolve(document, each))
    .filter((each) => typeof each['name'] === 'string' && each['in'] === 'query');
  const params = query.map((each) => describeParam(document, each));
  const columns = Object.keys(found.row);
  const key = columns.filter((name) => rankKey(name) < 3).sort((a, b) => rankKey(a) - rankKey(b))[0];
  const paging = guessPaging({ params, fields: found.fields, headers: {}, key });
  const pageSize = guessPageSize(params);
  const set = [paging.param, pageSize?.value.param];
  const needed = query.flatMap(({ name, required }) => (required === true ? [String(name)] : []));
  const description = (textAt(get, 'summary') ?? textAt(get, 'description'))?.split('\n')[0];
  return {
    name: nameListing(path.replace(/\{[^}]*\}/g, '')),
    description,
    path: path.replace(/\{([^}]*)\}/g, (_, name: string) => `{${name.replace(/\W/g, '_')}}`),
    needed: needed.filter((name) => !set.includes(name)),
    query: {},
    pageSize,
    paging,
    rows: { value: found.path },
    total: guessTotal(found.fields, 0),
    columns,
    types: Object.fromEntries(
      Object.entries(found.row).flatMap(([name, field]): [string, string][] => {
        const type = nameType(resolve(document, field));
        return type === 'text' ? [] : [[name, type]];
      }),
    ),
    key: key === undefined ? undefined : { value: key, why: 'by its name' },
  };
}

/** A path may have a listing of the same name as another: then more of the path is in its name. */
function findFreeName(name: string, path: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const whole = nameListing(
    `/${path
      .replace(/[^a-z0-9]+/gi, ' ')
      .trim()
      .replaceAll(' ', '-')}`,
  );
  if (!taken.has(whole)) return whole;
  for (let nth = 2; ; nth += 1) if (!taken.has(`${name}${nth}`)) return `${name}${nth}`;
}

/** The address of OpenAPI's first server, or that of Swagger, without credentials. */
function findBaseUrl(document: Fields, from: URL | undefined): Guess<string> {
  const [server] = listAt(document, 'servers');
  const given = isRecord(server) ? textAt(server, 'url') : undefined;
  const variables = isRecord(server) ? objectAt(server, 'variables') : {};
  const filled = given?.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const known = objectAt(variables, name)['default'];
    return typeof known === 'string' ? known : whole;
  });
  const host = textAt(document, 'host') ?? from?.host;
  const ofSwagger = host === undefined ? '' : `https://${host}${textAt(document, 'basePath') ?? '/'}`;
  const address = filled ?? ofSwagger;
  if (!URL.canParse(address, from?.href))
    return { value: 'https://api.example.com/', why: 'the description does not say where the API is' };
  const { origin, pathname } = new URL(address, from?.href);
  return { value: origin + pathname };
}

/** The first way to authenticate that a definition can say. */
function findAuth(document: Fields, nameVariable: (secret: string) => string): Guess<Code> | undefined {
  const schemes = Object.values({
    ...objectAt(objectAt(document, 'components'), 'securitySchemes'),
    ...objectAt(document, 'securityDefinitions'),
  }).map((each) => resolve(document, each));
  const codes = schemes.flatMap((scheme): Code[] => {
    const { type, name } = scheme;
    const secret = (of: string): string => `{ env: ${quoteText(nameVariable(of))} }`;
    const how = type === 'basic' ? 'basic' : (textAt(scheme, 'scheme')?.toLowerCase() ?? type);
    if (how === 'basic') return [code('basic', `{ user: ${secret('USER')}, password: '' }`)];
    if (how === 'bearer' || how === 'oauth2') return [code('bearer', secret('TOKEN'))];
    if (how !== 'apiKey' || typeof name !== 'string') return [];
    if (scheme['in'] === 'header') return [code('header', `${quoteText(name)}, ${secret('KEY')}`)];
    return scheme['in'] === 'query' ? [code('queryKey', `${quoteText(name)}, ${secret('KEY')}`)] : [];
  });
  const [first, ...others] = codes;
  return first && { value: first, why: others.length > 0 ? 'the API also accepts other credentials' : undefined };
}

function findResponseSchema(document: Fields, get: Fields): Fields | undefined {
  const responses = Object.entries(objectAt(get, 'responses')).filter(([status]) =>
    /^2(\d\d|XX)$|^default$/.test(status),
  );
  for (const [, each] of responses.sort(([a], [b]) => a.localeCompare(b))) {
    const response = resolve(document, each);
    const media = Object.entries(objectAt(response, 'content')).find(([type]) => /json|^\*\/\*/.test(type))?.[1];
    const schema = isRecord(media) ? media['schema'] : response['schema'];
    if (schema !== undefined) return resolve(document, schema);
  }
  return undefined;
}

interface FoundList {
  readonly path: string;
  /** The schemas of a row's fields. */
  readonly row: Fields;
  /** The fields of the document besides its lists. */
  readonly fields: readonly Field[];
}

const deepest = 3;

/** The list of objects in a document of this schema: the one that is named like its listing, or the first. */
function findList(document: Fields, schema: Fields, path: string): FoundList | undefined {
  const lists: Omit<FoundList, 'fields'>[] = [];
  const fields: Field[] = [];
  let level = [{ name: '', path: '', schema }];
  for (let depth = 0; depth <= deepest; depth += 1) {
    for (const { name, path, schema } of level) {
      const type = nameType(schema);
      const row = objectAt(resolve(document, schema['items']), 'properties');
      if (schema['items'] !== undefined && Object.keys(row).length > 0) lists.push({ path, row });
      else if (type !== 'json') fields.push({ name, path, value: exampleOf(schema), kind: kinds[type] ?? 'unknown' });
    }
    level = level.flatMap(({ path, schema }) =>
      Object.entries(objectAt(schema, 'properties')).map(([name, each]) => ({
        name,
        path: joinPath(path, name),
        schema: resolve(document, each),
      })),
    );
  }
  const named = lists.find(({ path: at }) => /(^|\.)(items|data|results|records|values|entries)$/.test(at));
  const alike = lists.find(({ path: at }) => at !== '' && path.toLowerCase().endsWith(`/${at.toLowerCase()}`));
  const list = lists.find(({ path: at }) => at === '') ?? alike ?? named ?? lists[0];
  return list && { ...list, fields };
}

/** What says that a text is an address, as that of a next page. */
function exampleOf({ example, format }: Fields): unknown {
  return example ?? (format === 'uri' ? 'https://api.example.com/' : undefined);
}

const kinds: Readonly<Record<string, Field['kind']>> = {
  text: 'text',
  timestamp: 'text',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

function describeParam(document: Fields, param: Fields): Param {
  const schema = isRecord(param['schema']) ? resolve(document, param['schema']) : param;
  const { default: value, maximum } = schema;
  return {
    name: String(param['name']),
    value: typeof value === 'string' || typeof value === 'number' ? String(value) : undefined,
    max: typeof maximum === 'number' && Number.isSafeInteger(maximum) && maximum > 0 ? maximum : undefined,
  };
}

function nameType(schema: Fields): string {
  const { type, format } = schema;
  // OpenAPI 3.1 has a list of types for what may be null.
  const name = [type].flat().find((each) => each !== 'null');
  if (name === 'string') return format === 'date-time' ? 'timestamp' : 'text';
  if (name === 'integer' || name === 'number' || name === 'boolean') return name;
  return name === 'object' || name === 'array' || isRecord(schema['properties']) ? 'json' : 'text';
}

/** A schema, a parameter or a response in place of a reference to it. `allOf` is merged, of others the first counts. */
function resolve(document: Fields, value: unknown, within: readonly Fields[] = []): Fields {
  // A schema may be a part of itself.
  if (!isRecord(value) || within.includes(value)) return {};
  const outer = [...within, value];
  const reference = textAt(value, '$ref');
  if (reference !== undefined) return resolve(document, followReference(document, reference), outer);
  const all = listAt(value, 'allOf').map((each) => resolve(document, each, outer));
  const [any] = [...listAt(value, 'oneOf'), ...listAt(value, 'anyOf')];
  const parts = [...all, ...(any === undefined ? [] : [resolve(document, any, outer)])];
  if (parts.length === 0) return value;
  const properties = merge([...parts, value].map((each) => objectAt(each, 'properties')));
  return { ...merge([...parts, value]), allOf: undefined, oneOf: undefined, anyOf: undefined, properties };
}

function merge(all: readonly Fields[]): Fields {
  return Object.fromEntries(all.flatMap((each) => Object.entries(each)));
}

/** What a reference inside of the document points to (RFC 6901); `undefined` if it points elsewhere. */
function followReference(document: Fields, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const name = decodePart(part).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}

/** Some descriptions have names with a `%` as they are. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function objectAt(value: unknown, name: string): Fields {
  const found = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isRecord(found) ? found : {};
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const found = isRecord(value) ? value[name] : undefined;
  return Array.isArray(found) ? found : [];
}

function textAt(value: Fields, name: string): string | undefined {
  const found = value[name];
  return typeof found === 'string' ? found : undefined;
}
