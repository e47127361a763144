import { hintFor } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { isRateLimitStatus, isRetriedStatus } from '../../retriedStatuses.js';
import { isList, isRecord, kindOf, shownText } from '../../values.js';

/**
 * What a response means:
 *
 * - `ok`: it is what was requested.
 * - `end`: the listing has no more pages. Rows of a success response still count. On a first page, the walk is marked as
 *   incomplete: a listing that answers so is not known to be empty. A 401 renews the credentials first.
 * - `skip`: the listing of this parent or partition, or the whole one, ends with a warning, and the walk is marked as
 *   incomplete, so its rows stay in a watch and in a table that is replaced. A later page is skipped only if the first
 *   one, requested again, is, too; otherwise the walk fails. A 401 renews the credentials first.
 * - `retry`: the request is sent again, like after a 503.
 * - `rate-limited`: it is sent again after a pause of all requests to the API, like after a 429.
 * - `renew`: it is sent again, once, with renewed credentials, like after a 401.
 * - `expired-cursor`: the cursor was good before. An export can walk the partition again (`onExpired`).
 * - `final`: the request fails.
 * - `partial`: it is used, and the walk is marked as incomplete.
 *
 * For requests outside of listings, `end`, `skip` and `expired-cursor` are `final`.
 */
export type ResponseKind = ResponseMeaning['kind'];

/** A {@link ResponseKind} with details. */
export type ResponseMeaning =
  | {
      readonly kind: 'ok';
      /** Ms for which the API asks all requests to wait from now on. Default: none. */
      readonly pause?: number | undefined;
    }
  | {
      readonly kind: 'retry' | 'rate-limited';
      /** What the API says. The error quotes its beginning, with secrets redacted. Default: the body. */
      readonly message?: string | undefined;
      /** Ms that the API asks to wait. Default: its `Retry-After` header, or else a back-off. */
      readonly retryAfter?: number | undefined;
    }
  | {
      readonly kind: 'end' | 'skip' | 'renew' | 'expired-cursor' | 'final' | 'partial';
      readonly message?: string | undefined;
    };

/** A response of an API, before anything else is read of it. */
export interface ReceivedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The document; text if the body is none; `undefined` if it is empty. */
  readonly body: unknown;
  /** The number of the page in its listing or partition, from 1. */
  readonly page: number;
  /** Whether it answers a request for the first page. */
  readonly isFirst: boolean;
}

/**
 * What responses mean, by their status from 200 to 599, or by a field of their document, whatever their status:
 * `error.code=busy` if the field has this value, `message~too many` if it contains this text, in any case. Where the path
 * leads through a list or ends at one, any item may match: `error~limit`, `error[*]~limit` and `errors.code=busy`;
 * `errors[0].code=busy` is that of the first. In a document that is itself a list, e.g. of JSON Lines, it is a field of an
 * item that is not a row of the listing; with `[*].status=failed`, of any item. A name with a dot is quoted, `['a.b']`.
 * Entries of fields come first, in their order. The classes `4xx` and `5xx` have all statuses without an entry, except for 401, 408,
 * 425 and 429, which say nothing about a listing.
 */
export type ResponseTable = Readonly<
  Partial<Record<number | '4xx' | '5xx' | `${string}${'=' | '~'}${string}`, ResponseKind | ResponseMeaning>>
>;

/**
 * What responses mean: a table, or a function that is called for each attempt, whatever its status. Returns
 * `undefined` where the status says it all: 2xx is `ok`, 401 `renew`, 408, 425 and 5xx but 501 and 505 `retry`,
 * 429 `rate-limited`, and any other one `final`. A 410 for a page at a cursor is an `expired-cursor`. Another 4xx but 407 with
 * a `Retry-After` header is sent again up to three times. Of a listing, a 202 is `retry`, since the page is not ready yet,
 * and so is a 204 or 205 in place of a page that the one before announced. 304 and redirects are not asked about.
 *
 * @example
 * const responses: Responses = { 404: 'skip', 420: 'rate-limited', '5xx': 'retry' };
 * @example
 * // { "ok": false, "error": "ratelimited" }
 * const responses: Responses = { 'error=ratelimited': 'rate-limited', 'ok=false': 'final' };
 * @example
 * const responses: Responses = ({ headers }) =>
 *   headers['x-wait'] === undefined ? undefined : { kind: 'retry', retryAfter: Number(headers['x-wait']) };
 */
export type Responses = ResponseTable | ((response: ReceivedResponse) => ResponseKind | ResponseMeaning | undefined);

/** The fields of any meaning. */
export interface SaidMeaning {
  readonly kind: ResponseKind;
  readonly message?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly pause?: number | undefined;
}

/**
 * What a response means to those who were asked, in their order.
 *
 * @param isRow whether an item of a document that is a list is one of the rows. Default: any may be
 */
export function meaningOf(
  asked: readonly (Responses | undefined)[],
  response: ReceivedResponse,
  isRow: (item: unknown) => boolean = () => true,
): ResponseMeaning | undefined {
  for (const responses of asked) {
    const said = typeof responses === 'function' ? responses(response) : findEntry(responses, response, isRow);
    if (said !== undefined) return checkMeaning(said);
  }
  return undefined;
}

/** What a status means by itself. */
export function defaultKindOf(status: number): ResponseKind {
  if (status >= 200 && status < 300) return 'ok';
  if (status === 401) return 'renew';
  if (isRateLimitStatus(status)) return 'rate-limited';
  return isRetriedStatus(status) ? 'retry' : 'final';
}

/** @throws ConfigError if they are not what {@link Responses} must be. */
export function checkResponses(owner: string, responses: unknown): void {
  if (responses === undefined || typeof responses === 'function') return;
  const refusal = (what: string): ConfigError =>
    new ConfigError(`${owner} is invalid at responses: ${what}.`, { option: 'responses' });
  if (!isRecord(responses)) throw refusal(`it is ${kindOf(responses)}, and must be an object or a function`);
  for (const [status, said] of Object.entries(responses)) {
    if (!/^([245]\d\d|[45]xx)$/.test(status) && !readEntry(status))
      throw refusal(
        `${shownText(status)} is not a status of 200 to 299 or 400 to 599, '4xx' or '5xx', nor a field with its value, e.g. 'error.code=busy', with a text in it, 'message~too many', or of any item, 'errors[*].code=busy'`,
      );
    const wrong = findFault(withKind(said));
    if (wrong !== undefined) throw refusal(`${status}: ${wrong}`);
  }
}

function withKind(said: unknown): unknown {
  return typeof said === 'string' ? { kind: said } : said;
}

function findEntry(
  table: ResponseTable | undefined,
  { status, body }: ReceivedResponse,
  isRow: (item: unknown) => boolean,
): ResponseKind | SaidMeaning | undefined {
  const ofClass = status >= 500 ? '5xx' : defaultKindOf(status) === 'final' ? '4xx' : undefined;
  for (const [entry, said] of typeof body === 'object' ? Object.entries(table ?? {}) : []) {
    const field = readEntry(entry);
    if (!field || said === undefined) continue;
    if (!isList(body) || typeof field.path[0] !== 'string') {
      if (hasField(body, field)) return said;
      continue;
    }
    // What is rare comes first: whether an item is a row costs more.
    const found = body.find((item) => hasField(item, field) && !isRow(item));
    if (found !== undefined) return quoting(said, found);
  }
  return table?.[status] ?? (ofClass && table?.[ofClass]);
}

/** The item says more than the beginning of a long list. */
function quoting(said: ResponseKind | ResponseMeaning, item: unknown): ResponseKind | SaidMeaning {
  const meaning: SaidMeaning = typeof said === 'string' ? { kind: said } : said;
  return meaning.kind === 'ok' ? said : { message: JSON.stringify(item), ...meaning };
}

/** An entry of a field. */
interface FieldEntry {
  /** Names and indexes; `null` is any item. */
  readonly path: readonly (string | number | null)[];
  readonly matches: (found: unknown) => boolean;
}

/** A path, and what the field there equals or contains. */
const fieldEntry = /^((?:\[(?:'[^']*'|"[^"]*")\]|[^=~'"])+)(=(?!\s)|~)([^=~].*)$/s;
/** Without blanks around names and characters of other operators, as in `ok != true`, which would be parts of names. */
const pathStep = /(?:^|\.)([^\s.[\]!<>?](?:[^.[\]!<>?]*[^\s.[\]!<>?])?)\??|\[(?:(\*)|(\d+)|'([^']*)'|"([^"]*)")\]\??/gy;

/** `undefined` if it is not the entry of a field. */
function readEntry(entry: string): FieldEntry | undefined {
  const [, written = '', how, wanted = ''] = fieldEntry.exec(entry) ?? [];
  const steps = [...written.matchAll(pathStep)];
  if (written === '' || steps.map(([step]) => step).join('') !== written) return undefined;
  const lower = wanted.toLowerCase();
  return {
    path: steps.map(([, name, any, index, one, other]) =>
      any ? null : index === undefined ? (name ?? one ?? other ?? '') : Number(index),
    ),
    matches: (found) => {
      if (found === null) return how === '=' && wanted === 'null';
      if (typeof found !== 'string' && typeof found !== 'number' && typeof found !== 'boolean') return false;
      return how === '=' ? String(found) === wanted : String(found).toLowerCase().includes(lower);
    },
  };
}

/** Whether a field is there and matches; in a list, that of any item. */
function hasField(document: unknown, { path, matches }: FieldEntry): boolean {
  const leadsTo = (value: unknown, at: number): boolean => {
    const step = path[at];
    if (typeof step === 'number' && isList(value)) return leadsTo(value[step], at + 1);
    if (step === null && isRecord(value)) return Object.values(value).some((item) => leadsTo(item, at + 1));
    if (step !== null && step !== undefined && isObject(value) && Object.hasOwn(value, step))
      return leadsTo(Reflect.get(value, step), at + 1);
    if (isList(value)) return value.some((item) => leadsTo(item, step === null ? at + 1 : at));
    return step === undefined && matches(value);
  };
  return leadsTo(document, 0);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The fields that each kind has. */
const fieldsOf: Readonly<Record<ResponseKind, readonly (keyof SaidMeaning)[]>> = {
  ok: ['kind', 'pause'],
  end: ['kind', 'message'],
  skip: ['kind', 'message'],
  retry: ['kind', 'message', 'retryAfter'],
  'rate-limited': ['kind', 'message', 'retryAfter'],
  renew: ['kind', 'message'],
  'expired-cursor': ['kind', 'message'],
  final: ['kind', 'message'],
  partial: ['kind', 'message'],
};

/** What a definition, which may be in JavaScript, says about a response. @throws ConfigError. */
function checkMeaning(said: unknown): ResponseMeaning {
  const given = withKind(said);
  if (isMeaning(given)) return given;
  throw new ConfigError(`It says something else than a kind of response: ${findFault(given) ?? ''}.`);
}

function isMeaning(said: unknown): said is ResponseMeaning {
  return findFault(said) === undefined;
}

function findFault(said: unknown): string | undefined {
  const kinds = Object.keys(fieldsOf);
  if (!isRecord(said)) return `it is ${kindOf(said)}, and must be one of ${kinds.join(', ')}`;
  const { kind, message, retryAfter, pause } = said;
  if (!isKind(kind)) return `the kind must be one of ${kinds.join(', ')}`;
  const unknown = Object.keys(said).find((field) => !fieldsOf[kind].some((known) => known === field));
  if (unknown !== undefined) return `${kind} takes no ${shownText(unknown)}. ${hintFor(unknown, fieldsOf[kind])}`;
  if (message !== undefined && typeof message !== 'string') return 'the message must be text';
  for (const [field, ms] of Object.entries({ retryAfter, pause }))
    if (ms !== undefined && !(typeof ms === 'number' && ms >= 0 && ms < Infinity))
      return `${field} must be a number of ms`;
  return undefined;
}

function isKind(kind: unknown): kind is ResponseKind {
  return typeof kind === 'string' && Object.hasOwn(fieldsOf, kind);
}
