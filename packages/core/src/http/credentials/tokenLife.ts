/** A token that the API refuses this early (ms) is not replaced: the next one would be refused, too. */
export const tooNew = 30_000;

/** A token counts as expired this long (ms) before its end, or a tenth of its life if that is less. */
const margin = 30_000;

/** When a token expires, by the clock that says when it was issued. @param lifetime ms; `Infinity` if unknown. */
export function expiryOf(issued: number, lifetime: number): number {
  return issued + lifetime - Math.min(margin, lifetime / 10 || 0);
}
