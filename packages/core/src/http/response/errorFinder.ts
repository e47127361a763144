/** An error that an API reports in a response with a success status. */
export interface ResponseError {
  /** What the API says. The error quotes its beginning, with secrets redacted. */
  readonly message: string;
  /**
   * `final`: the request fails. `temporary`: it is retried like a 503. `rate-limited`: it pauses the API like a 429.
   * `partial`: the response is used, and a walk is marked as incomplete.
   */
  readonly kind: 'final' | 'temporary' | 'rate-limited' | 'partial';
  /**
   * The status that it stands for. Default: that of the response. With 401, credentials are renewed; with 404, a parent
   * may be skipped (`onPartitionError`); with 410, a cursor has expired.
   */
  readonly status?: number;
  /** Ms that the API asks to wait. Default: its `Retry-After` header, if there is one. */
  readonly retryAfter?: number;
}

/**
 * Finds the error in a response with a success status. Called for each attempt, so retries, pauses and deadlines apply.
 *
 * @example
 * // { "ok": false, "error": "ratelimited" }
 * const errors: ErrorFinder = ({ body }) => {
 *   const { ok, error = '' } = body as { ok: boolean; error?: string };
 *   return ok ? undefined : { message: error, kind: error === 'ratelimited' ? 'rate-limited' : 'final' };
 * };
 */
export type ErrorFinder = (response: {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded document. */
  readonly body: unknown;
}) => ResponseError | undefined;
