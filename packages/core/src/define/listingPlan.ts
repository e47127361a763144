import { checkCount } from '../checks.js';
import { ConfigError } from '../errors.js';
import type { RequestDetails } from '../http/requestDetails.js';
import type { Json } from '../json.js';
import { hashOf, hashOfJson } from '../rows/source/fingerprint.js';
import { SeenTexts } from '../rows/source/seenTexts.js';
import { isRecord } from '../values.js';
import type { PageAddress } from './pages/paging.js';
import { type PartitionRequest, requestMaker } from './requests/partitionRequest.js';
import { parsePlace } from './requests/requestPlace.js';
import { choosePageSize, type RequestSpec } from './requests/requestSpec.js';

/** The requests of a listing. It keeps a thousand and makes others again when needed: there may be a million. */
export interface ListingPlan {
  readonly partitions: number;
  readonly offset: number;
  readonly pageSize: number | undefined;
  /** All that determines the rows and their paging, by name; parts that differ between partitions as a hash. */
  readonly requested: Readonly<Record<string, Json>>;
  /** All that determines the rows only. */
  readonly requestedRows: Readonly<Record<string, Json>>;
  request(partition: number): PlannedRequest;
}

interface PlannedRequest {
  /** Properties of the requests of a partition, besides their addresses and bodies. */
  readonly details: Pick<RequestDetails, 'method' | 'headers' | 'bodyType'>;
  /** Fields that each row of a partition gets. */
  readonly fields: object | undefined;
  /** The request for a partition's first page of at least this many rows. */
  readonly first: (atLeast: number) => PageAddress;
}

interface PlanOf<Params> {
  readonly name: string;
  readonly baseUrl: string;
  readonly params: Params;
  /** The values of each partition; `undefined` if the listing is one partition. */
  readonly values: readonly object[] | undefined;
  readonly pageSize: number | undefined;
}

/** Checks all requests. @throws ConfigError if one cannot be sent, or two partitions have the same one. */
export function listingPlan<Params extends object, Values>(
  spec: RequestSpec<Params, Values>,
  { name, baseUrl, params, values, pageSize }: PlanOf<Params>,
): ListingPlan {
  const { method = 'GET', bodyType = 'json' } = spec;
  const size = choosePageSize(name, spec.pageSize, pageSize);
  const sized = spec.pageSize && parsePlace(spec.pageSize);
  const partitions = values?.length ?? 1;
  const makeRequest = requestMaker(spec, { name, baseUrl });
  const latest = new Map<number, PartitionRequest>();
  const requestOf = (partition: number): PartitionRequest => {
    const known = latest.get(partition);
    if (known) return known;
    const request = makeRequest({ ...params, ...values?.[partition] });
    const [oldest] = latest.keys();
    if (oldest !== undefined && latest.size === maxKept) latest.delete(oldest);
    latest.set(partition, request);
    return request;
  };
  const parts = new RequestParts();
  const paths = new Set<string>();
  const sent = new SeenTexts(Infinity);
  for (let partition = 0; partition < partitions; partition += 1) {
    const request = requestOf(partition);
    const text = requestText(request);
    if (sent.has(text) && findText(text, partition, requestOf))
      throw new ConfigError(
        `${name} would send the same request for several partitions, so rows would come twice. Make its path, query or body of the partitions' values, e.g. {${Object.keys(values?.[0] ?? {}).join('}, {')}}.`,
      );
    sent.add(text);
    parts.add(request);
    if (spec.rowsIdentity) paths.add(request.path);
  }
  const offset = spec.offset?.(params) ?? 0;
  checkCount('offset', offset, { min: 0 });
  const requested = {
    ...parts.shared,
    method,
    ...(bodyType !== 'json' && { bodyType }),
    partitions: values ? parts.hashOfOthers : null,
  };
  return {
    partitions,
    offset,
    pageSize: size,
    requested: { baseUrl, ...requested, pageSize: size ?? null, paging: spec.paging.identity, offset },
    requestedRows: {
      baseUrl,
      ...(spec.rowsIdentity ? { paths: [...paths], rows: hashOf(spec.rowsIdentity(params)) } : requested),
      offset,
    },
    request(partition) {
      const { path, query, headers, body, fields } = requestOf(partition);
      const empty: PageAddress = { path, query: {}, ...(body !== undefined && { body }) };
      return {
        details: {
          ...(method !== 'GET' && { method }),
          ...(Object.keys(headers).length > 0 && { headers }),
          ...(bodyType !== 'json' && { bodyType }),
        },
        fields: isRecord(fields) ? fields : undefined,
        first(atLeast) {
          const first = sized && size !== undefined ? sized.put(empty, Math.max(size, atLeast)) : empty;
          return { ...first, query: { ...first.query, ...query } };
        },
      };
    },
  };
}

/** How many requests a plan keeps: the latest ones, which the next pages of their partitions need. */
const maxKept = 1_000;

function requestText({ path, query, headers, body }: PartitionRequest): string {
  return JSON.stringify({ path, query, headers, body });
}

/** Whether a partition before `end` has the same request. An equal hash is no proof: two requests may share it. */
function findText(text: string, end: number, requestOf: (partition: number) => PartitionRequest): boolean {
  for (let partition = 0; partition < end; partition += 1) if (requestText(requestOf(partition)) === text) return true;
  return false;
}

/** A part of requests, e.g. a parameter of the query. */
interface RequestPart {
  readonly value: Json;
  readonly text: string;
  /** How many requests have this value, from the first one on, and a hash of the other requests' values. */
  alike: number;
  others: string;
}

/** The parts that all requests of a plan have in common, and a hash of the parts that differ. */
class RequestParts {
  readonly #parts = new Map<string, RequestPart>();
  #requests = 0;

  add({ path, headers, body, fields, query }: PartitionRequest): void {
    this.#add('path', path);
    this.#add('headers', headers);
    if (body !== undefined) this.#add('body', body);
    if (fields !== undefined) this.#add('fields', fields);
    for (const [param, value] of Object.entries(query)) this.#add(`query.${param}`, value);
    this.#requests += 1;
  }

  get shared(): Readonly<Record<string, Json>> {
    const shared = [...this.#parts].filter(([, { alike }]) => alike === this.#requests);
    return Object.fromEntries(shared.map(([name, { value }]) => [name, value]));
  }

  get hashOfOthers(): string {
    const others = [...this.#parts].filter(([, { alike }]) => alike < this.#requests);
    return hashOf([this.#requests, others.map(([name, part]) => [name, part.text, part.alike, part.others])]);
  }

  #add(name: string, value: Json): void {
    const text = JSON.stringify(value);
    const part = this.#parts.get(name) ?? { value, text, alike: 0, others: '' };
    this.#parts.set(name, part);
    if (part.alike === this.#requests && part.text === text) part.alike += 1;
    else part.others = hashOfJson(`${part.others} ${this.#requests} ${text}`);
  }
}
