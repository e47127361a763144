import { Failure } from '../../errors/errors.js';
import { findRowLists, listFields } from './documentFields.js';
import type { ApiDraft, ListingDraft } from './draft.js';
import { guessPaging, type Param } from './guessPaging.js';
import { guessRows, guessTotal } from './guessRows.js';

/** One response of an API, and the request for it. */
export interface Example {
  /** Without the parameters of credentials. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Makes a draft of one response. @throws Failure if it has no list of objects, or an empty one. */
export function draftFromExample({ url, headers, body }: Example): Omit<ApiDraft, 'auth'> {
  const [list, ...others] = findRowLists(body);
  if (!list)
    throw new Failure(
      `The response of ${url.origin}${url.pathname} has no list of objects with at least one row. Give the address of a listing that has rows.`,
    );
  const { base, path } = splitPath(url.pathname);
  const known = [...url.searchParams].map(([name, value]): Param => ({ name, value }));
  const rows = guessRows(list.rows);
  const fields = listFields(body);
  const paging = guessPaging({ params: known, fields, headers, key: rows.key?.value });
  const pageSize = guessPageSize(known, list.rows.length);
  const used = [paging.param, pageSize?.value.param];
  const total = guessTotal(fields, list.rows.length);
  const listing: ListingDraft = {
    name: nameListing(path),
    path,
    needed: [],
    query: Object.fromEntries(
      known.filter(({ name }) => !used.includes(name)).map(({ name }) => [name, url.searchParams.getAll(name)]),
    ),
    pageSize,
    paging,
    rows: {
      value: list.path,
      why: others.length === 0 ? undefined : `other lists are at ${others.map(({ path }) => path).join(', ')}`,
    },
    total,
    ...rows,
  };
  return { baseUrl: { value: url.origin + base }, listings: [listing] };
}

const sizeNames =
  /^(limit|\$?top|per_?page|page_?size|size|count|first|max_?results|max|page\[size\]|results_?per_?page)$/i;

/** @param listed the rows that a request with these parameters got */
export function guessPageSize(params: readonly Param[], listed?: number): ListingDraft['pageSize'] {
  const found = params.find(({ name }) => sizeNames.test(name));
  if (!found) return undefined;
  const { name, value, max } = found;
  const size = value !== undefined && /^[1-9]\d{0,5}$/.test(value) ? Number(value) : Math.min(max ?? 100, 100);
  const isLess = listed !== undefined && listed > size ? `the response had ${listed} rows` : undefined;
  const unknown = max === undefined ? 'the largest one that the API accepts is unknown: add it as max' : undefined;
  return {
    value: { param: name, default: size, max: max === undefined ? undefined : Math.max(max, size) },
    why: isLess ?? unknown,
  };
}

const prefix = /^(api|rest|v\d+(\.\d+)*|\d{4}-\d{2}(-\d{2})?)$/i;

/** A path, divided after its version, as in `/api/v2` and `/items`. The first part ends with a slash. */
function splitPath(path: string): { readonly base: string; readonly path: string } {
  const parts = path.split('/').filter((part) => part !== '');
  const end = parts.findIndex((part) => !prefix.test(part));
  const base = parts.slice(0, Math.max(0, end));
  return {
    base: base.length === 0 ? '/' : `/${base.join('/')}/`,
    path: `/${parts.slice(base.length).join('/')}${path.endsWith('/') && end !== -1 ? '/' : ''}`,
  };
}

/** A name for the listing at a path: its last part that is a word. */
export function nameListing(path: string): string {
  const words = path.split('/').filter((part) => /^[a-z][\w.-]*$/i.test(part));
  const [first = 'rows', ...more] = (words.at(-1) ?? 'rows').replace(/\.\w+$/, '').split(/[^a-zA-Z0-9]+/);
  const name = first + more.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return name.slice(0, 60) === 'get' ? 'rows' : name.charAt(0).toLowerCase() + name.slice(1, 60);
}
