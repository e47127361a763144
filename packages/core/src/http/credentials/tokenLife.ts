/** When a secret was issued, and whether the API has accepted it since. */
export interface SecretUse {
  /** By the monotonic clock, in ms. */
  readonly issued: number;
  hasWorked: boolean;
}

/**
 * Whether a refused secret may have expired: one that never worked, or is younger than a minute, was refused for another
 * reason, and so would the next one be. Otherwise each request that is not allowed would cost a login.
 */
export function isWorthRenewing({ issued, hasWorked }: SecretUse, now: number): boolean {
  return hasWorked && now - issued >= 60_000;
}

/** A token counts as expired this long (ms) before its end, or a tenth of its life if that is less. */
const margin = 30_000;

/** When a token expires, by the clock that says when it was issued. @param lifetime ms; `Infinity` if unknown. */
export function expiryOf(issued: number, lifetime: number): number {
  return issued + lifetime - Math.min(margin, lifetime / 10 || 0);
}
