import type { Field } from './documentFields.js';
import { code, type Code, type Guess } from './draft.js';
import { quoteText } from './quoteText.js';

/** What an API shows of how its listing continues. */
export interface PagingSigns {
  /** The parameters that requests have, or may have. */
  readonly params: readonly Param[];
  /** The fields of a response, without those of rows. */
  readonly fields: readonly Field[];
  /** The headers of a response, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The field that identifies a row. */
  readonly key: string | undefined;
}

export interface Param {
  readonly name: string;
  /** Of the example, or the default. */
  readonly value?: string | undefined;
  readonly max?: number | undefined;
}

/** How a listing continues. */
export interface PagingGuess extends Guess<Code> {
  /** The parameter that it sets. */
  readonly param?: string;
}

const names = {
  cursorParam: /^(page_?)?(cursor|token|marker|bookmark)$|^(next_?|starting_?)?(after|page_?token)$|^continuation/i,
  cursor:
    /^(next_?)?(cursor|page_?token|token|marker|bookmark|after|continuation(_?token)?)$|^(next|end)_?cursor$|^starting_?after$|^next_?(offset|start|position|id)$|^(_?scroll_?id|page_?key|resumption_?token)$/i,
  link: /^(next|next_?(url|uri|link|href|page|page_?(url|uri|link)|records_?url)|after_?url|@odata\.nextLink|nextLink)$/i,
  more: /^(has_?(more|next|next_?page)|more|more_?results)$/i,
  last: /^(is_?)?last(_?page)?$|^end_?of_?stream$/i,
  pages: /^(total_?pages|page_?count|pages|last_?page|num_?pages)$/i,
  pagesHeader: /^x-(total-pages|wp-totalpages|pages|page-count)$/,
  page: /^(page|p|page_?(no|num|number|index)|current_?page)$/i,
  offset: /^(offset|skip|\$skip|start|start_?index|start_?at|from)$/i,
  /** Parameters of the next page, in an object. */
  continued: /^((?:.*\.)?(?:query-?)?continue)\.[^.[\]]+$/i,
  /** What may be where a next page begins, also the names of objects. */
  token: /(next|continu|cursor|token|bookmark|scroll|marker|LastEvaluatedKey|start_?key|page_?key)/i,
  lastId: /^(starting_?after|after_?id|since_?id|last_?id|min_?id)$/i,
} as const;

/**
 * Guesses how a listing continues: what the API states comes first (a link, a cursor, a number of pages), then the names
 * of its parameters. An API that shows nothing is taken for a listing of one page.
 */
export function guessPaging(signs: PagingSigns): PagingGuess {
  return (
    byLink(signs) ??
    byContinued(signs) ??
    byCursor(signs) ??
    byLastId(signs) ??
    byPage(signs) ??
    byOffset(signs) ??
    onePage(signs)
  );
}

/** E.g. MediaWiki: each of these parameters is sent with those of the first request. */
function byContinued({ fields }: PagingSigns): PagingGuess | undefined {
  const [, path] = fields.map(({ path }) => names.continued.exec(path)).find((found) => found !== null) ?? [];
  if (path === undefined) return undefined;
  const next = `const next = at(${quoteText(`${path}?`)})`;
  const address = '`?${new URLSearchParams(Object.entries(Object(next)))}`';
  return {
    value: code('byLink', `{ at: ({ at }) => { ${next}; return next ? ${address} : undefined; }, keep: true }`),
    why: `the parameters of the next page seem to be those at ${path}`,
  };
}

function byLink({ headers, fields }: PagingSigns): PagingGuess | undefined {
  if (/;\s*rel="?next\b/i.test(headers['link'] ?? '')) return { value: code('byLink', '') };
  const links = fields.filter(({ name, path, kind, value }) => {
    if (typeof value === 'string')
      return isAddress(value) && (names.link.test(name) || /(^|\.)next(_?page)?\b/i.test(path));
    return kind !== 'number' && /next/i.test(path) && /(url|uri|link|href|links\.next)$/i.test(path);
  });
  // Asana has a path, too, which leaves out that of the API.
  const found = links.find(({ value }) => /^https?:/.test(String(value))) ?? links[0];
  return found && { value: code('byLink', `{ ${quoteEnd(found, fields)} }`) };
}

function byCursor({ params, fields }: PagingSigns): PagingGuess | undefined {
  const found = fields.find(
    ({ name, path, kind, value }) =>
      kind !== 'boolean' &&
      !isAddress(value) &&
      (names.cursor.test(name) ||
        (kind === 'text' && /next/i.test(path) && names.link.test(name)) ||
        // Airtable's offset is a token, others' is the number that was requested, or that of a time zone: `+02:00`.
        (kind === 'text' && name === 'offset' && !/^(UTC|GMT)?[+-]?[\d:.]*$|^Z$/.test(String(value)))),
  );
  if (!found) return undefined;
  const own = nameOfCursorParam(found.name);
  // One of the same name first: in Slack's description, the parameter `token` is the credential.
  const known = params.find(({ name }) => name === own) ?? params.find(({ name }) => names.cursorParam.test(name));
  const param = known?.name ?? own;
  return {
    value: code('byCursor', `{ param: ${quoteText(param)}, ${quoteEnd(found, fields)} }`),
    why: known ? undefined : `whether the parameter of a next page is ${param}, is not known`,
    param,
  };
}

/** E.g. Stripe: it says that there is more, and the last row's id is where to continue. */
function byLastId({ params, fields, key }: PagingSigns): PagingGuess | undefined {
  const more = fields.find(({ name, kind }) => kind === 'boolean' && names.more.test(name));
  const known = params.find(({ name }) => names.lastId.test(name));
  const isPaged = params.some(({ name }) => names.page.test(name) || names.offset.test(name));
  if (key === undefined || isPaged || !(more || known)) return undefined;
  const param = known?.name ?? 'starting_after';
  const flag = more ? `, { more: ${quoteText(more.path)} }` : '';
  return {
    value: code('byKeyset', `[{ field: ${quoteText(key)}, param: ${quoteText(param)} }]${flag}`),
    why: `the response ${more ? 'only says whether there is more' : 'does not say whether there is more'}, so the next page may begin after the last ${key}`,
    param,
  };
}

function byPage({ params, fields, headers }: PagingSigns): PagingGuess | undefined {
  const pages = fields.find(({ name, kind }) => ['number', 'unknown'].includes(kind) && names.pages.test(name));
  const header = Object.keys(headers).find((name) => names.pagesHeader.test(name));
  const known = params.find(({ name }) => names.page.test(name));
  const field = fields.find(({ name, kind }) => kind === 'number' && names.page.test(name));
  if (!known && !pages && header === undefined && !field) return undefined;
  const param = known?.name ?? 'page';
  const isFromZero = known?.value === '0' || (known?.value === undefined && field?.value === 0);
  const parts = [
    `param: ${quoteText(param)}`,
    ...(isFromZero ? ['first: 0'] : []),
    ...(pages ? [`pages: ${quoteText(pages.path)}`] : []),
    ...(!pages && header !== undefined ? [`pages: ({ headers }) => Number(headers[${quoteText(header)}])`] : []),
  ];
  return {
    value: code('byPage', `{ ${parts.join(', ')} }`),
    why: known ? undefined : `whether the parameter of a page is ${param}, is not known`,
    param,
  };
}

function byOffset({ params, fields }: PagingSigns): PagingGuess | undefined {
  const known = params.find(({ name }) => names.offset.test(name));
  const field = fields.find(({ name, kind }) => kind === 'number' && names.offset.test(name));
  const param = known?.name ?? field?.name;
  if (param === undefined) return undefined;
  const isFromOne = known?.value === '1' || (known?.value === undefined && field?.value === 1);
  return {
    value: code('byOffset', `{ param: ${quoteText(param)}${isFromOne ? ', first: 1' : ''} }`),
    why: known ? undefined : `whether the parameter is ${param}, is not known`,
    param,
  };
}

function onePage({ fields }: PagingSigns): PagingGuess {
  const token = fields.find(
    ({ path, kind, value }) => kind !== 'boolean' && kind !== 'null' && value !== '' && names.token.test(path),
  );
  return {
    value: code('onePage', ''),
    why: token
      ? `${token.path} may be where a next page begins. If so, onePage() misses rows: write byCursor() or byLink(), whose at may be a function`
      : 'nothing shows how the listing continues',
  };
}

/** Where the next page is, and what says that there is one: the place may be missing on the last page, or still be there. */
function quoteEnd({ path }: Field, fields: readonly Field[]): string {
  const at = path.replace(/\['(?:\\.|[^'])*'\]|[^.[]+/g, '$&?');
  const flags = fields.filter(({ kind }) => kind === 'boolean');
  const more = flags.find(({ name }) => names.more.test(name));
  const last = more ? undefined : flags.find(({ name }) => names.last.test(name));
  return [
    `at: ${quoteText(at)}`,
    ...(more ? [`more: ${quoteText(more.path)}`] : []),
    ...(last ? [`last: ${quoteText(last.path)}`] : []),
  ].join(', ');
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^(https?:\/\/|[/?])/.test(value);
}

/** `next_cursor` is sent as `cursor`, `nextPageToken` as `pageToken`. */
function nameOfCursorParam(field: string): string {
  const rest = field.replace(/^next_?/i, '');
  return rest === '' ? 'cursor' : rest.charAt(0).toLowerCase() + rest.slice(1);
}
