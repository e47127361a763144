// Clients
export { createClient, type Client, type ClientEvent, type ClientOptions } from './client.js';
export type { ApiRequest, Endpoint, Plugin, PluginContext } from './plugin.js';

// Requests
export type { AddressGuard, GuardedHost, ResolvedAddress } from './http/adapter/adapter.js';
export type { ApiKey } from './http/apiKey.js';
export type { HttpEvent } from './http/events.js';
export type { Timeouts } from './http/exchange.js';
export type { Limit, Limiter, LimiterState, Turn, TurnRequest } from './http/limiter.js';
export type { ArrayFormat, Query, QueryValue } from './http/query.js';
export type { RetryOptions } from './http/retryPolicy.js';
export { createSender, type Message, type Receipt, type Sender, type SenderOptions } from './http/sender.js';
export type { Link, Transport, TransportRequest, TransportResponse } from './http/transport.js';

// Sources
export { Flow } from './source/flow.js';
export { createSource, Source, type PagesOptions, type PerPageOptions, type SourceInfo } from './source/source.js';
export type { FetchedPage, Json, PageRequest, RowEvent, RowSchema, SourceDefinition } from './source/definition.js';
export { documentReader, type DocumentReader } from './source/documentReader.js';
export type { Page, PageHealth } from './source/page.js';
export type { PageSource } from './source/pageSource.js';
export { groupsOf, type GroupOptions } from './source/plan.js';
export type { ChainPosition, Mark, Position } from './position.js';
export type { Puller } from './source/stoppable.js';

// Polling
export { poll, type PollOptions, type Snapshot } from './operators/poll.js';
export type { TickOptions } from './operators/ticks.js';

// Watching
export { watch, type WatchOptions } from './watch/watch.js';
export { changes, type ChangesOptions } from './watch/changes.js';
export type { Alteration, Appearance, Change, Removal } from './watch/change.js';
export type { ComparisonOptions } from './watch/comparison.js';

// Sinks
export { exportTo, type ExportFlow, type RunOptions } from './sink/exportTo.js';
export type { ExportOptions, ExportProgress, ExportReport } from './sink/exportRun.js';
export { writeTo, type WriteOptions } from './sink/writeTo.js';
export type { Sink, SinkContext, SinkPage, SinkReport, SinkWriter } from './sink/sink.js';
export type { RowEncoder, RowFormat } from './sink/rowFormat.js';
export { decodeCheckpoint, type Checkpoint } from './sink/checkpoint.js';
export { memoryState } from './sink/memoryState.js';
export type { StateLog, StateStore } from './sink/stateStore.js';
export type { Release, StateUse } from './sink/lockQueue.js';

// Errors
export {
  BackpressureError,
  CheckpointError,
  ConfigError,
  DecodeError,
  ForbiddenAddressError,
  HttpError,
  LockError,
  NetworkError,
  PaginationError,
  PluginError,
  RateLimitError,
  RequestTimeoutError,
  ResponseTooLargeError,
  SinkError,
  SluiceError,
  UnexpectedRedirectError,
  type ErrorDetails,
  type PaginationFault,
  type SluiceErrorCode,
} from './errors.js';

// Options
export { checkCount } from './count.js';

// Time
export { systemClock, type Clock } from './clock.js';
