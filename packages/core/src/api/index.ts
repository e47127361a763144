/**
 * What the description of a JSON API is made from: listings, paging, credentials and quotas.
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
export type { ListingKey } from './fieldKey.js';
export type { RequestSpec, PageSize } from './requestSpec.js';
export type { FoundRows, ResponseSpec } from './pageReader.js';
export { byConnection, type ConnectionOptions } from './byConnection.js';
export { byCursor, type CursorOptions } from './byCursor.js';
export { byHeader, type HeaderOptions } from './byHeader.js';
export { byKeyset, type KeysetOptions, type KeysetValue } from './byKeyset.js';
export { byLink, type LinkOptions } from './byLink.js';
export { byOffset, type OffsetOptions } from './byOffset.js';
export { bySince, type SinceOptions } from './bySince.js';
export type { SinceBound, TimeFormat } from './timeFormat.js';
export type { SinceOrder } from './pageInside.js';
export type { WindowOptions } from './sinceWindows.js';
export type { SinceWriting } from './writeSince.js';
export { onePage } from './onePage.js';
export type { MoreOptions } from './moreFlag.js';
export { byPage, type PageNumberOptions } from './byPage.js';
export type { Until } from './until.js';
export { cursorOf, type IncrementalPaging, type PageAddress, type Paging } from './paging.js';
export { rowOf, type Each, type RowOfOptions } from './each.js';
export { graphqlErrors, type GraphqlErrorOptions, type GraphqlMeaning } from './graphqlErrors.js';
export type { RequestPlace } from './requestPlace.js';
export type { ReadableResponse, PageResponse, Selector } from './pageResponse.js';
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
} from '../http/credentials/auth.js';
export { login, type LoginOptions, type LoginRequest } from './login.js';
export type { ApiKey } from '../http/credentials/renewedSecret.js';
export type { Signature, SignFunction, UnsignedRequest } from '../http/credentials/signature.js';

// Limiters
export { rateLimitHeaders, type RateLimitHeadersOptions } from '../http/limit/rateLimitHeaders.js';
export type { QuotaReport, QuotaRules } from '../http/limit/rateLimitHeaders.js';

// Requests
export type { HttpMethod, RequestDetails, ResponseFormat } from '../http/requestDetails.js';
export type {
  ReceivedResponse,
  ResponseKind,
  ResponseMeaning,
  Responses,
  ResponseTable,
} from '../http/response/responses.js';
