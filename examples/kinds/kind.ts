// An example of a kind of API: a definition, the requests that an export makes, and how the API answers each.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createClient, exportTo, systemClock, type Source } from '@sluice/core';
import { defineApi, noAuth, sourcesOf, type ApiDefinition, type ApiOptions, type Auth } from '@sluice/core/define';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';

type Sources = Parameters<typeof defineApi>[0]['sources'];

/** What a run gets and makes. */
export interface Run {
  /**
   * How the API answers, by request: `/orders?page=2`, or `POST /search {"page":2}`. Each request is made once, in any
   * order; one that is made again gets the next of {@link inTurn}. What is no `answer` is a document of JSON.
   */
  readonly answers: Readonly<Record<string, unknown>>;
  /** The rows, in their order. */
  readonly exports: readonly object[];
}

/** A kind of API. */
export interface Kind extends Run {
  /** What the API does, as the guide has it. */
  readonly says: string;
  /** `rows` is exported, others are its parents. */
  readonly sources: Sources;
  /** Of `rows`. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** Also of the base URL, e.g. for an address of tokens. Default: none. */
  readonly auth?: Auth | ((baseUrl: string) => Auth);
  readonly options?: Partial<ApiDefinition<'shop', Sources>>;
  /** What the user of the API gives. */
  readonly given?: Partial<ApiOptions>;
  /** What each request has besides, by header. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the export. */
  readonly onExpired?: 'restart-partition';
  /** Increments after the first export. */
  readonly later?: readonly Run[];
}

/** An answer with headers, another status, or a body that isn't JSON: a text or bytes. */
class Answer {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;

  constructor(body: unknown, headers: Readonly<Record<string, string>>, status: number) {
    this.body = body;
    this.headers = headers;
    this.status = status;
  }
}

class InTurn {
  readonly answers: readonly unknown[];

  constructor(answers: readonly unknown[]) {
    this.answers = answers;
  }
}

export const answer = (body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): object =>
  new Answer(body, headers, status);

/** The answers to a request that is made several times. */
export const inTurn = (...answers: readonly unknown[]): object => new InTurn(answers);

/** Rows with these ids. */
export const ids = (...all: readonly (number | string)[]): object[] => all.map((id) => ({ id }));

/** What the run of an example was like. */
export interface Played {
  readonly rows: readonly unknown[];
  /** Requests that the example does not have, and those of it that were not made. */
  readonly wrong: readonly string[];
}

/** Secrets that the examples' variables have. */
const variables = { TOKEN: 'token-of-the-shop', KEY: 'key-of-the-shop', SECRET: 'secret-of-the-shop' } as const;

/** When all examples run: windows of time end now. */
const firstOfMarch = { ...systemClock, now: () => Date.UTC(2026, 2, 1) };

/** Exports what an example describes into a folder: all rows, then each increment. */
export async function play(kind: Kind, folder: string): Promise<readonly Played[]> {
  const { sources, auth = noAuth, options, given, params = {}, onExpired, later = [] } = kind;
  const api = await startApi(kind.headers ?? {});
  const { baseUrl } = api;
  const shop = defineApi({
    name: 'shop',
    baseUrl,
    auth: typeof auth === 'function' ? auth(baseUrl) : auth,
    sources,
    ...options,
  });
  const client = createClient({ apiKey: false, rateLimit: false, variables, clock: firstOfMarch }).use(shop(given));
  try {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- rows of a listing are objects
    const rows = sourcesOf(client).get('shop.rows')?.(params) as Source<object>;
    const state = fileState(join(folder, 'state'));
    const played: Played[] = [];
    for (const run of [kind, ...later]) {
      api.expect(run);
      const path = join(folder, `${played.length}.jsonl`);
      const exporting = exportTo(rows, jsonl({ path }), {
        state,
        ...(onExpired && { onExpired }),
        ...(later.length > 0 && { incremental: true }),
      });
      const fault = await exporting.run().then(() => undefined, String);
      const lines = fault ? [] : (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
      const exported = lines.map((line): unknown => JSON.parse(line));
      played.push({ rows: exported, wrong: [...api.wrong(), ...(fault === undefined ? [] : [fault])] });
    }
    return played;
  } finally {
    await client.close();
    await api.close();
  }
}

/** A server on this machine, that answers as the example says. */
async function startApi(wanted: Readonly<Record<string, string>>) {
  let left: [request: string, answers: unknown[]][] = [];
  const wrong: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      const asked = `${method === 'GET' ? '' : `${method} `}${url}${body && ' '}${body}`;
      for (const [name, value] of Object.entries(wanted))
        if (headers[name] !== value) wrong.push(`${asked}, with ${name}: ${String(headers[name])}`);
      const said = left.find(([name]) => name === asked)?.[1].shift();
      if (said === undefined) wrong.push(asked);
      const sent = said instanceof Answer ? said : new Answer(said, {}, said === undefined ? 404 : 200);
      const isRaw = typeof sent.body === 'string' || Buffer.isBuffer(sent.body);
      response.writeHead(sent.status, {
        'content-type': 'application/json',
        ...sent.headers,
      });
      response.end(isRaw ? sent.body : JSON.stringify(sent.body));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`,
    expect({ answers }: Run): void {
      wrong.length = 0;
      left = Object.entries(answers).map(([request, said]) => [
        request,
        said instanceof InTurn ? [...said.answers] : [said],
      ]);
    },
    wrong: () => [...wrong, ...left.flatMap(([request, rest]) => rest.map(() => `not made: ${request}`))],
    async close(): Promise<void> {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}
