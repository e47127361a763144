/**
 * Whether a request that got this status may succeed later. With 425, the server asks for the request again after the
 * handshake (RFC 8470). With 501 and 505, the server lacks a feature, so a retry is pointless.
 */
export function isRetriedStatus(status: number): boolean {
  if (status >= 500 && status < 600) return status !== 501 && status !== 505;
  return status === 408 || status === 425 || isRateLimitStatus(status);
}

/** Whether the server asks for fewer requests. A quota applies to the whole client, so all its requests wait. */
export function isRateLimitStatus(status: number): boolean {
  return status === 429;
}

/** Whether a quota may be used up. Some APIs respond with 403 then, which may also mean a forbidden request. */
export function isQuotaStatus(status: number): boolean {
  return status === 403 || isRateLimitStatus(status);
}
