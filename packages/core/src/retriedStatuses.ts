/**
 * Whether a request that got this status may succeed later. 425 asks for it once more, after the handshake (RFC 8470); the
 * server will not learn what 501 and 505 say it lacks.
 */
export function isRetriedStatus(status: number): boolean {
  if (status >= 500 && status < 600) return status !== 501 && status !== 505;
  return status === 408 || status === 425 || isRateLimitStatus(status);
}

/** Whether the server asks for fewer requests. A quota applies to the whole client, so all of its requests wait. */
export function isRateLimitStatus(status: number): boolean {
  return status === 429;
}

/** Whether a quota may be used up: some APIs say that with a 403, which may also mean that the request is not allowed. */
export function isQuotaStatus(status: number): boolean {
  return status === 403 || isRateLimitStatus(status);
}
