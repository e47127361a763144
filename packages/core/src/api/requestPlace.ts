import { ConfigError } from '../errors.js';
import { ExactNumber, type Json } from '../json.js';
import { isList, isRecord, kindOf } from '../values.js';
import { parseSteps, type PathStep } from './documentPath.js';
import type { PageAddress } from './paging.js';

/** Where a request has a value: in a query parameter, or in its body. */
export type RequestPlace =
  | {
      /** A query parameter, e.g. `cursor`. */
      readonly param: string;
      readonly into?: undefined;
    }
  | {
      /** A path in the body, e.g. `variables.after`. Objects and lists on the way are made. */
      readonly into: string;
      readonly param?: undefined;
    };

/** A {@link RequestPlace} ready to use. */
export interface Placing {
  readonly identity: Readonly<Record<string, string>>;
  /** What it sets, for {@link Paging}. */
  readonly params: readonly string[];
  readonly fields: readonly string[];
  /** A copy of the request with the value. */
  readonly put: (request: PageAddress, value: string | number | boolean | ExactNumber) => PageAddress;
}

/** @throws ConfigError if the path is invalid, or `param` and `into` are not one of the two. */
export function parsePlace(place: RequestPlace): Placing {
  const { param, into }: { readonly param?: string | undefined; readonly into?: string | undefined } = place;
  if (param !== undefined && into === undefined)
    return {
      identity: { param },
      params: [param],
      fields: [],
      put: (request, value) => ({
        ...request,
        query: { ...request.query, [param]: value instanceof ExactNumber ? value.text : value },
      }),
    };
  if (param !== undefined || into === undefined)
    throw new ConfigError(
      'A value is sent either in a query parameter (param) or in the body (into): give one of them.',
    );
  const steps = parseSteps(into);
  if (steps.length === 0 || steps.some(({ mayBeMissing }) => mayBeMissing))
    throw new ConfigError(
      `${JSON.stringify(into)} is not a place in a body. Write a path without ?, e.g. variables.after.`,
    );
  return {
    identity: { into },
    params: [],
    fields: [steps.at(-1)?.text ?? into],
    put: (request, value) => ({ ...request, body: withValue(request.body, steps, value) }),
  };
}

/** @throws ConfigError unless a value can be put at `path` without replacing one. `null` is a placeholder. */
export function checkFree(name: string, body: Json | undefined, path: string): void {
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
  if (value !== undefined && value !== null)
    throw new ConfigError(`${name} sets ${path} in its body twice. Leave it out, or give null.`, { path });
}

/** Copies only what is on the way: the rest of a frozen body can be shared. */
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
