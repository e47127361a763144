import { startSandbox } from '@sluice/sandbox';
import { rowsPerPage, type ServedPages } from './servedPages.js';

/** Generates any number of different pages from a few. */
export interface PageTemplates {
  /** The body of a page: `nth` makes it unique, `next` is its cursor; absent on the last page. */
  page(nth: number, next: number | undefined): Buffer;
}

const kept = 50;
const digits = 12;
const firstNumber = 100_000_000_000;
const hole = '#'.repeat(digits);
/** All of the same length, so that one can replace another in place. */
const more = ' true';
const noMore = 'false';

interface Template {
  readonly bytes: Buffer;
  /** The place of each row's own number. */
  readonly numbers: readonly number[];
  readonly cursor: number;
}

/** Pages of the sandbox's rows, with gaps of a fixed width for the numbers that differ. */
export async function pageTemplates(texts: ServedPages['texts'] = 'awkward'): Promise<PageTemplates> {
  // Properties as text, as in the published figures.
  const shape = { nested: 'reference' } as const;
  await using sandbox = await startSandbox({
    holdings: kept * rowsPerPage,
    owners: 1,
    shape,
    ...(texts !== 'awkward' && { nasty: 0 }),
  });
  const templates: Template[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(rowsPerPage), owner_addresses: sandbox.owners.join() });
    if (cursor !== null) query.set('cursor', cursor);
    const answer = await fetch(`${sandbox.aptosUrl}/wallets/nfts?${query}`, {
      headers: { 'X-API-Key': sandbox.apiKey },
    });
    const page = (await answer.json()) as { readonly cursor: string | null; readonly result: readonly object[] };
    templates.push(templateOf(texts === 'alphabets' ? page.result.map(inCyrillic) : page.result));
    cursor = page.cursor;
  } while (cursor !== null);
  return { page: (nth, next) => filled(templates[nth % templates.length]!, nth, next) };
}

/** A row whose names are of another alphabet. */
function inCyrillic(row: object): object {
  const written = (value: unknown): unknown =>
    typeof value === 'string'
      ? value.replace(/[a-z]/gi, (letter) => String.fromCodePoint(0x0410 + (letter.charCodeAt(0) & 31)))
      : value;
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, /^(collection_)?name$/.test(name) ? written(value) : value]),
  );
}

function templateOf(rows: readonly object[]): Template {
  const result = rows.map((row) => ({ ...row, last_transaction_version: hole }));
  const bytes = Buffer.from(`{"result":${JSON.stringify(result)},"cursor":"${hole}","hasNextPage":${more}}`);
  const holes: number[] = [];
  for (let at = bytes.indexOf(hole); at >= 0; at = bytes.indexOf(hole, at + digits)) holes.push(at);
  return { bytes, numbers: holes.slice(0, -1), cursor: holes.at(-1) ?? 0 };
}

function filled({ bytes, numbers, cursor }: Template, nth: number, next: number | undefined): Buffer {
  const page = Buffer.from(bytes);
  // Like the numbers of real transactions, they have no leading zeros.
  numbers.forEach((at, row) => page.write(String(firstNumber + nth * rowsPerPage + row), at, 'latin1'));
  page.write(String(next ?? 0).padStart(digits, '0'), cursor, 'latin1');
  if (next === undefined) page.write(noMore, page.lastIndexOf(more), 'latin1');
  return page;
}
