/**
 * For authors of sinks, stores, limiters and tools: interfaces to implement, events to receive, and checks to use.
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
  DueEvent,
  ErrorEvent,
  OutageEvent,
  PageEvent,
  SinkEvent,
} from './rows/source/sourceEvent.js';
export type { ErrorReport } from './errorReport.js';
export type { Outage } from './outage.js';

// Limiters
export type { BudgetStore } from './http/limit/budget.js';
export type { BootClock } from './timeline.js';
export type { Budgets } from './http/limit/budgets.js';
export {
  checkLimit,
  defaultLimit,
  costsOf,
  rateUse,
  rateWindows,
  type LimitRules,
  type RateWindow,
} from './http/limit/limit.js';
export type { Limiter, Permit, AcquireOptions, BudgetUse, RateUse } from './http/limit/limiterTypes.js';
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
export type { PipePagesOptions } from './rows/source/source.js';
export type { RowEvent, SourceEndpoint, WalkedPages } from './rows/source/definition.js';
export type { BodyParser } from './http/response/parsedBody.js';
export type { PartitionLog } from './rows/source/pagesOptions.js';
export type { PageHealth, WatchedWalk } from './rows/source/page.js';
export type { PageCache, PageCacheLimits, StoredPage } from './rows/source/pageCache.js';
export type { PageSource } from './rows/source/pageSource.js';
export type { Increment, PageIncrement, Since, SinceWindow, WalkedWindow } from './rows/source/increment.js';
export { type NextCursor, type PageCursor } from './position.js';
export {
  findGap,
  joinTotals,
  pickGap,
  type StatedGap,
  type StatedTotal,
  type StatedTotals,
  type TotalGap,
} from './totals.js';
export type { PullIterator } from './rows/source/cancellable.js';

// Columns and rows
export { checkColumns, chooseColumns, type Column } from './rows/columns/columns.js';
export {
  columnValues,
  instantText,
  plainInstant,
  plainText,
  sortNames,
  timestampMicros,
  type ColumnValue,
  type StoredTypes,
} from './rows/columns/columnValue.js';
export { checkRow, fieldReader, type Fields } from './rows/columns/fields.js';

// Watching
export { differingFields } from './rows/watch/differingFields.js';
export { eventOfChange, isChange, type Added, type Removed } from './rows/watch/change.js';
export { isDue, type RowDue, type RowResolved } from './rows/watch/due.js';
export type { Rule } from './rows/watch/rule.js';

// Sinks
export type { RunOptions } from './rows/export/exportTo.js';
export type { OldRows } from './rows/export/oldRows.js';
export type {
  EventScope,
  RowChanges,
  SinkContext,
  SinkPage,
  SinkReport,
  SinkWriter,
  WalkEnd,
} from './rows/sink/sink.js';
export type { RowFormat } from './rows/sink/sink.js';
export { decodeCheckpoint, type Checkpoint } from './rows/export/checkpoint.js';
export { guardStore } from './rows/sink/guardSink.js';
export type { Claim, ClaimVerdict } from './rows/sink/claim.js';
export {
  targetRetries,
  targetRetryNames,
  type RetriedTarget,
  type TargetRetry,
  type TargetRetryOptions,
} from './http/retry/retryTarget.js';
export { recordState, type RecordLists } from './rows/sink/recordState.js';
export type { StateLog } from './stateLog.js';
export type { Release, StateUse } from './rows/sink/lockQueue.js';

// Errors
export type { Advice, Fault } from './errors.js';

// Options and values
export { checkCount, checkOptions, checkText, hintFor, nearestName } from './checks.js';
export { isPlain } from './json.js';
export { inWords, isCount, isRecord, parseJson as tryParseJson, shownText } from './values.js';
