import { createHash } from 'node:crypto';
import { aptosEndpoint } from '../../packages/sandbox/src/aptosEndpoint.js';
import { Cursors } from '../../packages/sandbox/src/cursor.js';
import { Holdings } from '../../packages/sandbox/src/served/holdings.js';
import { Refusal } from '../../packages/sandbox/src/refusal.js';
import type { Endpoint } from '../../packages/sandbox/src/requestListener.js';
import { fillShapes } from '../../packages/sandbox/src/served/answerShape.js';
import { StreamBook } from '../../packages/sandbox/src/served/streamBook.js';
import { streamsEndpoint } from '../../packages/sandbox/src/streamsEndpoint.js';
import type { Answered, Arrived, Service } from './service.js';
import { epoch } from './platform.js';
import { pauseOf } from './network.js';
import { Quota, type QuotaModel } from './quota.js';
import { Random } from '../../test/kit/random.js';
import { Repeats, type RepeatsModel } from './repeats.js';
import { Shelf } from './shelf.js';
import { Table } from './table.js';
import { Tables } from './tables.js';

/** What the API holds, and how it behaves. */
export interface ApiModel {
  readonly seed: number;
  readonly holdings: number;
  readonly owners: number;
  readonly streams: number;
  /** Ms that a cursor is good for; `null` where it does not expire. */
  readonly cursorTtl: number | null;
  /** Ms from one change of a stream's status to the next. */
  readonly statusEvery: number;
  /** Whether the service of streams sends entity tags, and with which of its 304s. Absent: it sends none. */
  readonly tags?: 'always' | 'not with all 304s';
  /** Of the APIs that a world defines itself. */
  readonly quota?: QuotaModel;
  readonly repeats?: RepeatsModel;
  /** Tables are redirected to another path. */
  readonly isMoved?: boolean;
  /**
   * Ms for which the tokens are good that tables need, as their login says; `unknown`: it does not say so, and they are
   * good for {@link untoldTokenLife}. Absent: they need none.
   */
  readonly tokenLife?: number | 'unknown';
}

/** Long enough that a client knows a token as old, however late it came, and replaces it when it is refused. */
const untoldTokenLife = 100_000;

/**
 * Ms after the end of its life, or of a pause that the API asked for, in which a token may still arrive: a request can be on
 * its way for as long.
 */
const tokenGrace = 31_000;

/** How tokens begin, so that they are known wherever they are. */
export const tokenPrefix = 'token-of-this-world-';

/** The path without what a redirect adds. */
export function unmoved(path: string): string {
  return path.replace('/moved/', '/');
}

function isLogin({ pathname }: URL): boolean {
  return /^\/tables?\/login$/.test(pathname);
}

/** From where on a request asks for rows: the query, a header or a form says so. */
export function sinceOf({ url, headers, body }: Pick<Arrived, 'url' | 'headers' | 'body'>): string | null {
  return url.searchParams.get('since') ?? headers['x-since'] ?? new URLSearchParams(body).get('since');
}

/** Where the services of a world are found. */
export const addresses = {
  api: 'api.world',
  aptos: 'https://api.world/aptos/',
  streams: 'https://api.world/streams-api/',
  table: 'https://api.world/table/',
  shelf: 'https://api.world/shelf/',
  tables: 'https://api.world/tables/',
} as const;

export const apiKey = '5f3a-a-secret-key-of-this-world-9e01';

/** What happens to the listing of streams at a moment. */
export type Alteration = { readonly at: number } & (
  | { readonly what: 'add' }
  | { readonly what: 'remove' | 'rename'; readonly nth: number }
  | { readonly what: 'move'; readonly by: number }
);

/** Both APIs, answering at the moment of arrival with the rows of that moment: the sandbox's, without its sockets. */
export class Apis {
  readonly holdings: Holdings;
  readonly streams: StreamBook;
  readonly table = new Table();
  readonly tables = new Tables();
  readonly shelf: Shelf;
  readonly #now: () => number;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  /** Streams that are there, by index. */
  readonly #present: number[];
  /** How often rows were added, removed or moved: a walk of pages that is under way then may miss some. */
  shifts = 0;
  readonly #quota: Quota | undefined;
  readonly #repeats: Repeats | undefined;
  readonly #tags: ApiModel['tags'];
  #notModified = 0;
  #isStill = false;
  #ticks = 0;
  readonly #model: Pick<ApiModel, 'isMoved' | 'quota' | 'tokenLife'>;
  /** When each was issued. */
  readonly #tokens: number[] = [];
  /** The end of the last pause that a process was asked for. Meanwhile a request waits with the newest token that it has. */
  #shutUntil = 0;
  #loginSent = -Infinity;
  /** What clients did wrong. */
  readonly wrong: string[] = [];

  constructor(model: ApiModel, now: () => number) {
    this.#now = now;
    this.#model = model;
    this.#tags = model.tags;
    this.#quota = model.quota && new Quota(model.quota);
    this.#repeats = model.repeats && new Repeats(model.repeats, new Random(`${model.seed} repeats`));
    this.shelf = new Shelf(now);
    const shapes = fillShapes('live');
    const cursors = new Cursors({
      seed: model.seed,
      cursorTtl: model.cursorTtl ?? Infinity,
      cursorUses: Infinity,
      now,
    });
    this.#present = Array.from({ length: model.streams }, (_, index) => index);
    this.holdings = new Holdings({ ...model, nasty: 0.2, nested: 'live' });
    this.streams = new StreamBook({
      seed: model.seed,
      streams: model.streams,
      nasty: 0.2,
      nested: 'live',
      ticks: () => {
        if (!this.#isStill) this.#ticks = Math.floor(now() / model.statusEvery);
        return this.#ticks;
      },
    });
    this.#endpoints = new Map([
      ['/aptos/wallets/nfts', aptosEndpoint(this.holdings, cursors, shapes.aptos)],
      ['/streams-api/streams/evm', streamsEndpoint(this.streams, cursors, shapes.streams)],
      ['/table/entries', (query) => () => this.table.list(query, now())],
    ]);
  }

  /** Lets the listing of streams change. */
  alter(alteration: Alteration): void {
    if (this.#isStill) return;
    if (alteration.what !== 'rename') this.shifts += 1;
    if (alteration.what === 'add') {
      this.#present.push(this.streams.add({}));
      return;
    }
    if (alteration.what === 'move') {
      this.streams.move(alteration.by);
      return;
    }
    const at = alteration.nth % Math.max(1, this.#present.length);
    const index = this.#present[at];
    if (index === undefined) return;
    if (alteration.what === 'rename') this.streams.set(index, { tag: `renamed ${alteration.at}` });
    else this.streams.remove(...(this.#present.splice(at, 1) as [number]));
  }

  /** Nothing changes from now on. */
  stand(): void {
    this.#isStill = true;
  }

  /** A process sends a request. */
  sent(url: URL): void {
    if (isLogin(url)) this.#loginSent = this.#now();
  }

  /** A process has got an answer. */
  got(url: URL, answer: Answered): void {
    this.#repeats?.got(url, answer);
    if (answer.status === 429) this.#shutUntil = Math.max(this.#shutUntil, this.#now() + pauseOf(answer));
  }

  /** Nothing disturbs the world from now on. */
  quieten(): void {
    this.#repeats?.quieten();
  }

  readonly answer: Service = (request): Answered => {
    const isCounted = /^\/(?:tables?|shelf)\//.test(request.url.pathname);
    if (!this.#quota || !isCounted) return this.#page(request);
    return this.#quota.answer(this.#now(), () => this.#page(request));
  };

  readonly #page: Service = (request): Answered =>
    this.#repeats?.insteadOf(request.url, this.#now()) ?? this.#answer(request);

  readonly #answer: Service = ({ url, method, headers, body }): Answered => {
    try {
      if (headers['x-api-key'] !== apiKey) throw new Refusal(401, 'X-API-Key: missing or not known');
      if (isLogin(url)) return this.#login();
      if (/^\/tables?\//.test(url.pathname)) this.#checkToken(headers['authorization']);
      const isMovable = method === 'GET' && /^\/(table|tables\/rows)\//.test(url.pathname);
      if (this.#model.isMoved && isMovable && !url.pathname.includes('/moved/')) {
        const location = url.pathname.replace(/[^/]+$/, 'moved/$&') + url.search;
        return { status: 307, headers: { location }, body: '' };
      }
      const path = unmoved(url.pathname);
      const endpoint = this.#endpoints.get(path) ?? this.shelf.at(path) ?? this.tables.at(path, this.#now());
      if (!endpoint) throw new Refusal(404, `Nothing is found at ${url.pathname}`);
      const query = new URLSearchParams(url.search);
      const since = sinceOf({ url, headers, body });
      if (since !== null) query.set('since', since);
      // The service's clock is right, whatever that of the process is.
      const date = new Date(epoch + this.#now()).toUTCString();
      const answer = { status: 200, headers: { date }, body: JSON.stringify(endpoint(query)()) };
      return url.pathname.startsWith('/streams-api/') ? this.#tagged(answer, headers['if-none-match']) : answer;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, body: JSON.stringify({ message: error.message }) };
    }
  };

  #login(): Answered {
    const { tokenLife } = this.#model;
    const token = tokenPrefix + String(this.#tokens.push(this.#now()));
    return { status: 200, body: JSON.stringify({ token, ...(tokenLife !== 'unknown' && { life: tokenLife }) }) };
  }

  #checkToken(authorization = ''): void {
    const { tokenLife, quota } = this.#model;
    if (tokenLife === undefined) return;
    const issued = this.#tokens[Number(authorization.replace(`Bearer ${tokenPrefix}`, '')) - 1] ?? -Infinity;
    const age = this.#now() - issued;
    if (tokenLife === 'unknown' && age > untoldTokenLife) throw new Refusal(401, 'This token is not valid any more');
    // A request may get a new token before it waits for the next window of the quota.
    if (tokenLife === 'unknown' || age <= tokenLife + tokenGrace + (quota?.window ?? 0)) return;
    if (this.#loginSent < issued && this.#now() <= this.#shutUntil + tokenGrace) return;
    this.wrong.push(`A token was sent ${age} ms after it was issued, and it is good for ${tokenLife} ms.`);
  }

  /** The same answer with its entity tag, or 304 if that is known. */
  #tagged({ status, headers, body }: Answered, known: string | undefined): Answered {
    if (!this.#tags) return { status, body, ...(headers && { headers }) };
    const tag = `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
    const tagged = { ...headers, etag: tag };
    if (known !== tag) return { status, headers: tagged, body };
    this.#notModified += 1;
    const isSilent = this.#tags === 'not with all 304s' && this.#notModified % 2 === 0;
    return { status: 304, headers: isSilent ? { ...headers } : tagged, body: '' };
  }
}
