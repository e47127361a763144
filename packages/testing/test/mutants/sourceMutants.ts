import {
  SluiceError,
  Source,
  type Page,
  type FetchedPage,
  type PagesOptions,
  type Position,
  type SourceDefinition,
} from '@sluice/core';
import type { PullIterator, Since } from '@sluice/core/kit';
import type { Answering, SentRequest, SourceFixture, TestedSource } from '../../src/index.js';
import { ListingApi, type Item } from '../listingApi.js';
import type { Mutants } from './mutant.js';

type Items = Source<Item>;
type Definition = SourceDefinition<Item>;

/** A source on a listing, changed in one place. */
function mutant(caughtBy: string, spoil: (source: Items, api: ListingApi) => TestedSource<Item>) {
  const factory = (): SourceFixture<Item> => {
    const api = new ListingApi();
    return api.fixture(() => spoil(api.source(), api));
  };
  return { caughtBy, factory };
}

/** The same where its definition is the one that is changed. */
function definitionMutant(caughtBy: string, spoil: (api: ListingApi) => Partial<Definition>) {
  return mutant(caughtBy, (_, api) => api.source(spoil(api)));
}

/** The same where what it sends is. */
function requestMutant(
  caughtBy: string,
  spoil: (request: SentRequest, before: SentRequest | undefined) => Partial<SentRequest>,
) {
  return mutant(caughtBy, (source, api) => {
    const { received } = api;
    let before: SentRequest | undefined;
    api.received = (partition, cursor, from) => {
      const request = received(partition, cursor, from);
      const spoilt = { ...request, ...spoil(request, before) };
      before = request;
      return spoilt;
    };
    return source;
  });
}

/** The same where the beginning of an increment is. */
function sinceMutant(caughtBy: string, spoil: (since: Since) => Since) {
  return definitionMutant(caughtBy, (api) => ({
    fetch: ({ since, ...request }) => api.fetch({ ...request, ...(since && { since: spoil(since) }) }),
  }));
}

/** The same where its walks are. */
function walkMutant(caughtBy: string, spoil: (source: Items, options: PagesOptions) => AsyncIterator<Page<Item>>) {
  return mutant(caughtBy, (source) => new Source(source.info, (options) => minimalIterator(spoil(source, options))));
}

/** An iterator that says no more than it has to. */
function minimalIterator<R>(iterator: AsyncIterator<R>): PullIterator<R> {
  const end = async () => {
    await iterator.return?.();
    return { done: true, value: undefined } as const;
  };
  const minimal: PullIterator<R> = {
    next: async () => {
      const next = await iterator.next();
      return next.done ? { done: true, value: undefined } : next;
    },
    return: end,
    [Symbol.asyncIterator]: () => minimal,
    [Symbol.asyncDispose]: async () => void (await end()),
  };
  return minimal;
}

/** Each page, changed. */
async function* eachPage(
  pages: AsyncIterable<Page<Item>>,
  change: (page: Page<Item>) => Partial<Page<Item>>,
): AsyncGenerator<Page<Item>> {
  for await (const page of pages) {
    const { items, index, partition, endsPartition, position } = page;
    yield { items, index, partition, endsPartition, position, ...change(page) };
  }
}

/** A source as somebody else may have made it, to be changed. */
function bare(source: Items): TestedSource<Item> {
  return {
    info: source.info,
    pages: (options) => source.pages(options),
    subscribe: (observer) => source.subscribe(observer),
    [Symbol.asyncIterator]: () => source[Symbol.asyncIterator](),
  };
}

/** The same where its pages are, while its API responds in some way. */
function pageMutant(
  caughtBy: string,
  how: Answering,
  spoil: (page: FetchedPage<Item>, request: Parameters<Definition['fetch']>[0]) => FetchedPage<Item>,
) {
  return definitionMutant(caughtBy, (api) => ({
    fetch: async (request) => {
      const page = (await api.fetch(request)) as FetchedPage<Item>;
      return api.how === how ? spoil(page, request) : page;
    },
  }));
}

/** Rows that are as new each time: no page equals another one. */
function renewed(page: FetchedPage<Item>): FetchedPage<Item> {
  return {
    ...page,
    received: page.rows.map((row) => ({ ...row, nth: (renewals += 1) })),
    next: { cursor: String(renewals) },
  };
}

let renewals = 0;

export const sourceMutants: Mutants<SourceFixture<Item>> = {
  'forgets a page when it is pushed': mutant(
    'emits the same rows by page, by row and pushed, on every walk',
    (source) =>
      new Source(source.info, (options) => {
        const pages = source.pages(options);
        // Who is pushed has nothing fetched ahead.
        return minimalIterator(
          options.prefetch > 0
            ? pages[Symbol.asyncIterator]()
            : eachPage(pages, ({ index }) => (index === 1 ? { items: [] } : {})),
        );
      }),
  ),

  'is used up by its first walk': (() => {
    const factory = (): SourceFixture<Item> => {
      const api = new ListingApi();
      let walks = 0;
      const fetch: Definition['fetch'] = async (request) => {
        walks += request.at || request.partition > 0 ? 0 : 1;
        return walks > 1 ? { rows: [], next: 'end' } : api.fetch(request);
      };
      return api.fixture(() => api.source({ fetch }));
    };
    return { caughtBy: 'emits the same rows by page, by row and pushed, on every walk', factory };
  })(),

  'walks on behind the partition that it was given': walkMutant('walks one partition by itself', (source, options) => {
    const { startAt, partition, ...others } = options;
    if (partition === undefined || typeof startAt !== 'object') return eachPage(source.pages(options), () => ({}));
    const { begun, before, rows, pages } = startAt;
    const whole = source.pages({ ...others, startAt: { begun, before, rows, pages } });
    return eachPage(whole, ({ position }) => ({ position: { ...position, partition } }));
  }),

  'starts the partition over that it was given': walkMutant(
    'walks one partition by itself',
    (source, { startAt, ...options }) =>
      eachPage(
        source.pages(options.partition === undefined && startAt ? { ...options, startAt } : options),
        () => ({}),
      ),
  ),

  'stores a page without its last row': (() => {
    const factory = (): SourceFixture<Item> => {
      const api = new ListingApi();
      const polls = new WeakSet<object>();
      const fetch: Definition['fetch'] = async (request) => {
        const page = await api.fetch(request);
        const { cache } = request;
        if (!cache || request.at || request.partition > 0 || !('rows' in page)) return page;
        const isStored = polls.has(cache);
        polls.add(cache);
        return isStored ? { ...page, rows: page.rows.slice(0, -1) } : page;
      };
      return api.fixture(() => api.source({ fetch }));
    };
    return {
      caughtBy: 'emits the same rows on every poll, also where its API says that pages have not changed',
      factory,
    };
  })(),

  'has one cursor for all who walk': (() => {
    const factory = (): SourceFixture<Item> => {
      const api = new ListingApi();
      let at: Parameters<Definition['fetch']>[0]['at'];
      const fetch: Definition['fetch'] = async (request) => {
        if (!request.at) at = undefined;
        const page = await api.fetch({ ...request, at });
        if (page.next !== 'end' && page.next !== 'by-offset') at = page.next;
        return page;
      };
      return api.fixture(() => api.source({ fetch }));
    };
    return { caughtBy: 'serves two walks at the same time', factory };
  })(),

  'does not count its pages': walkMutant(
    'gives each page its index, and marks where its partition ends',
    (source, options) => eachPage(source.pages(options), () => ({ index: 0 })),
  ),

  'does not say where a partition ends': walkMutant(
    'gives each page its index, and marks where its partition ends',
    (source, options) => eachPage(source.pages(options), () => ({ endsPartition: false })),
  ),

  'has one position for all pages': (() => {
    const spoil = (source: Items, options: PagesOptions): AsyncIterator<Page<Item>> => {
      const current: Record<string, unknown> = {};
      return eachPage(source.pages(options), ({ position }) => ({
        position: Object.assign(current, position),
      }));
    };
    return walkMutant('gives each page a position that never changes', spoil);
  })(),

  'has positions that JSON does not keep': walkMutant(
    'gives each page a position that never changes',
    (source, options) =>
      eachPage(source.pages(options), ({ position }) => ({ position: { ...position, at: new Date(0) } })),
  ),

  'has positions that skip a page': walkMutant(
    'resumes after any page with exactly the remaining rows',
    (source, options) =>
      (async function* () {
        const pages: Page<Item>[] = [];
        for await (const page of source.pages(options)) pages.push(page);
        for (const [at, page] of pages.entries()) yield { ...page, position: (pages[at + 1] ?? page).position };
      })(),
  ),

  'has positions that give a page again': walkMutant(
    'resumes after any page with exactly the remaining rows',
    (source, options) =>
      (async function* () {
        let before: Position = { before: 0, begun: {}, rows: 0, pages: 0 };
        for await (const page of source.pages(options)) {
          yield { ...page, position: before };
          before = page.position;
        }
      })(),
  ),

  'loses its way once it has gone on': walkMutant(
    'can be walked one page at a time, each from the position before',
    (source, options) => {
      const { startAt } = options;
      const hasBegun = typeof startAt === 'object' && startAt.pages > 0;
      return eachPage(source.pages(options), () => (hasBegun ? { position: startAt } : {}));
    },
  ),

  'loses rows when its concurrency is 2': walkMutant(
    'emits the same rows with a concurrency above 1, and resumes after any page',
    (source, options) =>
      eachPage(source.pages(options), ({ partition }) =>
        options.concurrency === 2 && partition === 1 ? { items: [] } : {},
      ),
  ),

  'gives a row twice': walkMutant('identifies its rows by their keys', (source, options) =>
    eachPage(source.pages(options), ({ items }) => ({ items: [...items, ...items.slice(-1)] })),
  ),

  'has the same key for all': definitionMutant('identifies its rows by their keys', () => ({
    schema: { columns: ['id'], key: () => 'row' },
  })),

  'is hot': mutant('requests nothing before somebody pulls or subscribes', (source) => {
    source.subscribe();
    return source;
  }),

  'asks as soon as it is asked for pages': mutant('requests nothing before somebody pulls or subscribes', (source) => ({
    ...bare(source),
    pages: (options) => {
      const walk = source.pages(options)[Symbol.asyncIterator]();
      void walk.next();
      return walk;
    },
  })),

  'remembers what it was told': (() => {
    const factory = (): SourceFixture<Item> => {
      const api = new ListingApi();
      const known = new Map<string, ReturnType<Definition['fetch']>>();
      const fetch: Definition['fetch'] = (request) => {
        const question = JSON.stringify([request.partition, request.at]);
        const answer = known.get(question) ?? api.fetch(request);
        known.set(question, answer);
        return answer;
      };
      return api.fixture(() => api.source({ fetch }));
    };
    return { caughtBy: 'makes separate requests for each subscriber', factory };
  })(),

  'fetches ahead without bound': walkMutant(
    'buffers at most one page per walked partition, plus those it may prefetch',
    (source, options) => source.pages({ ...options, prefetch: 100 })[Symbol.asyncIterator](),
  ),

  'leaves its cursor in the body for the next walk': requestMutant(
    'sends the same requests on every walk',
    ({ body = '{}' }, before) => ({
      body: JSON.stringify({ ...JSON.parse(before?.body ?? '{}'), ...JSON.parse(body) }),
    }),
  ),

  'keeps its cursor to itself': requestMutant('sends another request for each page, in its URL or in its body', () => ({
    body: '{"size":10}',
  })),

  'sends a body that is not JSON': requestMutant('sends bodies as JSON, and none with GET', ({ body }) => ({
    body: `after=${String(body)}`,
  })),

  'sends a body with GET': requestMutant('sends bodies as JSON, and none with GET', () => ({ method: 'GET' })),

  'sends JSON as something else': requestMutant('sends bodies as JSON, and none with GET', () => ({
    contentType: 'application/x-www-form-urlencoded',
  })),

  'sends no mark': requestMutant('sends the mark of an increment', ({ body = '{}' }) => ({
    body: JSON.stringify({ ...JSON.parse(body), from: undefined }),
  })),

  'walks all rows with each increment': sinceMutant(
    'begins an increment at the mark of the walk before, and emits all rows from there on',
    ({ isKnown }) => (isKnown ? { isKnown } : {}),
  ),

  'leaves out the row at the mark': sinceMutant(
    'begins an increment at the mark of the walk before, and emits all rows from there on',
    ({ from, isKnown }) => ({ from: `${from}.0.0+`, ...(isKnown && { isKnown }) }),
  ),

  'emits known rows again': sinceMutant(
    'emits no row of an increment that is known from the walk before',
    ({ from }) => (from === undefined ? {} : { from }),
  ),

  'emits the row at the end of an increment': sinceMutant(
    'ends an increment before a value, and emits all rows that are before it',
    ({ before, ...since }) => ({ ...since, ...(before !== undefined && { before: `${before}+` }) }),
  ),

  'does not wait for its quota': mutant(
    'waits while its API says that nothing is left of a quota, and then continues',
    (source, api) => {
      api.isPatient = false;
      return source;
    },
  ),

  'goes on when its subscriber has left': mutant(
    'requests nothing more after its subscriber has unsubscribed',
    (source) => ({
      ...bare(source),
      subscribe: (observer) => {
        source.subscribe(observer);
        return { unsubscribe: () => undefined };
      },
    }),
  ),

  'goes on when its iterator has left': walkMutant(
    'requests nothing more after its iterator has returned',
    (source, options) => {
      const pages = source.pages({ ...options, prefetch: 0 })[Symbol.asyncIterator]();
      const walkOn = async (): Promise<void> => {
        for await (const page of pages) void page;
      };
      return { next: () => pages.next(), return: async () => (void walkOn(), { done: true, value: undefined }) };
    },
  ),

  'lets go of nothing that is under way': definitionMutant(
    'cancels the open request at once when its subscriber unsubscribes',
    (api) => ({
      fetch: (request) => api.fetch({ ...request, signal: new AbortController().signal }),
    }),
  ),

  'ends only when the open request has ended': walkMutant(
    'ends at once when its iterator returns, and cancels the open request',
    (source, options) => eachPage(source.pages(options), () => ({})),
  ),

  'tells of a fault before the rows that came before it': walkMutant(
    'emits all earlier rows before an error, and the position to resume from',
    (source, options) => {
      const pages = source.pages({ ...options, prefetch: 0 })[Symbol.asyncIterator]();
      const ahead: Promise<IteratorResult<Page<Item>, undefined>>[] = [];
      const next = async () => {
        while (ahead.length < 3) ahead.push(pages.next());
        // As soon as one of them fails.
        await Promise.all(ahead);
        return ahead.shift() ?? pages.next();
      };
      return { next, return: () => pages.return() };
    },
  ),

  'does not say where a fault has come': walkMutant(
    'emits all earlier rows before an error, and the position to resume from',
    (source, options) =>
      (async function* () {
        try {
          yield* source.pages(options);
        } catch (error) {
          throw new Error('Something went wrong.', { cause: error });
        }
      })(),
  ),

  'takes a fault for the end': walkMutant(
    'notifies a subscriber of an error once, after all earlier rows',
    (source, options) =>
      (async function* () {
        try {
          yield* source.pages(options);
        } catch {
          // As if it were through.
        }
      })(),
  ),

  'goes on after a fault': mutant('requests nothing more after an error', (source) => ({
    ...bare(source),
    pages: (options) => {
      let walk = source.pages(options)[Symbol.asyncIterator]();
      const next = () =>
        walk.next().catch((error: unknown) => {
          walk = source.pages(options)[Symbol.asyncIterator]();
          throw error;
        });
      return { [Symbol.asyncIterator]: () => ({ next, return: () => walk.return() }) };
    },
  })),

  'takes any position': mutant('refuses a position of another plan before it requests anything', (source) => ({
    ...bare(source),
    pages: () => source.pages(),
  })),

  'is another one each time': definitionMutant('describes itself, always in the same way', () => ({
    identity: { made: crypto.randomUUID() },
  })),

  'has an identity that JSON does not keep': definitionMutant('describes itself, always in the same way', () => ({
    identity: { since: undefined as unknown as null },
  })),

  'gives its key away': definitionMutant('distinguishes API keys without revealing them', () => ({
    endpoint: { keyFingerprint: async (salt) => `${salt} and the key that nobody may know` },
  })),

  'has one fingerprint for all salts': definitionMutant('distinguishes API keys without revealing them', () => ({
    endpoint: { keyFingerprint: async () => 'abc' },
  })),

  'takes a page with fewer rows than requested for the last one': pageMutant(
    'walks all rows where its API allows fewer rows a page than it requests',
    'small-pages',
    (page) => ({ ...page, next: 'end' }),
  ),

  'takes a page that came before for the end': pageMutant(
    'fails where its API sends the first page whatever is requested',
    'same-page',
    (page) => ({ ...page, rows: [], received: [], next: 'end' }),
  ),

  'does not notice a page that came before': pageMutant(
    'fails where its API sends the first page whatever is requested',
    'same-page',
    renewed,
  ),

  'walks its last page for ever': pageMutant(
    'emits no row again where its API sends the last page for ever',
    'same-page',
    renewed,
  ),

  'counts rows that are gone': (() => {
    const factory = (): SourceFixture<Item> => {
      const api = new ListingApi();
      let first: Answering = 'well';
      const fetch: Definition['fetch'] = async (request) => {
        if (!request.at && request.partition === 0) first = api.how;
        const page = (await api.fetch(request)) as FetchedPage<Item>;
        return api.how === first ? page : { ...page, rows: page.rows.slice(1) };
      };
      return api.fixture(() => api.source({ fetch }));
    };
    return { caughtBy: 'misses and repeats no row while a row before it is removed or added', factory };
  })(),

  'takes what it cannot read for the end': definitionMutant('takes no other document for a page', (api) => ({
    fetch: (request) =>
      api.fetch(request).catch((error: unknown) => {
        if (SluiceError.is(error, 'decode')) return { rows: [], next: 'end' };
        throw error;
      }),
  })),

  'believes that its API filters': definitionMutant(
    'leaves out rows from before the mark where its API does not filter by it',
    (api) => ({
      fetch: ({ since, ...request }) => api.fetch(api.how === 'same-page' || !since ? request : { ...request, since }),
    }),
  ),
};
