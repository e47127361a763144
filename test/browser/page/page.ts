// The functions that the test's page runs, one at a time: see page.test.ts.
import { aptos, type NftHolding } from '@sluice/aptos';
import {
  createClient,
  exportTo,
  memoryState,
  SluiceError,
  type Client,
  type ClientOptions,
  type Sink,
} from '@sluice/core';
import { streams, type EvmStream, type StreamsApi } from '@sluice/streams';
import { Subscription } from 'rxjs';

/** The address of the sandbox. */
export interface Place {
  readonly apiKey: string;
  readonly streamsUrl: string;
  readonly aptosUrl: string;
  readonly owners: readonly string[];
}

/** The outcome of a scenario that may fail. */
export interface Outcome {
  readonly rows: number;
  /** The events on the wire, in order. */
  readonly events: readonly string[];
  readonly code?: string;
  /** Everything that the error reveals. */
  readonly error?: string;
}

/** The outcome of each scenario. */
export interface Outcomes {
  readonly walk: { readonly streams: readonly string[]; readonly holdings: readonly string[] };
  readonly list: Outcome;
  readonly abandon: undefined;
  readonly watch: readonly string[];
  readonly show: string;
  readonly walkInWorker: number;
}

/** Each receives the address of the sandbox. */
export type Scenarios = { readonly [Name in keyof Outcomes]: (place: Place) => Promise<Outcomes[Name]> };

const scenarios: Scenarios = {
  /** Every row of both listings, as JSON. */
  async walk(place) {
    await using client = open(place).use(aptos({ baseUrl: place.aptosUrl }));
    const holdings: NftHolding[] = [];
    for await (const nft of client.aptos.nfts({ ownerAddresses: place.owners })) holdings.push(nft);
    const list = await client.streams.list().toArray();
    return { streams: list.map((row) => JSON.stringify(row)), holdings: holdings.map((row) => JSON.stringify(row)) };
  },

  /** The streams, whatever goes wrong on the way. */
  async list(place) {
    await using client = open(place, { retry: { retries: 2, baseDelay: 1 } });
    const events: string[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'response') events.push(`response ${event.status}`);
      if (event.type === 'retry') events.push('retry');
      if (event.type === 'paused') events.push(`paused for ${event.for}`);
    });
    try {
      return { rows: (await client.streams.list().toArray()).length, events };
    } catch (error) {
      if (!SluiceError.is(error)) throw error;
      const { code, stack = '', cause } = error;
      return { rows: 0, events, code, error: [error, stack, JSON.stringify(error), cause].map(String).join('\n') };
    }
  },

  /** Cancels a walk after its first row, when the test says so. */
  async abandon(place) {
    await using client = open(place);
    const walk = new Subscription();
    await new Promise<void>((resolve, reject) => {
      walk.add(client.streams.list({ pageSize: 10 }).subscribe({ next: () => resolve(), error: reject }));
    });
    await tell('first row');
    walk.unsubscribe();
    return undefined;
  },

  /** The changes until a stream has an error, each reported as it arrives. */
  async watch(place) {
    await using client = open(place);
    const seen: string[] = [];
    for await (const { type, key, after } of client.streams.list.watch({}, { every: 20, state: memoryState() })) {
      seen.push(`${type} ${key}`);
      await tell(`${type} ${key}`);
      if (after?.status === 'error') break;
    }
    return seen;
  },

  /** The streams, as a list on the page. */
  async show(place) {
    await using client = open(place);
    const { rows, target } = await exportTo(client.streams.list(), pageSink('#streams'), {
      state: memoryState(),
    }).run();
    return `${rows} rows in ${target}`;
  },

  /** The same walk in a worker. */
  walkInWorker(place) {
    return new Promise((resolve, reject) => {
      const worker = new Worker('/worker.js', { type: 'module' });
      worker.onmessage = ({ data }: MessageEvent<number>) => {
        resolve(data);
      };
      worker.onerror = ({ message }) => {
        reject(new Error(message));
      };
      worker.postMessage(place);
    });
  },
};

function open(
  { apiKey, streamsUrl }: Place,
  options: Partial<ClientOptions> = {},
): Client & { readonly streams: StreamsApi } {
  return createClient({ apiKey, rateLimit: false, ...options }).use(streams({ baseUrl: streamsUrl }));
}

/** A sink as a page's author might write it: one line per row. */
function pageSink(selector: string): Sink<EvmStream> {
  return {
    name: 'page',
    identity: null,
    delivery: 'at-least-once',
    open() {
      const list = document.querySelector(selector);
      if (!list) throw new Error(`Nothing on the page is ${selector}.`);
      const rows = (): Promise<number> => Promise.resolve(list.childElementCount);
      return Promise.resolve({
        write({ items }) {
          for (const { id } of items) {
            const line = document.createElement('li');
            line.textContent = String(id);
            list.append(line);
          }
          return Promise.resolve();
        },
        flush: rows,
        seal: rows,
        close: () => Promise.resolve({ target: selector }),
        abort: () => Promise.resolve(),
      });
    },
  };
}

declare global {
  // A `let` or `const` would not become a property of the window.
  var scenarios: Scenarios;
  /** Called by the test. */
  function tell(line: string): Promise<void>;
}

globalThis.scenarios = scenarios;
