/**
 * For authors of sinks, stores, limiters and tools: what they implement, what they are told, and what they check with.
 *
 * @module @sluice/core/kit
 */

// Declarations name types of the main entry, see there.
export type {} from './index.js';

// Plugins
export { checkPlugin } from './plugins/checkPlugin.js';
export type { ApiResponse, ApiRequest, EndpointOptions, NamedTargetContext, PluginLogger } from './plugins/plugin.js';
export type { Registered } from './plugins/registry.js';

// Events
export type { CloseEvent, HookName, InfoEvent, PluginFaultEvent, WarningEvent } from './plugins/clientEvent.js';
export type {
  AttemptEvent,
  HttpEvent,
  PausedEvent,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  SettledEvent,
} from './http/events.js';
export type { LimiterEvent, PauseCause } from './http/limit/limiterReports.js';
export type {
  ChangeEvent,
  CommitEvent,
  Delivery,
  DeliveryEvent,
  ErrorEvent,
  OutageEvent,
  PageEvent,
  SinkEvent,
} from './source/sourceEvent.js';
export type { ErrorReport } from './errorReport.js';
export type { Outage } from './outage.js';

// Limiters
export {
  checkLimit,
  defaultLimit,
  costsOf,
  rateUse,
  rateWindows,
  type LimitRules,
  type RateWindow,
} from './http/limit/limit.js';
export type { Limiter, Permit, AcquireOptions, RateUse } from './http/limit/limiterTypes.js';
export type { ObservedResponse, Quota, QuotaNotice } from './http/limit/limiterTypes.js';
export { newPermit, type PermitLife } from './http/limit/permit.js';
export { WaitQueue, type Waiter } from './http/limit/waitQueue.js';

// Requests
export type { Timeouts } from './http/requestTimes.js';
export type { ArrayFormat } from './http/query.js';
export { Secrets } from './http/secrets.js';
export { createSender, type Message, type Receipt, type Sender, type SenderOptions } from './http/sender.js';
export type { Transport, TransportRequest, TransportResponse } from './http/transport.js';

// Sources
export type { PipePagesOptions } from './source/source.js';
export type { RowEvent, SourceEndpoint, WalkedPages } from './source/definition.js';
export type { BodyParser } from './http/response/parsedBody.js';
export type { PartitionLog } from './source/discovery.js';
export type { DocumentReader } from './source/documentReader.js';
export type { PageHealth, WatchedWalk } from './source/page.js';
export type { PageCache, PageCacheLimits, StoredPage } from './source/pageCache.js';
export type { PageSource } from './source/pageSource.js';
export type { Increment, PageIncrement, Since, SinceWindow, WalkedWindow } from './source/increment.js';
export {
  findGap,
  joinTotals,
  pickGap,
  type NextCursor,
  type PageCursor,
  type StatedGap,
  type StatedTotal,
  type StatedTotals,
  type TotalGap,
} from './position.js';
export type { PullIterator } from './source/cancellable.js';

// Columns and rows
export { checkColumns, chooseColumns, type Column } from './source/columns.js';
export {
  columnValues,
  instantText,
  plainInstant,
  plainText,
  sortNames,
  timestampMicros,
  type StoredTypes,
} from './source/columnValue.js';
export { checkRow, fieldReader, type Fields } from './source/fields.js';

// Watching
export { differingFields } from './watch/differingFields.js';
export { eventOfChange, type Added, type Removed } from './watch/change.js';

// Sinks
export type { RunOptions } from './sink/exportTo.js';
export type { OldRows } from './sink/oldRows.js';
export type { EventScope, RowChanges, SinkContext, SinkPage, SinkReport, SinkWriter, WalkEnd } from './sink/sink.js';
export type { RowFormat } from './sink/sink.js';
export { decodeCheckpoint, type Checkpoint } from './sink/checkpoint.js';
export { guardStore } from './sink/guardSink.js';
export type { Claim, ClaimVerdict } from './sink/claim.js';
export {
  targetRetries,
  targetRetryNames,
  type RetriedTarget,
  type TargetRetry,
  type TargetRetryOptions,
} from './http/retry/retryTarget.js';
export { recordState, type RecordLists } from './sink/recordState.js';
export type { StateLog } from './stateLog.js';
export type { Release, StateUse } from './sink/lockQueue.js';

// Errors
export type { Advice, Fault } from './errors.js';

// Options and values
export { checkCount, checkOptions, checkText, hintFor, nearestName } from './checks.js';
export { inWords, isRecord, parseJson as tryParseJson, shownText } from './values.js';
