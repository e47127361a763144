import type { ApiDraft, Guess, ListingDraft } from './draft.js';
import { quoteText } from './quoteText.js';

/**
 * The definition of an API as a TypeScript file that compiles. What was guessed has a comment that says so.
 *
 * @param name is also that of its variable
 * @param from where it comes from, without credentials
 */
export function definitionText(name: string, api: ApiDraft, from: string): string {
  const { baseUrl, auth, headers = {}, listings } = api;
  const uses = [
    'defineApi',
    'listing',
    ...(auth?.value.uses ?? []),
    ...listings.flatMap(({ paging }) => paging.value.uses),
  ];
  const imported = [...new Set(uses)].sort();
  return `${[
    `// Drafted from ${oneLine(from)}. Compare what is marked as a guess with the API's documentation.`,
    `import { ${imported.join(', ')} } from '@sluice/core/define';`,
    '',
    `export const ${name} = defineApi({`,
    `  name: ${quoteText(name)},`,
    ...line(`  baseUrl: ${quoteText(baseUrl.value)},`, baseUrl),
    ...(auth
      ? line(`  auth: ${auth.value.text},`, auth)
      : ['  // auth: guess: the API needs no credentials of its own']),
    ...(listings.some(({ query }) => Object.values(query).some(isRepeated)) ? ["  arrays: 'repeat',"] : []),
    ...(Object.keys(headers).length > 0 ? [`  headers: ${objectText(headers)},`] : []),
    '  // rateLimit: { requests: 5, per: 1_000 }, // unknown; without it, at most 5 requests start in a second',
    '  sources: {',
    ...listings.flatMap((listing) => listingLines(listing).map((each) => `    ${each}`)),
    '  },',
    '});',
  ].join('\n')}\n`;
}

function listingLines(listing: ListingDraft): readonly string[] {
  const { name, description, path, needed, query, pageSize, paging, rows, total, columns, types, key } = listing;
  return [
    `${name}: listing({`,
    ...(description === undefined ? [] : [`  description: ${quoteText(oneLine(description))},`]),
    `  path: ${quoteText(path)},`,
    ...queryLines(needed, query),
    ...(pageSize ? line(`  pageSize: ${pageSizeText(pageSize.value)},`, pageSize) : []),
    ...line(`  paging: ${paging.value.text},`, paging),
    ...line(`  rows: ${quoteText(rows.value)},`, rows),
    ...(total ? line(`  total: ${quoteText(total.value)},`, total) : []),
    `  columns: [${columns.map(quoteText).join(', ')}],`,
    ...(Object.keys(types).length > 0 ? [`  types: ${objectText(types)},`] : []),
    ...(key ? line(`  key: ${quoteText(key.value)},`, key) : ['  // key: unknown; a watch and --mode merge need it']),
    '}),',
  ];
}

/** What a caller has to give is a parameter in braces. */
function queryLines(needed: readonly string[], query: ListingDraft['query']): readonly string[] {
  const all = { ...query, ...Object.fromEntries(needed.map((name) => [name, [`{${name.replace(/\W/g, '_')}}`]])) };
  return Object.keys(all).length > 0 ? [`  query: ${objectText(all)},`] : [];
}

function isRepeated(values: readonly string[]): boolean {
  return values.length > 1;
}

function pageSizeText({ param, default: size, max }: NonNullable<ListingDraft['pageSize']>['value']): string {
  return `{ param: ${quoteText(param)}, default: ${size}${max === undefined ? '' : `, max: ${max}`} }`;
}

/** A line of code, with a comment above if it is a guess. */
function line(text: string, { why }: Guess<unknown>): readonly string[] {
  const indent = /^ */.exec(text)?.[0] ?? '';
  return why === undefined ? [text] : [`${indent}// guess: ${oneLine(why)}`, text];
}

function objectText(fields: Readonly<Record<string, string | readonly string[]>>): string {
  return `{ ${Object.entries(fields)
    .map(([name, value]) => `${nameText(name)}: ${valueText(value)}`)
    .join(', ')} }`;
}

function valueText(value: string | readonly string[]): string {
  if (typeof value === 'string') return quoteText(value);
  const texts = value.map(quoteText).join(', ');
  return isRepeated(value) ? `[${texts}]` : texts;
}

function nameText(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : quoteText(name);
}

/** A text for a comment: line breaks would end it. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 200);
}
