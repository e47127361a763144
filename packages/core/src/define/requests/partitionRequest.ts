import { ConfigError } from '../../errors.js';
import type { Query } from '../../http/query.js';
import { formFields, ownHeaders } from '../../http/requestDetails.js';
import { isHeader } from '../../http/headers.js';
import { definedJson, ExactNumber, frozenJson, type Json } from '../../json.js';
import { kindOf } from '../../values.js';
import { checkFree } from './requestPlace.js';
import { type HeaderFields, listPlaces, type RequestSpec } from './requestSpec.js';
import { hasSlot } from '../since/sinceSlot.js';
import { withParams } from './requiredParams.js';
import { fillFields, fillPath, fillValues, listPathNames } from './template.js';

/** The request of one partition, without its page, and the fields of its rows. */
export interface PartitionRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, SentValue>>;
  readonly headers: HeaderFields;
  readonly body: Json | undefined;
  readonly fields: Json | undefined;
}

/** Makes the requests of a listing from parameters. @throws ConfigError, later, if a request can't be sent. */
export function requestMaker<Params, Values>(
  spec: RequestSpec<Params, Values>,
  given: { readonly name: string; readonly baseUrl: string },
): (params: object) => PartitionRequest {
  const { name } = given;
  const places = listPlaces(spec);
  const fixedPath = listPathNames(spec.path).length === 0 ? fillPath(spec.path, {}, given) : undefined;
  return (params) => {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the values are those that its functions take
    const all = params as Params & Values;
    const query = evaluate<Params & Values, Query>(spec.query ?? {}, all, { name, what: 'query' });
    const headers = evaluate<Params & Values, HeaderFields>(spec.headers ?? {}, all, { name, what: 'headers' });
    return {
      path: fixedPath ?? fillPath(spec.path, params, given),
      query: copyQuery(
        name,
        query,
        (param, value) => places.params.includes(param) && !hasSlot(name, spec.paging, value),
      ),
      headers: copyHeaders(name, headers, places.headers),
      body: makeBody(spec, all, name, places.fields),
      fields: makeFields(spec, all, name),
    };
  };
}

function evaluate<Params, Given extends Query | HeaderFields>(
  given: Given | ((params: Params) => Given),
  params: Params,
  making: { readonly name: string; readonly what: 'query' | 'headers' },
): Readonly<Record<string, unknown>> {
  return isMaker(given) ? withParams(given, params, making) : fillFields(given, params, making);
}

function isMaker<Params, Given>(given: Given | ((params: Params) => Given)): given is (params: Params) => Given {
  return typeof given === 'function';
}

function makeBody<Params, Values>(
  { body, bodyType, paging }: RequestSpec<Params, Values>,
  params: Params & Values,
  name: string,
  placed: readonly string[],
): Json | undefined {
  if (body === undefined) return undefined;
  const making = { name, what: 'body' } as const;
  const given = typeof body === 'function' ? withParams(body, params, making) : fillValues(body, params, making);
  const made = frozenJson(given, `The body of ${name}`);
  if (bodyType === 'form') formFields(made, `The body of ${name}`);
  for (const path of placed) checkFree(name, made, path, (value) => hasSlot(name, paging, value));
  return made;
}

function makeFields<Params, Values>(
  { fields }: RequestSpec<Params, Values>,
  params: Params & Values,
  name: string,
): Json | undefined {
  if (fields === undefined) return undefined;
  const made = typeof fields === 'function' ? fields(params) : fillFields(fields, params, { name, what: 'fields' });
  const place = `The fields of ${name}`;
  // In rows, exact numbers are texts.
  return frozenJson(JSON.parse(JSON.stringify(definedJson(made, place))), place);
}

/** Copies headers. @throws ConfigError if a header can't be sent. */
function copyHeaders(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  placed: readonly string[],
): HeaderFields {
  const sent: [string, string][] = [];
  for (const [header, given] of Object.entries(headers)) {
    const value = given instanceof ExactNumber ? given.text : typeof given === 'number' ? String(given) : given;
    if (typeof value !== 'string' || !isHeader(header, value) || ownHeaders.test(header))
      throw new ConfigError(
        `${name} can't send the header ${JSON.stringify(header)}. Check its name and its value, which must be text in Latin-1 without line breaks.`,
        { header },
      );
    if (placed.includes(header.toLowerCase()))
      throw new ConfigError(`${name} sets the header ${JSON.stringify(header)} twice.`, { header });
    sent.push([header, value]);
  }
  return Object.fromEntries(sent);
}

type SentValue = string | number | boolean | readonly string[];

/** Copies a query, so that nobody can modify it. @throws ConfigError if it cannot be sent as intended. */
function copyQuery(
  name: string,
  query: Readonly<Record<string, unknown>>,
  isReserved: (param: string, value: unknown) => boolean,
): Readonly<Record<string, SentValue>> {
  const sent: [string, SentValue][] = [];
  for (const [param, given] of Object.entries(query)) {
    const value = given instanceof ExactNumber ? given.text : given;
    if (isReserved(param, value))
      throw new ConfigError(`${name} sets the query parameter ${JSON.stringify(param)} twice.`, { param });
    if (value === undefined) continue;
    if (!isSendable(value))
      throw new ConfigError(
        `${name} can't send ${JSON.stringify(param)} in its query, which is ${kindOf(value)}. Give text, a finite number, a boolean or a list of texts.`,
        { param },
      );
    sent.push([param, typeof value === 'object' ? [...value] : value]);
  }
  return Object.fromEntries(sent);
}

/** Other types would be sent as `null`, `NaN` or `[object Object]`. */
function isSendable(value: unknown): value is SentValue {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}
