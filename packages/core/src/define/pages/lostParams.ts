import { type Query, withoutParam } from '../../http/query.js';
import { canonicalJson } from '../../rows/source/fingerprint.js';
import { isList, isRecord, parseJson } from '../../values.js';

/** The request for the first page of a listing. */
export interface FirstRequest {
  readonly query: Query;
  /** The parameter with the page size. Absent if the page size is elsewhere, or the API decides. */
  readonly sizeParam?: string | undefined;
}

/** A parameter of the first request that the next page's address lacks, or has with another value. */
interface LostParam {
  readonly name: string;
  readonly value: string;
  /** The other value; absent if the address lacks the parameter. */
  readonly found?: string;
}

/**
 * The parameters of the first request's query that the next page's address has lost. Spellings of one value count as
 * equal: the case, the order of a list, `True` and `true`, `10` and `10.0`, another format of a time. Page size and
 * page number are ignored, since the server decides them.
 */
export function lostParams(
  { query, sizeParam }: FirstRequest,
  address: string,
  firstPath: string,
): readonly LostParam[] {
  const [path, found] = partsOf(address);
  return [...paramsOf(ownEntries(query))].flatMap(([plain, { name, values }]): LostParam[] => {
    if (name === sizeParam || isOfPage(plain, values, found)) return [];
    const other = found.get(plain);
    const value = values.join();
    if (other) return isSame(values, other.values) ? [] : [{ name, value, found: other.values.join() }];
    return values.every((each) => each === '' || isElsewhere(each, { path, firstPath, found }))
      ? []
      : [{ name, value }];
  });
}

/**
 * Whether the address of a next page only has the number of a page, or of a row to start at. Any other address may have
 * a cursor, which knows the query of the first request.
 *
 * @returns the number with its name
 */
export function pageNumberIn({ query, sizeParam }: FirstRequest, address: string): string | undefined {
  const [path, found] = partsOf(address);
  const own = paramsOf(ownEntries(query));
  const others = [...found].filter(([plain, { name, values }]) => {
    const mine = own.get(plain);
    return name !== sizeParam && !isSize(plain, values) && !(mine && isSame(mine.values, values));
  });
  if (others.some(([plain, { values }]) => !own.has(plain) && mayBeCursor(plain, values))) return undefined;
  const number = others.find(([plain, { values }]) => isNumber(plain, values))?.[1];
  return number
    ? `${number.name}=${number.values.join()}`
    : /\/(?:page|p|offset|skip)\/\d{1,9}(?=\/|$)/i.exec(path)?.[0];
}

/**
 * Adds parameters of the first request to the query of a next page's address that has lost them.
 *
 * @param names the parameters to keep; `true` for all
 * @returns the query as the server wrote it, without replaced parameters, and the parameters to send besides
 */
export function keepParams(
  first: Query,
  raw: string,
  names: true | readonly string[],
): { readonly rawQuery: string; readonly query: Query } {
  const found = paramsOf([...new URLSearchParams(raw)]);
  const hasSize = [...found].some(([plain, { values }]) => isSize(plain, values));
  const lost = [...paramsOf(ownEntries(first))].filter(([plain, { name, values }]) => {
    const other = found.get(plain);
    if (other && isSame(values, other.values)) return false;
    if (names !== true) return names.includes(name);
    return isSize(plain, values) ? !hasSize : !isOfPage(plain, values, found);
  });
  const replaced = lost.flatMap(([plain]) => found.get(plain)?.names ?? []);
  return {
    rawQuery: replaced.reduce(withoutParam, raw),
    query: Object.fromEntries(lost.flatMap(([, { names: own }]) => own.map((name) => [name, first[name]]))),
  };
}

interface Param {
  /** The first spelling of the name, and all spellings. */
  readonly name: string;
  readonly names: readonly string[];
  readonly values: readonly string[];
}

function ownEntries(query: Query): readonly (readonly [string, string])[] {
  return Object.entries(query).flatMap(([name, value]) =>
    value === undefined
      ? []
      : isList(value)
        ? value.map((item) => [name, item] as const)
        : [[name, String(value)] as const],
  );
}

function partsOf(address: string): readonly [path: string, query: ReadonlyMap<string, Param>] {
  const [path = '', ...rest] = address.split('?');
  return [path, paramsOf([...new URLSearchParams(rest.join('?'))])];
}

/** Parameters by their names without case, signs and the brackets of lists: APIs spell one name in several ways. */
function paramsOf(entries: readonly (readonly [string, string])[]): ReadonlyMap<string, Param> {
  const params = new Map<string, Param>();
  for (const [name, value] of entries) {
    const plain =
      name
        .toLowerCase()
        .replace(/\[\d*\]$/, '')
        .replace(/[^\p{L}\p{N}]/gu, '') || name;
    const known = params.get(plain) ?? { name, names: [], values: [] };
    const names = known.names.includes(name) ? known.names : [...known.names, name];
    params.set(plain, { name: known.name, names, values: [...known.values, value] });
  }
  return params;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  const [first, second] = [one, other].map((values) => [...new Set(values.flatMap(plainValues))].sort().join('\n'));
  return first === second;
}

/** The values of a parameter in one spelling. A list may be written with commas. */
function plainValues(value: string): readonly string[] {
  const json = /^\s*[{[]/.test(value) ? parseJson(value) : undefined;
  if (isRecord(json) || isList(json)) return [canonicalJson(json)];
  return value
    .split(',')
    .map((part) => plainValue(part.trim().normalize().toLowerCase()))
    .filter((part) => part !== '');
}

function plainValue(text: string): string {
  if (text === 'true' || text === 'false') return text === 'true' ? '1' : '0';
  if (/^[+-]?\d{1,15}(\.\d{1,15})?$/.test(text)) return String(Number(text));
  if (!/^\d{4}-\d\d-\d\d(?:[t ]|$)/.test(text)) return text;
  // A plus that the server did not encode was decoded as a blank.
  const time = text.replace(' ', text.includes('t') ? '+' : 't').replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
  const ms = Date.parse((/(?:z|[+-]\d\d:\d\d|^[\d-]+)$/.test(time) ? time : `${time}z`).toUpperCase());
  return Number.isNaN(ms) ? text : `at ${ms}`;
}

/** Whether a value is in the path, unlike in the first request, or in a parameter of another name. */
function isElsewhere(
  value: string,
  address: { readonly path: string; readonly firstPath: string; readonly found: ReadonlyMap<string, Param> },
): boolean {
  const { path, firstPath, found } = address;
  const known = new Set(firstPath.split('/'));
  const segments = path
    .split('/')
    .filter((segment) => !known.has(segment))
    .map((segment) => new URLSearchParams(`=${segment.replaceAll('+', '%2B')}`).get('') ?? '');
  if (segments.includes(value)) return true;
  if (value.length < shortestTold) return false;
  const others = [...found].filter(([plain, { values }]) => !isSize(plain, values) && !isNumber(plain, values));
  return [...segments, ...others.flatMap(([, { values }]) => values)].some((text) => hasWord(text, value));
}

/** Shorter values are not searched for: another parameter may have one by chance. */
const shortestTold = 4;

/** Whether a text has a value as a whole word. */
function hasWord(text: string, value: string): boolean {
  const [all, one] = [text.toLowerCase(), value.toLowerCase()];
  for (let at = all.indexOf(one); at >= 0; at = all.indexOf(one, at + 1))
    if (!/[\p{L}\p{N}]$/u.test(all.slice(0, at)) && !/^[\p{L}\p{N}]/u.test(all.slice(at + one.length))) return true;
  return false;
}

const sizeNames =
  /^(?:.*(?:per|by)page|(?:page|batch|chunk|max|resultrecord)?(?:size|limit|count|length)|top|take|rows|max|max(?:results?|items|records|rows)|num(?:results|rows|items)?|results|first)$/;
const numberNames =
  /^(?:.*(?:page|offset|skip)(?:no|num|nr|number|index|idx)?|p|pg|pn|pgno|paged|from|begin|start(?:at|from|index|row|record|position|item)?|(?:record|row|item)start|firstresult|firstrow|position|pos|index|idx|row|rownum)$/;
const cursorNames =
  /cursor|token|after|before|marker|continu|scroll|bookmark|session|snapshot|resum|context|(?:since|last|max|min|search|query|next)id$|key$/;

/** Names of page sizes that filters may have as well. */
const weakSizes = /^(?:top|take|rows|max|count|length|results|first)$/;

/**
 * Whether a parameter of the first request is its page size or page number, which the server decides. A parameter with
 * a name that a filter may have counts only if the address also has a page size.
 */
function isOfPage(plain: string, values: readonly string[], found: ReadonlyMap<string, Param>): boolean {
  if (isNumber(plain, values)) return found.has(plain) || values.every((value) => value === '0' || value === '1');
  if (!isSize(plain, values)) return false;
  return !weakSizes.test(plain) || [...found].some(([other, param]) => isSize(other, param.values));
}

function isSize(plain: string, values: readonly string[]): boolean {
  return sizeNames.test(plain) && values.every((value) => /^\d{1,9}$/.test(value));
}

function isNumber(plain: string, values: readonly string[]): boolean {
  return numberNames.test(plain) && !sizeNames.test(plain) && values.every((value) => /^\d{1,9}$/.test(value));
}

/** Names of parameters that identify the request itself, for logs. */
const traceNames = /^x?(?:trace|request|correlation)(?:id|parent)?$/;

/** Whether a parameter may be a cursor: by its name, or because its value is opaque. */
function mayBeCursor(plain: string, values: readonly string[]): boolean {
  const isOpaque = (value: string): boolean =>
    /^(?=.*\d)(?=.*[a-z])[\w.~+/=-]{12,}$/i.test(value) && !/^\d{4}-\d\d/.test(value);
  return !traceNames.test(plain) && (cursorNames.test(plain) || values.some(isOpaque));
}
