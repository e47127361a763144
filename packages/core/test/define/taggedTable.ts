import { createHash } from 'node:crypto';
import { byCursor, listing, type Listing, type ListingDefinition } from '../../src/define/index.js';
import { type Asked, type Said, serve } from './servedApi.js';

export interface Row {
  readonly id: number;
  readonly name: string;
}

/** A server's table, whose pages have entity tags. */
export interface TaggedTable {
  readonly baseUrl: string;
  /** Each request: path, status of the response, and whether it had a validator. */
  readonly seen: { readonly path: string; readonly status: number; readonly tag: string | undefined }[];
  rows: Row[];
  /** Changes a response before it is sent. */
  alter: (said: Said, request: Asked, path: string) => Said;
}

export function tagOf(body: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 16)}"`;
}

/** Serves rows in pages of 100: `?after=` names the last known id. */
export async function serveTable(count: number, pageSize = 100): Promise<TaggedTable> {
  const seen: TaggedTable['seen'] = [];
  const table: TaggedTable = {
    baseUrl: '',
    seen,
    alter: (said) => said,
    rows: Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}` })),
  };
  const { baseUrl } = await serve((url, _nth, request) => {
    const after = url.searchParams.get('after') ?? '-1';
    const rest = table.rows.filter(({ id }) => id > Number(after));
    const items = rest.slice(0, pageSize);
    const body = { items, ...(rest.length > pageSize && { next: String(items.at(-1)!.id) }) };
    const tag = tagOf(body);
    const { 'if-none-match': given } = request.headers;
    const path = `${url.pathname}${url.search}`.replace(/^\/api/, '');
    const said: Said =
      given === tag ? { status: 304, headers: { etag: tag } } : { body, status: 200, headers: { etag: tag } };
    const sent = table.alter(said, request, path);
    seen.push({ path, status: sent.status ?? 200, tag: given });
    return sent;
  });
  return Object.assign(table, { baseUrl });
}

/** A listing of the table that counts what it decodes. */
export function tableListing(
  definition: Partial<ListingDefinition<Row, object, object>> = {},
): Listing<Row, object> & { readonly decoded: () => number } {
  let decoded = 0;
  const items = listing<Row, object, object>({
    path: '/rows',
    rows: 'items',
    columns: ['id', 'name'],
    key: ({ id }) => id,
    version: '1',
    paging: byCursor({ param: 'after', at: 'next?' }),
    decode(value, path, read) {
      decoded += 1;
      const { id, name } = read.record(value, path);
      return { id: Number(id), name: String(name) };
    },
    ...(definition as object),
  });
  return { ...items, decoded: () => decoded };
}
