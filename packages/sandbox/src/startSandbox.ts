import { aptosEndpoint } from './aptosEndpoint.js';
import { Cursors } from './cursor.js';
import type { HoldingRow } from './served/holdingRow.js';
import { Holdings, type CollectionFilter } from './served/holdings.js';
import { listen, type LocalServer } from './listen.js';
import { fullAddress } from './served/owners.js';
import { requestListener, type Route } from './requestListener.js';
import { RequestLog, type LoggedRequest, type SandboxCounts } from './requestLog.js';
import { checkOptions, type EndpointName, type SandboxOptions } from './sandboxOptions.js';
import { StreamBook, type StreamPatch } from './served/streamBook.js';
import type { StreamRow } from './served/streamRow.js';
import { streamsEndpoint } from './streamsEndpoint.js';

/** A running sandbox. */
export interface Sandbox extends LocalServer {
  /** Base URL of the streams API: `{streamsUrl}/streams/evm`. */
  readonly streamsUrl: string;
  /** Base URL of the Aptos NFT API: `{aptosUrl}/wallets/nfts`. */
  readonly aptosUrl: string;
  /** The required `X-API-Key`. */
  readonly apiKey: string;
  /** The full addresses of all owners: 0x and 64 hexadecimal digits. */
  readonly owners: readonly string[];

  /** The last 10,000 requests, oldest first. Live: the list and its open entries change. */
  readonly requests: readonly LoggedRequest[];
  /** The current totals since the start. */
  readonly counts: SandboxCounts;

  /** The holding of an index from 0, exactly as it is sent. Throws `RangeError` after the last one. */
  holding(index: number): HoldingRow;
  /** All holdings of some owners in the order of the endpoint: by owner, as given. */
  holdingsOf(owners: readonly string[], filter?: CollectionFilter): Iterable<HoldingRow>;

  /** The current stream of an index from 0. Throws `RangeError` if there is none. */
  stream(index: number): StreamRow;
  /** All current streams, in listing order. */
  streamRows(): Iterable<StreamRow>;
  /** Replaces fields of a stream and returns the result. */
  setStream(index: number, patch: StreamPatch): StreamRow;
  /** Appends a stream and returns its index. Fields that the patch leaves out come from the seed. */
  addStream(patch?: StreamPatch): number;
  /** Removes a stream from the listing and returns it. */
  removeStream(index: number): StreamRow;
  /** Moves each row of an endpoint back by `by` places (default 1), the last ones to the front. Indices stay. */
  moveRows(endpoint: EndpointName, by?: number): void;
}

/**
 * Starts a local server of the two endpoints on 127.0.0.1. The same options give the same bytes, rows take no memory,
 * and faults come on demand. It keeps the process alive until it is closed.
 *
 * Throws `RangeError` for an invalid option, and `Error` if the port is in use.
 *
 * @example
 * await using sandbox = await startSandbox({ holdings: 10_000_000, faults: { serverError: 0.05 } });
 * const query = new URLSearchParams({ limit: '100', owner_addresses: sandbox.owners.join() });
 * const page = await fetch(`${sandbox.aptosUrl}/wallets/nfts?${query}`, { headers: { 'X-API-Key': sandbox.apiKey } });
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = checkOptions(options);
  const { apiKey, now, shape, statusEvery } = settings;
  const startedAt = now();
  const log = new RequestLog(now);
  const cursors = new Cursors(settings);
  const holdings = new Holdings({ ...settings, nested: shape.aptos.nested });
  const streams = new StreamBook({
    ...settings,
    nested: shape.streams.nested,
    ticks: () => Math.floor((now() - startedAt) / statusEvery),
  });
  const rowsOf = { streams, aptos: holdings };

  const routes: readonly Route[] = [
    {
      name: 'streams',
      path: `${STREAMS_PATH}/streams/evm`,
      endpoint: streamsEndpoint(streams, cursors, shape.streams),
      rows: streams,
    },
    {
      name: 'aptos',
      path: `${APTOS_PATH}/wallets/nfts`,
      endpoint: aptosEndpoint(holdings, cursors, shape.aptos),
      rows: holdings,
    },
  ];

  const server = await listen(requestListener(settings, routes, log), settings.port, 'The sandbox', log);

  return {
    ...server,
    streamsUrl: server.url + STREAMS_PATH,
    aptosUrl: server.url + APTOS_PATH,
    apiKey,
    owners: holdings.owners.addresses,
    requests: log.entries,
    get counts() {
      return log.counts;
    },
    holding: (index) => holdings.row(index),
    holdingsOf(owners, filter) {
      const addresses = owners.map((owner) => fullAddress(owner) ?? owner);
      return holdings.of(addresses, filter);
    },
    stream: (index) => streams.row(index),
    streamRows: () => streams.read(0, streams.size).rows,
    setStream: (index, patch) => streams.set(index, patch),
    addStream: (patch = {}) => streams.add(patch),
    removeStream: (index) => streams.remove(index),
    moveRows: (endpoint, by = 1) => rowsOf[endpoint].move(by),
  };
}

const STREAMS_PATH = '/streams-api';
const APTOS_PATH = '/aptos-api';
