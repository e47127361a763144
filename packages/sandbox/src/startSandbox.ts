/// <reference lib="esnext.disposable" preserve="true" />
import { aptosEndpoint } from './aptosEndpoint.js';
import { Cursors } from './cursor.js';
import type { HoldingRow } from './holdingRow.js';
import { Holdings, type CollectionFilter } from './holdings.js';
import { listen } from './listen.js';
import { fullAddress } from './owners.js';
import { requestListener, type Route } from './requestListener.js';
import { RequestLog, type LoggedRequest, type SandboxCounts } from './requestLog.js';
import { settingsOf, type EndpointName, type SandboxOptions } from './sandboxOptions.js';
import { StreamBook, type StreamPatch } from './streamBook.js';
import type { StreamRow } from './streamRow.js';
import { streamsEndpoint } from './streamsEndpoint.js';

/** A running sandbox. `await using` closes it. */
export interface Sandbox extends AsyncDisposable {
  /** `http://127.0.0.1:…`, without a path. */
  readonly url: string;
  /** Base address of the streams API: `{streamsUrl}/streams/evm`. */
  readonly streamsUrl: string;
  /** Base address of the Aptos NFT API: `{aptosUrl}/wallets/nfts`. */
  readonly aptosUrl: string;
  readonly port: number;
  /** What `X-API-Key` has to carry. */
  readonly apiKey: string;
  /** The addresses of all owners, in full: 0x and 64 hexadecimal digits. */
  readonly owners: readonly string[];

  /** The last 10,000 requests, oldest first. The list is live: it grows, and its open entries get an end. */
  readonly requests: readonly LoggedRequest[];
  /** Totals since the start, as they are now. */
  readonly counts: SandboxCounts;
  /**
   * Resolves as soon as the condition holds; it is asked whenever a request arrives or ends. Rejects if the sandbox closes.
   *
   * @example await sandbox.until(() => sandbox.counts.aborted === 1);
   */
  until(condition: () => boolean): Promise<void>;

  /** The holding of an index (from 0, over all owners): exactly what is sent. Raises `RangeError` beyond the last one. */
  holding(index: number): HoldingRow;
  /** All holdings of some owners in the order of the endpoint: owner by owner, as given. */
  holdingsOf(owners: readonly string[], filter?: CollectionFilter): Iterable<HoldingRow>;

  /** The stream of an index (from 0) as it is now. Raises `RangeError` where there is none. */
  stream(index: number): StreamRow;
  /** All streams as they are now, in listing order. */
  streamRows(): Iterable<StreamRow>;
  /** Replaces fields of a stream, and gives it as it is then. */
  setStream(index: number, patch: StreamPatch): StreamRow;
  /** Adds a stream at the end of the listing and gives its index. What the patch leaves open comes from the seed. */
  addStream(patch?: StreamPatch): number;
  /** Takes a stream out of the listing, and gives it as it was. */
  removeStream(index: number): StreamRow;
  /** Lets each row of an endpoint step back by `by` places (default 1), the last ones to the front; indices stay. */
  moveRows(endpoint: EndpointName, by?: number): void;

  /** Stops at once: open connections are cut, timers cleared. Calling it again does no harm. */
  close(): Promise<void>;
}

/**
 * Starts a local server of the two endpoints: seeded, so that the same options give the same bytes, of any size without
 * holding it in memory, and misbehaving on demand. It listens on 127.0.0.1 only and keeps the process alive until closed.
 *
 * Raises `RangeError` for an option that makes no sense, and `Error` where the port is taken.
 *
 * @example
 * await using sandbox = await startSandbox({ holdings: 10_000_000, faults: { serverError: 0.05 } });
 * const query = new URLSearchParams({ limit: '100', owner_addresses: sandbox.owners.join() });
 * const answer = await fetch(`${sandbox.aptosUrl}/wallets/nfts?${query}`, { headers: { 'X-API-Key': sandbox.apiKey } });
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsOf(options);
  const { apiKey, now, shapes, statusEvery } = settings;
  const startedAt = now();
  const log = new RequestLog(now);
  const cursors = new Cursors(settings);
  const holdings = new Holdings({ ...settings, nested: shapes.aptos.nested });
  const streams = new StreamBook({
    ...settings,
    nested: shapes.streams.nested,
    ticks: () => Math.floor((now() - startedAt) / statusEvery),
  });
  const rowsOf = { streams, aptos: holdings };

  const routes: readonly Route[] = [
    {
      name: 'streams',
      path: `${STREAMS_PATH}/streams/evm`,
      endpoint: streamsEndpoint(streams, cursors, shapes.streams),
      rows: streams,
    },
    {
      name: 'aptos',
      path: `${APTOS_PATH}/wallets/nfts`,
      endpoint: aptosEndpoint(holdings, cursors, shapes.aptos),
      rows: holdings,
    },
  ];

  const server = await listen(requestListener(settings, routes, log), settings.port, 'The sandbox');
  const { port } = server;
  const url = `http://127.0.0.1:${port}`;
  const close = (): Promise<void> => {
    log.close();
    return server.close();
  };

  return {
    url,
    streamsUrl: url + STREAMS_PATH,
    aptosUrl: url + APTOS_PATH,
    port,
    apiKey,
    owners: holdings.owners.addresses,
    requests: log.entries,
    get counts() {
      return log.counts;
    },
    until: (condition) => log.until(condition),
    holding: (index) => holdings.row(index),
    holdingsOf: (owners, filter) =>
      holdings.of(
        owners.map((owner) => fullAddress(owner) ?? owner),
        filter,
      ),
    stream: (index) => streams.row(index),
    streamRows: () => streams.read(0, streams.size).rows,
    setStream: (index, patch) => streams.set(index, patch),
    addStream: (patch = {}) => streams.add(patch),
    removeStream: (index) => streams.remove(index),
    moveRows(endpoint, by = 1) {
      rowsOf[endpoint].move(by);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const STREAMS_PATH = '/streams-api';
const APTOS_PATH = '/aptos-api';
