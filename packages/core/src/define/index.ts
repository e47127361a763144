/**
 * The parts of the description of a JSON API: listings, paging, credentials and quotas.
 *
 * @module @sluice/core/define
 */

// Declarations name types of the main entry, see there.
export type {} from '../index.js';

// APIs that are described
export { defineApi, type ApiDefinition, type ApiOf, type ApiOptions, type ApiPlugin } from './defineApi.js';
export type { Api, ApiDescription, ApiRequests, AuthDescription } from './describedApi.js';
export { listing, type Listing } from './listing.js';
export type { ListingDefinition } from './listingDefinition.js';
export type { DocumentReader } from './responses/documentReader.js';
export type { ListingKey } from './responses/fieldKey.js';
export type { RequestSpec, PageSize } from './requests/requestSpec.js';
export type { FoundRows, ResponseSpec } from './responses/pageReader.js';
export { byConnection, type ConnectionOptions } from './pages/byConnection.js';
export { byCursor, type CursorOptions } from './pages/byCursor.js';
export { byHeader, type HeaderOptions } from './pages/byHeader.js';
export { byKeyset, type KeysetOptions, type KeysetValue } from './pages/byKeyset.js';
export { byLink, type LinkOptions } from './pages/byLink.js';
export { byOffset, type OffsetOptions } from './pages/byOffset.js';
export { bySince, type SinceOptions } from './since/bySince.js';
export type { SinceBound, TimeFormat } from './since/timeFormat.js';
export type { SinceOrder } from './since/pageInside.js';
export type { WindowOptions } from './since/sinceWindows.js';
export type { SinceWriting } from './since/writeSince.js';
export { onePage } from './pages/onePage.js';
export type { MoreOptions } from './pages/moreFlag.js';
export { byPage, type PageNumberOptions } from './pages/byPage.js';
export type { Until } from './pages/until.js';
export { cursorOf, type IncrementalPaging, type PageAddress, type Paging } from './pages/paging.js';
export { rowOf, type Each, type RowOfOptions } from './parents/each.js';
export { graphqlErrors, type GraphqlErrorOptions, type GraphqlMeaning } from './responses/graphqlErrors.js';
export type { RequestPlace } from './requests/requestPlace.js';
export type { ReadableResponse, PageResponse, Selector } from './responses/pageResponse.js';
export { apisOf, sourcesOf, type ApiSource, type SourceDescription, type WalkBounds } from './apiSource.js';

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
} from '../auth/auth.js';
export { login, type LoginOptions, type LoginRequest } from './login.js';
export type { ApiKey } from '../auth/renewedSecret.js';
export type { Signature, SignFunction, UnsignedRequest } from '../auth/signature.js';

// Limiters
export { rateLimitHeaders, type RateLimitHeadersOptions } from '../quota/rateLimitHeaders.js';
export type { QuotaReport, QuotaRules } from '../quota/rateLimitHeaders.js';

// Requests
export type { HttpMethod, RequestDetails, ResponseFormat } from '../http/requestDetails.js';
export type {
  ReceivedResponse,
  ResponseKind,
  ResponseMeaning,
  Responses,
  ResponseTable,
} from '../http/response/responses.js';
