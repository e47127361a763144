/**
 * Clients, sources, watches and exports. This entry knows no API and imports nothing from Node.
 *
 * @module @sluice/core
 */

// The compiler can only name a type by an entry that the program knows, so each entry refers to the entry of its types.
export type {} from './kit.js';

// Clients
export { createClient, type Client, type ClientOptions } from './client.js';

// Plugins
export { definePlugin } from './plugins/checkPlugin.js';
export type { Endpoint, Plugin, PluginContext } from './plugins/plugin.js';

// Events
export type { ClientEvent, EventOf, Hooks } from './plugins/clientEvent.js';

// Limiters
export type { Limit } from './http/limit/limit.js';
export type { LimiterState } from './http/limit/limiterTypes.js';

// Requests
export type { RetryOptions } from './http/retry/retryOptions.js';
export type { Link } from './http/transport.js';

// Sources
export type { Flow } from './rows/source/flow.js';
export { createSource, Source } from './rows/source/source.js';
export type { SourceInfo } from './rows/source/sourceInfo.js';
export type { PagesOptions } from './rows/source/pagesOptions.js';
export type { ColumnType } from './rows/columns/columnTypes.js';
export type { FetchedPage, Json, PageRequest, RowKey, RowSchema, SourceDefinition } from './rows/source/definition.js';
export { ExactNumber } from './json.js';
export { parseExactly as parseJson } from './http/response/exactNumbers.js';
export type { Page } from './rows/source/page.js';
export type { Position } from './position.js';

// Polling
export { poll, type PollOptions, type Snapshot } from './rows/operators/poll.js';
export { isTransient } from './isTransient.js';

// Watching
export { watch, type WatchOptions } from './rows/watch/watch.js';
export { changes, type ChangesOptions } from './rows/watch/changes.js';
export type { Change, Updated } from './rows/watch/change.js';
export type { Due } from './rows/watch/due.js';

// Sinks
export { exportTo, type ExportFlow } from './rows/export/exportTo.js';
export type { ExportOptions, ExportProgress, ExportReport } from './rows/export/exportOptions.js';
export { writeTo, type WriteOptions } from './rows/export/writeTo.js';
export type { Sink } from './rows/sink/sink.js';
export { memoryState } from './rows/sink/memoryState.js';
export type { StateStore } from './rows/sink/stateStore.js';

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
  type SluiceErrorCode,
} from './errors.js';

// Time
export { systemClock, type Clock } from './clock.js';
