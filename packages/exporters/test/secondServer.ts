import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

/**
 * A second server of the two endpoints, written from the API's reference alone. It shares no code, no values and no habits with the
 * sandbox, so that what passes on both is no agreement between the two of us.
 */
export interface SecondServer extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  readonly owners: readonly string[];
  /** The rows, in the order of the listing, as the JSON that is sent. */
  readonly holdings: readonly string[];
  readonly streams: readonly string[];
}

export interface SecondServerOptions {
  readonly holdings: number;
  /**
   * `cursor`: pages of any length below the limit, a single row as an object, no `hasNextPage`, and no cursor at the end.
   * `offset`: `hasNextPage` and never a cursor.
   */
  readonly paging: 'cursor' | 'offset';
}

export async function startSecondServer({ holdings, paging }: SecondServerOptions): Promise<SecondServer> {
  const apiKey = 'second+key/=';
  const rows = Array.from({ length: holdings }, (_, index) => holdingText(index));
  const rowOwners = rows.map((_, index) => BigInt(ownerOf(index)));
  const streams = Array.from({ length: 157 }, (_, index) => streamText(index));
  const server = createServer((request, response) => {
    try {
      if (request.headers['x-api-key'] !== apiKey) throw new Refused(401);
      if (request.headers.accept !== 'application/json') throw new Refused(406);
      const url = new URL(request.url ?? '', 'http://localhost');
      const query = url.searchParams;
      if (url.pathname === '/any/base/streams/evm') send(request, response, streamsPage(streams, query));
      else if (url.pathname === '/any/base/wallets/nfts')
        send(request, response, holdingsPage(rows, rowOwners, query, paging));
      else throw new Refused(404);
    } catch (error) {
      response
        .writeHead(error instanceof Refused ? error.status : 500)
        .end(`{"error": ${JSON.stringify(String(error))}}`);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The second server has no port.');
  return {
    url: `http://127.0.0.1:${String(address.port)}/any/base/`,
    apiKey,
    owners,
    holdings: rows,
    streams,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Refused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`refused with ${String(status)}`);
    this.status = status;
  }
}

/** Rows carry the owner in several spellings; a wallet is asked for in the long one. */
const owners = ['0x1', '0xCAFE', `0x${'f0'.repeat(32)}`];

function holdingsPage(
  rows: readonly string[],
  rowOwners: readonly bigint[],
  query: URLSearchParams,
  paging: 'cursor' | 'offset',
): string {
  const limit = wholeNumber(query.get('limit'));
  const wanted = new Set(query.getAll('owner_addresses[]').map((owner) => BigInt(owner)));
  if (wanted.size === 0) throw new Refused(400);
  const listing = rows.filter((_, index) => wanted.has(rowOwners[index]!));
  if (paging === 'offset') {
    const from = wholeNumber(query.get('offset') ?? '0', 0);
    const found = listing.slice(from, from + limit);
    const hasNextPage = from + found.length < listing.length;
    return `{"hasNextPage": ${String(hasNextPage)}, "result": ${resultOf(found)}}`;
  }
  const from = placeOf(query.get('cursor'));
  const found = listing.slice(from, from + (from % 5 === 4 ? 1 : 1 + ((from * 7) % limit)));
  const next = from + found.length;
  const cursor = next < listing.length ? `, "cursor": ${JSON.stringify(cursorAt(next))}` : '';
  return `{"result":${resultOf(found)}${cursor}}`;
}

function streamsPage(rows: readonly string[], query: URLSearchParams): string {
  const limit = wholeNumber(query.get('limit'));
  if (limit > 100) throw new Refused(400);
  const from = placeOf(query.get('cursor'));
  const found = rows.slice(from, from + (from % 3 === 0 ? 1 : limit));
  const next = from + found.length;
  return JSON.stringify({ cursor: next < rows.length ? cursorAt(next) : '', total: '157', result: 0 }).replace(
    '"result":0',
    () => `"result":${resultOf(found)}`,
  );
}

function resultOf(found: readonly string[]): string {
  return found.length === 1 ? String(found[0]) : `[${found.join(',\n')}]`;
}

/** A cursor with everything that has to be escaped on its way back. */
function cursorAt(place: number): string {
  return `é+/ =&?#%2B%[]"${String(place)}`;
}

function placeOf(cursor: string | null): number {
  if (cursor === null) return 0;
  const place = wholeNumber(cursor.slice(cursorAt(0).length - 1));
  if (cursor !== cursorAt(place)) throw new Refused(400);
  return place;
}

function wholeNumber(text: string | null, min = 1): number {
  const value = Number(text);
  if (text === null || !/^\d+$/.test(text) || value < min) throw new Refused(400);
  return value;
}

/** Every other answer is packed; the others come in pieces that end anywhere, also within a letter. */
function send(request: IncomingMessage, response: ServerResponse, text: string): void {
  const body = Buffer.from(text);
  const packed = String(request.headers['accept-encoding']).includes('gzip') && body.length % 2 === 0;
  response.writeHead(200, { 'Content-Type': 'application/json', ...(packed && { 'Content-Encoding': 'gzip' }) });
  if (packed) {
    response.end(gzipSync(body));
    return;
  }
  for (let at = 0; at < body.length; at += 65_537) response.write(body.subarray(at, at + 65_537));
  response.end();
}

/** Numbers that look random and are the same each time. */
function drawn(index: number, salt: number): number {
  const mixed = Math.imul((index + 1) ^ (salt * 0x9e3779b1), 0x5bd1e995);
  return (Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0) % 1_000_003;
}

function ownerOf(index: number): string {
  return owners[drawn(index, 1) % owners.length] ?? '';
}

const awkward = [
  'plain',
  ',',
  ',,,',
  '"',
  'a "b" c',
  '""',
  '\r\n',
  '\n\n',
  '\r',
  'line one\nline two, "quoted"\r\nline three',
  "=cmd|'/C calc'!A0",
  '=IMPORTXML("http://127.0.0.1")',
  '+cmd',
  '+5',
  '-5.25e-7',
  '-2+3',
  '@x',
  '\t@x',
  '\r=1',
  '\n=1',
  '\0=1',
  '＝1',
  '＋1',
  '－1',
  '＠1',
  "'=1",
  ' ',
  '',
  '\ufeff',
  '\u2028\u2029',
  'ÅÅ ﷽ ẍ̌ 漢字 👩‍👩‍👧‍👦',
  '\u202eright to left',
  '\u0007\u001b[31m\u007f',
  '{"not":"parsed"}',
  '12345678901234567890.000',
  'TRUE',
  'undefined',
  '\\',
  '\\"',
  'x'.repeat(4_000),
];

/** What a field holds, as JSON that no program of ours has written: other spellings of the same letters, and names that bite. */
const properties = [
  '"{\\"rarity\\":\\"ultra\\"}"',
  '"{\\"__proto__\\":{\\"admin\\":true}}"',
  '{"__proto__":{"admin":true},"prototype":null,"":"empty name"}',
  '{"list":[1,2.50,-0.1e-3,true,null,[],{}],"text":"\\u0041\\ud83e\\udd8a\\/"}',
  '["a","b"]',
  '"not json"',
  'null',
  '""',
  '17',
  'false',
];

function holdingText(index: number): string {
  const pick = (salt: number): string => JSON.stringify(awkward[drawn(index, salt) % awkward.length]);
  const fields = [
    `"token_data_id_hash":"${index.toString(16).padStart(64, '0')}"`,
    `"owner_address":"${ownerOf(index)}"`,
    `"name":${pick(2)}`,
    `"collection_name" : ${drawn(index, 3) % 9 === 0 ? 'null' : pick(4)}`,
    `"amount":${drawn(index, 5) % 3 === 0 ? String(drawn(index, 6)) : `"${String(drawn(index, 6))}000000000000000000"`}`,
    `"token_properties":${properties[drawn(index, 7) % properties.length] ?? ''}`,
    `"last_transaction_timestamp":"2024-02-29T23:59:59.${String(drawn(index, 8) % 1_000_000).padStart(6, '0')}Z"`,
    ...(drawn(index, 9) % 4 === 0 ? [`"table_type":${pick(10)}`, `"creator_address":""`] : []),
    ...(drawn(index, 11) % 6 === 0 ? [`"__proto__":{"admin":true}`, `"constructor":${pick(12)}`] : []),
    ...(drawn(index, 13) % 6 === 0 ? [`"future field, quoted":{"a":[${pick(14)}]}`] : []),
  ];
  return `{${fields.join(', ')}}`;
}

function streamText(index: number): string {
  const pick = (salt: number): string => JSON.stringify(awkward[drawn(index, salt) % awkward.length]);
  const fields = [
    `"id":${index % 2 === 0 ? String(index) : `"stream ${String(index)}"`}`,
    `"status":${pick(21)}`,
    `"description":${pick(22)}`,
    `"chainIds":${index % 3 === 0 ? 'null' : `["0x1",${pick(23)}]`}`,
    `"abi":{"inputs":{"name":${pick(24)}},"gas":null}`,
    ...(index % 4 === 0 ? [] : [`"demo":${String(index % 5 === 0)}`, `"tag":${pick(25)}`]),
    ...(index % 7 === 0 ? [`"__proto__":{"admin":true}`] : []),
  ];
  return `{${fields.join(',')}}`;
}
