import { ConfigError } from '../../errors.js';
import { ExactNumber, type Json } from '../../json.js';
import { ownHeaders } from '../../http/requestDetails.js';
import { isHeader } from '../../http/headers.js';
import { isList, isRecord, kindOf, shownText } from '../../values.js';
import { parseSteps, type PathStep } from '../responses/documentPath.js';
import type { PageAddress, Paging } from '../pages/paging.js';

/** Where a request has a value: in a query parameter, in its body, or in a header. */
export type RequestPlace = QueryPlace | BodyPlace | HeaderPlace;

export interface QueryPlace {
  /** A query parameter, e.g. `cursor`. */
  readonly param: string;
  readonly into?: undefined;
  readonly header?: undefined;
}

export interface BodyPlace {
  /** A path in the body, e.g. `variables.after`. Missing objects and lists of the path are created. */
  readonly into: string;
  readonly param?: undefined;
  readonly header?: undefined;
}

export interface HeaderPlace {
  /** A header, e.g. `x-page`. Not a header of the credentials, the connection, the format or its encoding. */
  readonly header: string;
  readonly param?: undefined;
  readonly into?: undefined;
}

export interface NoPlace {
  readonly param?: undefined;
  readonly into?: undefined;
  readonly header?: undefined;
}

/** The names of parameters, body fields and headers that are set in a request, so that nothing else sets them. */
export type Places = Required<Pick<Paging, 'params' | 'fields' | 'headers'>>;

export function joinPlaces(all: readonly (Partial<Places> | undefined)[]): Places {
  return {
    params: all.flatMap((each) => each?.params ?? []),
    fields: all.flatMap((each) => each?.fields ?? []),
    headers: all.flatMap((each) => each?.headers ?? []),
  };
}

/** A {@link RequestPlace} ready to use. */
export interface Placing {
  readonly identity: Readonly<Record<string, string>>;
  readonly sets: Places;
  /** The value that a definition's request has in this place. Default: none. */
  readonly find?: (request: PageAddress) => Json | undefined;
  /** Returns a copy of the request with the value. @throws ConfigError if a header can't have the value. */
  readonly put: (request: PageAddress, value: PlacedValue) => PageAddress;
}

interface PlaceOptions {
  readonly param?: string | undefined;
  readonly into?: string | undefined;
  readonly header?: string | undefined;
}

type PlacedValue = string | number | boolean | ExactNumber;

/** The kinds of the options of a place. */
export const placeKinds = { param: 'text?', into: 'text?', header: 'text?' } as const;

/** @throws ConfigError if the place is invalid, or there is not exactly one. */
export function parsePlace({ param, into, header }: PlaceOptions): Placing {
  const [place, ...more] = [
    param === undefined ? undefined : queryPlacing(param),
    into === undefined ? undefined : bodyPlacing(into),
    header === undefined ? undefined : headerPlacing(header),
  ].filter((each) => each !== undefined);
  if (place && more.length === 0) return place;
  throw new ConfigError(
    'A value is sent in a query parameter (param), in the body (into) or in a header (header): give one of them.',
  );
}

const none = { params: [], fields: [], headers: [] } as const;

function queryPlacing(param: string): Placing {
  return {
    identity: { param },
    sets: { ...none, params: [param] },
    find: ({ query }) => (typeof query[param] === 'string' ? query[param] : undefined),
    put: (request, value) => ({
      ...request,
      query: { ...request.query, [param]: value instanceof ExactNumber ? value.text : value },
    }),
  };
}

function bodyPlacing(into: string): Placing {
  const steps = parseSteps(into);
  if (steps.length === 0 || steps.some(({ mayBeMissing }) => mayBeMissing))
    throw new ConfigError(
      `${JSON.stringify(into)} is not a place in a body. Write a path without ?, e.g. variables.after.`,
    );
  return {
    identity: { into },
    sets: { ...none, fields: [steps.at(-1)?.text ?? into] },
    find: ({ body }) => steps.reduce(partOf, body),
    put: (request, value) => ({ ...request, body: withValue(request.body, steps, value) }),
  };
}

/** Headers that the credentials, the transport or stored pages set. */
const takenHeaders =
  /^(authorization|proxy-authorization|cookie|x-api-key|accept|accept-encoding|content-type|content-encoding|range|if-.*|idempotency-key)$/i;

function headerPlacing(header: string): Placing {
  if (!isHeader(header, '') || ownHeaders.test(header) || takenHeaders.test(header))
    throw new ConfigError(
      `${shownText(header)} is not a header that a listing can set: it is no name, or one that the credentials or the transport set.`,
      { header },
    );
  const name = header.toLowerCase();
  return {
    identity: { header: name },
    sets: { ...none, headers: [name] },
    put(request, value) {
      const text = value instanceof ExactNumber ? value.text : String(value);
      if (text.trim() !== text || !isHeader(name, text))
        throw new ConfigError(
          `The header ${name} can't have the value for the next page: it must be text in Latin-1 without line breaks or blanks around it.`,
          { header: name },
        );
      return { ...request, headers: { ...request.headers, [name]: text } };
    },
  };
}

/**
 * @param mayHave whether a value may stay there, because the new value is put into it
 *
 * @throws ConfigError unless a value can be put at `path` without replacing one. `null` is a placeholder.
 */
export function checkFree(name: string, body: Json | undefined, path: string, mayHave: (value: Json) => boolean): void {
  let value = body;
  for (const step of parseSteps(path)) {
    if (value === undefined || value === null) return;
    const isParent = typeof step.name === 'number' ? isList(value) : isRecord(value);
    if (!isParent)
      throw new ConfigError(
        `${name} can't set ${path} in its body: there is ${kindOf(value)} above it, and not ${typeof step.name === 'number' ? 'a list' : 'an object'}.`,
        { path },
      );
    value = partOf(value, step);
  }
  if (value !== undefined && value !== null && !mayHave(value))
    throw new ConfigError(`${name} sets ${path} in its body twice. Leave it out, or give null.`, { path });
}

/** Copies only the parts on the path. The copy shares all other parts of the frozen body. */
function withValue(document: Json | undefined, [step, ...rest]: readonly PathStep[], value: Json): Json {
  if (!step) return value;
  const part = withValue(partOf(document, step), rest, value);
  if (typeof step.name === 'string') return { ...(isFields(document) && document), [step.name]: part };
  const list: readonly Json[] = isItems(document) ? document : [];
  const length = Math.max(list.length, step.name + 1);
  return Array.from({ length }, (_, index) => (index === step.name ? part : (list[index] ?? null)));
}

function partOf(document: Json | undefined, { name }: PathStep): Json | undefined {
  if (typeof name === 'number') return isItems(document) ? document[name] : undefined;
  return isFields(document) && Object.hasOwn(document, name) ? document[name] : undefined;
}

function isItems(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isFields(value: Json | undefined): value is Readonly<Record<string, Json>> {
  return isRecord(value);
}
