/**
 * Clients, sources, watches and exports. It knows no API and imports nothing from Node.
 *
 * @module @sluice/core
 */

// Clients
export { createClient, type Client, type ClientOptions } from './client.js';

// Plugins
export { checkPlugin, definePlugin } from './plugins/checkPlugin.js';
export type { ApiResponse, ApiRequest, Endpoint, EndpointOptions, Plugin, PluginContext } from './plugins/plugin.js';

// APIs that are described
export { defineApi, type ApiDefinition, type ApiOf, type ApiOptions, type ApiPlugin } from './api/defineApi.js';
export type { Api, ApiDescription, ApiRequests, AuthDescription } from './api/describedApi.js';
export { listing, type Listing } from './api/listing.js';
export type { ListingDefinition } from './api/listingDefinition.js';
export type { ListingKey } from './api/fieldKey.js';
export type { RequestSpec, PageSize } from './api/requestSpec.js';
export type { FoundRows, ResponseSpec } from './api/pageReader.js';
export { byConnection, type ConnectionOptions } from './api/byConnection.js';
export { byCursor, type CursorOptions } from './api/byCursor.js';
export { byHeader, type HeaderOptions } from './api/byHeader.js';
export { byKeyset, type KeysetOptions, type KeysetValue } from './api/byKeyset.js';
export { byLink, type LinkOptions } from './api/byLink.js';
export { byOffset, type OffsetOptions } from './api/byOffset.js';
export { bySince, type SinceOptions } from './api/bySince.js';
export type { SinceBound, TimeFormat } from './api/timeFormat.js';
export type { SinceOrder } from './api/pageInside.js';
export type { WindowOptions } from './api/sinceWindows.js';
export type { SinceWriting } from './api/writeSince.js';
export { onePage } from './api/onePage.js';
export type { MoreOptions } from './api/moreFlag.js';
export { byPage, type PageNumberOptions } from './api/byPage.js';
export type { Until } from './api/until.js';
export { cursorOf, type PageAddress, type Paging } from './api/paging.js';
export { rowOf, type Each, type RowOfOptions } from './api/each.js';
export { graphqlErrors, type GraphqlErrorOptions } from './api/graphqlErrors.js';
export type { RequestPlace } from './api/requestPlace.js';
export type { ReadableResponse, PageResponse, Selector } from './api/pageResponse.js';
export { apisOf, sourcesOf, type ApiSource, type SourceDescription, type WalkBounds } from './api/apiSource.js';

// Events
export type {
  ClientEvent,
  CloseEvent,
  EventOf,
  HookName,
  Hooks,
  InfoEvent,
  PluginFaultEvent,
  WarningEvent,
} from './plugins/clientEvent.js';
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
export {
  causeOf,
  healthLevel,
  healthText,
  RunJudge,
  type Backlog,
  type RunJudgeOptions,
  type RunHealth,
  type RunLevel,
  type RunPart,
} from './plugins/runHealth.js';
export { statusHue, statusTone, type StatusTone } from './statusTone.js';
export type { ErrorReport } from './errorReport.js';
export type { Outage } from './outage.js';

// Credentials
export {
  basic,
  bearer,
  header,
  bodyKey,
  noAuth,
  pathKey,
  sign,
  oauth2,
  queryKey,
  sharedKey,
  type Auth,
  type Credential,
  type BasicPair,
  type EnvironmentValue,
  type OAuth2Options,
  type SavedToken,
  type LoginSecret,
  type Secret,
  type StoredSecret,
} from './http/credentials/auth.js';
export { login, type LoginOptions, type LoginRequest } from './api/login.js';
export type { ApiKey } from './http/credentials/renewedSecret.js';
export type { Signature, SignFunction, UnsignedRequest } from './http/credentials/signature.js';

// Limiters
export {
  checkLimit,
  defaultLimit,
  costsOf,
  rateUse,
  rateWindows,
  type Limit,
  type LimitRules,
  type RateWindow,
} from './http/limit/limit.js';
export type { Limiter, LimiterState, Permit, AcquireOptions, RateUse } from './http/limit/limiterTypes.js';
export type { ObservedResponse, Quota, QuotaNotice } from './http/limit/limiterTypes.js';
export { newPermit, type PermitLife } from './http/limit/permit.js';
export { rateLimitHeaders, type RateLimitHeadersOptions } from './http/limit/rateLimitHeaders.js';
export type { QuotaReport, QuotaRules } from './http/limit/rateLimitHeaders.js';
export { WaitQueue, type Waiter } from './http/limit/waitQueue.js';

// Requests
export type { Timeouts } from './http/requestTimes.js';
export type { ArrayFormat } from './http/query.js';
export type { HttpMethod, RequestDetails, ResponseFormat } from './http/requestDetails.js';
export type {
  ReceivedResponse,
  ResponseKind,
  ResponseMeaning,
  Responses,
  ResponseTable,
} from './http/response/responses.js';
export type { RetryOptions } from './http/retry/retryOptions.js';
export { Secrets } from './http/credentials/secrets.js';
export { createSender, type Sender, type SenderOptions } from './http/sender.js';
export type { Link, Transport, TransportRequest, TransportResponse } from './http/transport.js';

// Sources
export type { Flow } from './source/flow.js';
export { createSource, Source, type PipePagesOptions, type SourceInfo } from './source/source.js';
export type { PagesOptions } from './source/walk.js';
export type { ColumnType } from './source/columnTypes.js';
export type {
  FetchedPage,
  Json,
  PageRequest,
  RowKey,
  RowSchema,
  SourceDefinition,
  WalkedPages,
} from './source/definition.js';
export { ExactNumber } from './json.js';
export { parseExactly as parseJson } from './http/response/exactNumbers.js';
export type { BodyParser } from './http/response/parsedBody.js';
export type { PartitionLog } from './source/discovery.js';
export type { DocumentReader } from './source/documentReader.js';
export type { Page, PageHealth, WatchedWalk } from './source/page.js';
export type { PageCache, PageCacheLimits, StoredPage } from './source/pageCache.js';
export type { PageSource } from './source/pageSource.js';
export type { Increment, PageIncrement, Since, SinceWindow, WalkedWindow } from './source/increment.js';
export { findGap, joinTotals, pickGap, type Position, type StatedGap, type StatedTotal } from './position.js';
export type { PullIterator } from './source/cancellable.js';

// Polling
export { poll, type PollOptions, type Snapshot } from './operators/poll.js';
export { isTransient } from './isTransient.js';

// Watching
export { watch, type WatchOptions } from './watch/watch.js';
export { changes, type ChangesOptions } from './watch/changes.js';
export { differingFields } from './watch/differingFields.js';
export { eventOfChange, isChange, type Updated, type Added, type Change, type Removed } from './watch/change.js';

// Sinks
export { exportTo, type ExportFlow, type RunOptions } from './sink/exportTo.js';
export type { ExportOptions, ExportProgress, ExportReport } from './sink/exportOptions.js';
export type { OldRows } from './sink/oldRows.js';
export { writeTo, type WriteOptions } from './sink/writeTo.js';
export type {
  EventScope,
  RowChanges,
  Sink,
  SinkContext,
  SinkPage,
  SinkReport,
  SinkWriter,
  WalkEnd,
} from './sink/sink.js';
export type { RowFormat } from './sink/sink.js';
export { decodeCheckpoint, type Checkpoint } from './sink/checkpoint.js';
export { memoryState } from './sink/memoryState.js';
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
export type { StateStore } from './sink/stateStore.js';
export type { StateLog } from './stateLog.js';
export { lockQueues, type LockQueue, type Release, type StateUse } from './sink/lockQueue.js';

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
  type Advice,
  type Fault,
  type SluiceErrorCode,
} from './errors.js';

// Options
export { checkCount, checkOptions, checkText, hintFor, nearestName } from './checks.js';
export { shownText } from './values.js';

// Time
export { systemClock, type Clock } from './clock.js';
