import {
  Source,
  type Page,
  type PagesOptions,
  type Position,
  type PullIterator,
  type SourceDefinition,
} from '@sluice/core';
import type { SourceFixture, TestedSource } from '../../src/index.js';
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

export const sourceMutants: Mutants<SourceFixture<Item>> = {
  'forgets a page when it is pushed': mutant(
    'gives the same rows by page, by row and pushed, whenever it is asked',
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
    return { caughtBy: 'gives the same rows by page, by row and pushed, whenever it is asked', factory };
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
    return { caughtBy: 'serves two who walk at the same time', factory };
  })(),

  'does not count its pages': walkMutant(
    'tells of each page which one it is, and where its partition ends',
    (source, options) => eachPage(source.pages(options), () => ({ index: 0 })),
  ),

  'does not say where a partition ends': walkMutant(
    'tells of each page which one it is, and where its partition ends',
    (source, options) => eachPage(source.pages(options), () => ({ endsPartition: false })),
  ),

  'has one position for all pages': (() => {
    const spoil = (source: Items, options: PagesOptions): AsyncIterator<Page<Item>> => {
      const current: Record<string, unknown> = {};
      return eachPage(source.pages(options), ({ position }) => ({
        position: Object.assign(current, position),
      }));
    };
    return walkMutant('says where it stands behind each page, once and for all', spoil);
  })(),

  'has positions that JSON does not keep': walkMutant(
    'says where it stands behind each page, once and for all',
    (source, options) =>
      eachPage(source.pages(options), ({ position }) => ({ position: { ...position, at: new Date(0) } })),
  ),

  'has positions that skip a page': walkMutant(
    'goes on behind any page with just the rows that are left',
    (source, options) =>
      (async function* () {
        const pages: Page<Item>[] = [];
        for await (const page of source.pages(options)) pages.push(page);
        for (const [at, page] of pages.entries()) yield { ...page, position: (pages[at + 1] ?? page).position };
      })(),
  ),

  'has positions that give a page again': walkMutant(
    'goes on behind any page with just the rows that are left',
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
    'can be walked by a page at a time, each found by the position before',
    (source, options) => {
      const { startAt } = options;
      const hasBegun = typeof startAt === 'object' && startAt.pages > 0;
      return eachPage(source.pages(options), () => (hasBegun ? { position: startAt } : {}));
    },
  ),

  'loses rows when its concurrency is 2': walkMutant(
    'gives the same rows with a concurrency above 1, and goes on behind any page of theirs',
    (source, options) =>
      eachPage(source.pages(options), ({ partition }) =>
        options.concurrency === 2 && partition === 1 ? { items: [] } : {},
      ),
  ),

  'gives a row twice': walkMutant('tells its rows apart by their keys', (source, options) =>
    eachPage(source.pages(options), ({ items }) => ({ items: [...items, ...items.slice(-1)] })),
  ),

  'has the same key for all': definitionMutant('tells its rows apart by their keys', () => ({
    schema: { columns: ['id'], key: () => 'row' },
  })),

  'is hot': mutant('asks for nothing before somebody wants its rows', (source) => {
    source.subscribe();
    return source;
  }),

  'asks as soon as it is asked for pages': mutant('asks for nothing before somebody wants its rows', (source) => ({
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
    return { caughtBy: 'makes requests of its own for each subscriber', factory };
  })(),

  'fetches ahead without bound': walkMutant(
    'holds no more pages than one for each partition that is walked, and those it may fetch ahead',
    (source, options) => source.pages({ ...options, prefetch: 100 })[Symbol.asyncIterator](),
  ),

  'goes on when its subscriber has left': mutant('asks for nothing more once its subscriber has left', (source) => ({
    ...bare(source),
    subscribe: (observer) => {
      source.subscribe(observer);
      return { unsubscribe: () => undefined };
    },
  })),

  'goes on when its iterator has left': walkMutant(
    'asks for nothing more once its iterator has left',
    (source, options) => {
      const pages = source.pages({ ...options, prefetch: 0 })[Symbol.asyncIterator]();
      const walkOn = async (): Promise<void> => {
        for await (const page of pages) void page;
      };
      return { next: () => pages.next(), return: async () => (void walkOn(), { done: true, value: undefined }) };
    },
  ),

  'lets go of nothing that is under way': definitionMutant(
    'gives the open request up at once when its subscriber leaves',
    (api) => ({
      fetch: (request) => api.fetch({ ...request, signal: new AbortController().signal }),
    }),
  ),

  'ends only when the open request has ended': walkMutant(
    'ends at once when its iterator leaves, and gives the open request up',
    (source, options) => eachPage(source.pages(options), () => ({})),
  ),

  'tells of a fault before the rows that came before it': walkMutant(
    'gives all earlier rows before a fault, and the position to go on from',
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
    'gives all earlier rows before a fault, and the position to go on from',
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
    'tells a subscriber of a fault once, behind all earlier rows',
    (source, options) =>
      (async function* () {
        try {
          yield* source.pages(options);
        } catch {
          // As if it were through.
        }
      })(),
  ),

  'goes on after a fault': mutant('asks for nothing more after a fault', (source) => ({
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

  'takes any position': mutant(
    'refuses, before it asks for anything, a position that is none of its plan',
    (source) => ({
      ...bare(source),
      pages: () => source.pages(),
    }),
  ),

  'is another one each time': definitionMutant('says what it is, and always the same', () => ({
    identity: { made: crypto.randomUUID() },
  })),

  'has an identity that JSON does not keep': definitionMutant('says what it is, and always the same', () => ({
    identity: { since: undefined as unknown as null },
  })),

  'gives its key away': definitionMutant('tells API keys apart without giving them away', () => ({
    endpoint: { keyFingerprint: async (salt) => `${salt} and the key that nobody may know` },
  })),

  'has one fingerprint for all salts': definitionMutant('tells API keys apart without giving them away', () => ({
    endpoint: { keyFingerprint: async () => 'abc' },
  })),
};
