import { checkCount, type OptionKind } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import type { Query } from '../../http/query.js';
import type { BodyType } from '../../http/requestDetails.js';
import type { Json } from '../../json.js';
import type { Paging } from '../pages/paging.js';
import { joinPlaces, parsePlace, type Places, type RequestPlace } from './requestPlace.js';

/** Page size of a listing, in rows, and its place in a request, e.g. `param: 'limit'` or `into: 'variables.first'`. */
export type PageSize = RequestPlace & {
  /** Default rows per page. */
  readonly default: number;
  /** The API's maximum. Default: none. */
  readonly max?: number;
};

/** Headers by name. */
export type HeaderFields = Readonly<Record<string, string>>;

/** The requests of a listing: everything that determines its rows. */
export interface RequestSpec<Params, Values = object> {
  /**
   * The path below the base URL, with a leading slash: a template of RFC 6570, e.g. `/repos/{owner}/{repo}/issues`.
   * `{x}` encodes the parameter `x`, `{+x}` keeps the slashes in it.
   */
  readonly path: string;
  /**
   * The query of every request. A text that is only `{x}`, here and in `headers` and `body`, stands for the parameter
   * `x`, and is left out if the parameter has no value. Default: none.
   */
  readonly query?: Query | ((params: Params & NoInfer<Values>) => Query);
  /** Default `GET`. A listing only reads, so a `POST` is retried like a `GET`. */
  readonly method?: 'GET' | 'POST';
  /**
   * The body of every request, which is sent as JSON, with `method: 'POST'`. Default: none. Functions, here and in
   * `query` and `headers`, are called once per partition before the walk, and with more than a thousand partitions
   * again when the partition begins: equal parameters must give equal results. Leave optional fields out: a body
   * can't have `undefined`.
   */
  readonly body?: Json | ((params: Params & NoInfer<Values>) => Json);
  /**
   * How a body is encoded: `json` (the default), or `form` (application/x-www-form-urlencoded): an object of texts,
   * numbers, booleans and lists of them, encoded like a query.
   */
  readonly bodyType?: BodyType;
  /** Headers of every request. Not for secrets: links and hooks see them. Default: none. */
  readonly headers?: HeaderFields | ((params: Params & NoInfer<Values>) => HeaderFields);
  /**
   * `false` if each page can be requested only once, e.g. because a response consumes its scroll id. Then a request for
   * a later page is not retried once it was sent: an export with state walks the partition again from its beginning,
   * also when it resumes. Default `true`.
   */
  readonly isRepeatable?: boolean;
  /**
   * The partitions of the plan, `concurrency` of them walked in parallel: values of parameters, which templates and
   * functions get like given parameters. A table such as `{ region: ['eu', 'us'] }` stands for all combinations, the
   * first name varying slowest; a function makes the values from the parameters. It is called once per source, or once
   * per parent with `each`; `warn` reports a warning to observers of the client. It is an error if a name is also
   * given, or two partitions would make the same request. Default: one partition.
   */
  readonly partitions?:
    PartitionTable<Values> | ((params: Params, warn: (message: string) => void) => readonly Values[]);
  /**
   * Returns parameters of `partitions` for a walk with a concurrency, e.g. how many ids a request has, so that there
   * are enough partitions; at 1, the defaults of `partitions`. `rate`: requests per second that the API's limits allow,
   * `Infinity` without any. Exports, polls and watches use these where no parameter is given. An export stores them, so
   * it resumes with the same partitions at any concurrency. Default: there is one plan.
   */
  readonly fit?: (params: Params, concurrency: number, rate: number) => Readonly<Record<string, Json>>;
  /**
   * Fields that each row gets before `schema` or `decode` sees it: a text `{x}` stands for the parameter `x`, including
   * the values of the partition and the parent. A function needs a `version`. Default: none.
   */
  readonly fields?:
    Readonly<Record<string, Json>> | ((params: Params & NoInfer<Values>) => Readonly<Record<string, Json>>);
  /** The row at which each partition starts. Default 0. */
  readonly offset?: (params: Params) => number;
  /**
   * Determines the rows of a watch's state instead of `query` and `partitions`, e.g. if the order of groups does not
   * matter: the state then stays valid when these change.
   */
  readonly rowsIdentity?: (params: Params) => Json;
  readonly pageSize?: PageSize;
  readonly paging: Paging;
}

/** The values of each parameter. */
export type PartitionTable<Values> = { readonly [Name in keyof Values]: readonly Values[Name][] };

/** The kinds of these options. */
export const requestSpecKinds = {
  path: 'text',
  query: 'an object or a function?',
  method: 'text?',
  body: 'anything?',
  bodyType: 'text?',
  headers: 'an object or a function?',
  isRepeatable: 'a boolean?',
  partitions: 'an object or a function?',
  fit: 'a function?',
  fields: 'an object or a function?',
  offset: 'a function?',
  rowsIdentity: 'a function?',
  pageSize: 'an object?',
  paging: 'an object',
} as const satisfies Readonly<Record<keyof RequestSpec<never>, OptionKind>>;

/** The page size that a walk requests. @throws ConfigError if the API does not allow it. */
export function choosePageSize(
  name: string,
  known: PageSize | undefined,
  wanted: number | undefined,
): number | undefined {
  if (!known) {
    if (wanted === undefined) return undefined;
    throw new ConfigError(
      (option = 'pageSize') => `${option} can't be set for ${name}: its API decides how many rows a page has.`,
      { option: 'pageSize' },
    );
  }
  const size = wanted ?? known.default;
  checkCount('pageSize', size, known.max === undefined ? {} : { max: known.max });
  return size;
}

/** The places that page size and paging set, so that a definition must not set them itself. */
export function listPlaces({ pageSize, paging }: Pick<RequestSpec<never>, 'pageSize' | 'paging'>): Places {
  return joinPlaces([pageSize && parsePlace(pageSize).sets, paging]);
}
