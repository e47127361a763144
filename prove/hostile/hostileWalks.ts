import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { aptos, type AptosApi } from '../../packages/aptos/src/index.js';
import {
  createClient,
  exportTo,
  memoryState,
  type Change,
  type Client,
  type ClientOptions,
  type Source,
} from '../../packages/core/src/index.js';
import { csv, csvFormat } from '../../packages/exporters/src/csv.js';
import { jsonl, jsonlFormat } from '../../packages/exporters/src/jsonl.js';
import { streams, type StreamsApi } from '../../packages/streams/src/index.js';
import { AnsweringLink } from './answeringLink.js';
import type { ApiName } from '../../test/kit/apiReference.js';
import { exactJson } from './exactJson.js';
import type { PageCursor } from './expectedWalk.js';
import { hostileKey } from './keyTraces.js';
import { outcomeOf, seen, type Outcome } from './outcome.js';
import { pollution } from './pollution.js';

/** What happens to the rows of a walk: they are emitted, encoded as text, written to a file, or compared by a watch. */
export type Use = 'rows' | 'texts' | 'file' | 'watch';

/** A walk, and the responses that it receives. */
export interface HostileWalk {
  readonly api: ApiName;
  readonly use: Use;
  /** The documents of its responses; of a watch, those of its second poll. */
  readonly texts: readonly string[];
  /** The result of a watch's first poll: a listing of one page, however odd its rows are. */
  readonly first?: string;
}

/** A walk to perform. Its texts are read without a socket in between; if there are none, the server responds. */
export type WalkOrder = Omit<HostileWalk, 'texts'> & Partial<Pick<HostileWalk, 'texts'>>;

/** The outcome of a walk. */
export interface WalkReport extends Outcome {
  readonly marks: readonly PageCursor[];
  /** The rows as CSV and as JSON Lines, if they were written. */
  readonly written?: { readonly csv?: string; readonly jsonl?: string };
  /** Those of a watch's second poll, as exact JSON. */
  readonly changes?: readonly SeenChange[];
  /** Changes of global objects. */
  readonly pollution?: string;
  /** Uncaught exceptions and rejections, if somebody listens for them. */
  readonly strays?: readonly string[];
}

/** A change as plain values, with its rows as exact JSON. */
export interface SeenChange {
  readonly type: string;
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

type Unmarked = Omit<WalkReport, 'marks'>;

/** Walks through both APIs, one at a time, and reports the outcome of each as plain values. */
export class HostileWalks {
  readonly #answering = new AnsweringLink(hostileKey);
  readonly #url: string;
  readonly #folder: string;
  #client: HostileClient;
  #files = 0;

  /** @param folder an empty one, for files. */
  constructor({ url, folder }: { readonly url: string; readonly folder: string }) {
    this.#url = url;
    this.#folder = folder;
    this.#client = this.#newClient();
  }

  async walk({ api, use, texts, first }: WalkOrder): Promise<WalkReport> {
    this.#answering.answerWith(api, texts && [...(first === undefined ? [] : [first]), ...texts]);
    const { marks } = this.#answering;
    const report = use === 'watch' ? await this.#watched(api) : await this.#walked(sourceOf(this.#client, api), use);
    if (report.error?.code === 'rate-limited') await this.#renewClient();
    const polluted = pollution();
    return { ...report, marks, ...(polluted !== undefined && { pollution: polluted }) };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #newClient(): HostileClient {
    return clientOf(this.#url, { rateLimit: false, links: [this.#answering.link] });
  }

  /** All requests of a client keep the pause that a server asked for, however long: the next walk would wait for it. */
  async #renewClient(): Promise<void> {
    await this.#client.close();
    this.#client = this.#newClient();
  }

  #walked(source: Source<object>, use: Exclude<Use, 'watch'>): Promise<Unmarked> {
    if (use === 'rows') return outcomeOf(source, hostileKey);
    return use === 'texts' ? writtenAsTexts(source) : this.#writtenToFiles(source);
  }

  /** Formats take turns. The rows are reported only by the content of the file. */
  async #writtenToFiles(source: Source<object>): Promise<Unmarked> {
    this.#files += 1;
    const kind = this.#files % 2 === 0 ? 'csv' : 'jsonl';
    const home = join(this.#folder, String(this.#files));
    const path = `${home}/rows.${kind}`;
    await mkdir(home);
    try {
      await exportTo(source, kind === 'csv' ? csv({ path }) : jsonl({ path }), { state: memoryState() }).run();
      return { rows: [], traces: [], written: { [kind]: await readFile(path, 'utf8') } };
    } catch (error) {
      return { rows: [], ...seen(error, hostileKey) };
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }

  /** The first poll finds the first responses; the changes are those that the second poll finds in the rest. */
  async #watched(api: ApiName): Promise<Unmarked> {
    const options = { every: 1, polls: 2, confirmations: 1, acceptRemovals: true };
    const source: Source<Change<object>> =
      api === 'streams'
        ? this.#client.streams.list.watch({}, options)
        : this.#client.aptos.nfts.watch({ ownerAddresses: ['0x1'] }, options);
    const changes: SeenChange[] = [];
    let outcome: Outcome = { rows: [], traces: [] };
    try {
      for await (const { items, health, index } of source.pages()) {
        if (health?.error !== undefined) outcome = { rows: [], ...seen(health.error, hostileKey) };
        if (index === 0 && health?.outcome !== 'polled') throw new Error('The first poll has failed.');
        if (index > 0)
          for (const { type, key, before, after } of items)
            changes.push({ type, key, before: exactJson(before), after: exactJson(after) });
      }
      return { ...outcome, changes };
    } catch (error) {
      return { rows: [], ...seen(error, hostileKey) };
    }
  }
}

async function writtenAsTexts(source: Source<object>): Promise<Unmarked> {
  const written = { csv: '', jsonl: '' };
  const encoders = { csv: csvFormat().encoder(source.info.schema), jsonl: jsonlFormat().encoder(source.info.schema) };
  written.csv += encoders.csv.header;
  const outcome = await outcomeOf(source, hostileKey, (rows) => {
    written.csv += encoders.csv.encode(rows);
    written.jsonl += encoders.jsonl.encode(rows);
  });
  return { ...outcome, written };
}

type HostileClient = Client & { readonly streams: StreamsApi; readonly aptos: AptosApi };

/** A client of both APIs at this address, with short timeouts. */
export function clientOf(url: string, options: Partial<ClientOptions>): HostileClient {
  const client = createClient({
    apiKey: hostileKey,
    // One retry, so that a connection that the server closes after a response does not fail the next one.
    retry: { retries: 1, baseDelay: 0, maxRetryAfter: 5 },
    timeouts: { response: 20_000 },
    ...options,
  });
  return client.use(streams({ baseUrl: `${url}/streams` })).use(aptos({ baseUrl: `${url}/aptos` }));
}

export function sourceOf(client: HostileClient, api: ApiName): Source<object> {
  return api === 'streams' ? client.streams.list() : client.aptos.nfts({ ownerAddresses: ['0x1'] });
}
