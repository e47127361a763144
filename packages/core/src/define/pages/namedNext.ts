import { countIn, isList, isRecord } from '../../values.js';

/** The place in a document that names a next page, whatever the paging is. */
export function nextIn(body: unknown): string | undefined {
  return findField(body, namesNext);
}

/**
 * The place in a document of a value that may be the token of a next page, unless the document says that none follows.
 *
 * @param known values that are not such a token, e.g. an echo of the request
 */
export function tokenIn(body: unknown, known: readonly string[]): string | undefined {
  if (findField(body, saysLast) !== undefined) return undefined;
  return findField(
    body,
    (name, value) =>
      tokens.test(name) &&
      !otherNexts.test(name) &&
      isGiven(value) &&
      !(isText(value) && known.includes(String(value))),
  );
}

/** The patterns match names without case and signs: `@odata.nextLink` is `odatanextlink`. */
const pagingParts = /^(meta|metadata|responsemetadata|links|paging|pagination|page|pageinfo|pages|cursors?)$/;
const wrappers = /^(data|result|response)$/;
const addresses =
  /^(odata)?next(pages?|link|url|uri|href|cursor|token|id|offset|marker|start|records|results)(url|link|uri|token|cursor|number)?$/;
const flags = /^(has|is)?(more|next|nextpage|morepages|moreresults|moreitems|moredata|moretoload|truncated|continue)$/;
const lastFlags = /^(is)?last(page)?$|^endofstream$/;
/** Fields that only exist if another page follows: parameters of MediaWiki, a key of DynamoDB. */
const continuations = /^(query)?continue$|^lastevaluatedkey$/;
/** Fields that may have the token of a next page. An API may have them on its last page, or mean something else. */
const tokens =
  /^(?:(?:page|list|query|result|search|end|last)?(?:cursor|token|bookmark|marker|continuation|scroll)(?:id|token|key|uri|url)?|.*(?:continuation|resumption|paging|pagination|page)(?:token|key|state|bookmark|marker|ref)|.*scrollid|(?:page|search|start|starting|cursor)?after|(?:exclusive)?startkey|last(?:evaluated)?key|more(?:results|items|pages|rows)?|next.*)$/;
/** Fields about another kind of next than a page. */
const otherNexts =
  /^next.*(?:sync|delta|update|run|refresh|bill|pay|reset|poll|event|release|step|action|time|date|(?:check|at)$)/;
const counts = /^(totalpages?|pagestotal|lastpage)$/;
const maxDepth = 4;
const longestName = 50;

/** Whether a field is wanted, by its name without case and signs. */
type IsWanted = (name: string, value: unknown, isOfPaging: boolean) => boolean;

/** Searches only the places where APIs have such fields, since rows may have fields of these names. */
export function findField(
  value: unknown,
  isWanted: IsWanted,
  path: readonly string[] = [],
  isOfPaging = false,
): string | undefined {
  if (!isRecord(value)) return undefined;
  for (const [field, found] of Object.entries(value)) {
    if (field.length > longestName) continue;
    const name = field.toLowerCase().replace(/[^a-z]/g, '');
    const place = [...path, field];
    if (isWanted(name, found, isOfPaging)) return place.join('.');
    const isPart = pagingParts.test(name);
    if (place.length > maxDepth || !(isPart || wrappers.test(name) || hasList(found))) continue;
    const inner = findField(found, isWanted, place, isPart);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** Whether an object may contain the rows: it has a list, or an object with one. */
function hasList(value: unknown, depth = 0): boolean {
  if (!isRecord(value)) return false;
  return Object.values(value).some((inner) => isList(inner) || (depth < 2 && hasList(inner, depth + 1)));
}

/** @param isOfPaging whether the field is in an object about pages, where `next` names a page, whatever its value is */
function namesNext(name: string, value: unknown, isOfPaging: boolean): boolean {
  // Some APIs quote all values, so text is accepted as well.
  if (value === true || value === 'true') return flags.test(name);
  if (value === false || value === 'false') return lastFlags.test(name);
  if (counts.test(name) || (isOfPaging && name === 'pages')) {
    const count = countIn(value);
    if (count !== undefined) return count > 1;
  }
  if (!isGiven(value)) return false;
  if (addresses.test(name) || continuations.test(name)) return true;
  // Airtable's `offset` is a token. Elsewhere it is the requested number, or the offset of a time zone: `+02:00`.
  if (name === 'offset' && typeof value === 'string') return !/^(UTC|GMT)?[+-]?[\d:.]*$|^Z$/.test(value);
  if (name !== 'next') return false;
  const address = isRecord(value) ? (value['href'] ?? value['url']) : value;
  return isOfPaging || (typeof address === 'string' && /^(https?:|[/?])/.test(address));
}

function saysLast(name: string, value: unknown): boolean {
  if (value === false || value === 'false') return flags.test(name);
  if (value === true || value === 'true') return lastFlags.test(name);
  return (value === null || value === '') && (name === 'next' || addresses.test(name));
}

function isText(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isGiven(value: unknown): boolean {
  if (isRecord(value)) return Object.values(value).some(isGiven);
  return typeof value === 'string' ? value !== '' : typeof value === 'number' && value > 0;
}
