import type { RunHealth } from '@sluice/core';
import { formatDuration } from '../terminal/format.js';

/** What a run waits for. Times are in ms. */
export type Wait =
  /** A signal arrived: it commits what it has fetched. */
  | { readonly kind: 'stopping' }
  | Extract<RunHealth, { readonly kind: 'pause' | 'retry' | 'limit' | 'response' }>
  | (Extract<RunHealth, { readonly kind: 'target' }> & { readonly target: string });

/** @param isShort for narrow lines. @example waitText({ kind: 'pause', left: 12_000, cause: 'HTTP 429' }) // 'paused for 12 s (HTTP 429)' */
export function waitText(wait: Wait, { isShort = false }: { readonly isShort?: boolean } = {}): string {
  const cause = 'cause' in wait && wait.cause !== undefined && !isShort ? ` (${wait.cause})` : '';
  switch (wait.kind) {
    case 'stopping':
      return 'stopping';
    case 'pause':
      return `paused for ${formatDuration(wait.left)}${cause}`;
    case 'retry':
      return wait.left !== undefined && wait.left > 0
        ? `retries in ${formatDuration(wait.left)}${cause}`
        : `failing for ${formatDuration(wait.since)}${cause}`;
    case 'limit':
      return isShort ? 'waiting for the limit' : `waiting ${formatDuration(wait.since)} for the limit${cause}`;
    case 'response':
      return `no response for ${formatDuration(wait.since)}`;
    case 'target':
      return isShort
        ? `waiting for ${wait.target}`
        : `waiting ${formatDuration(wait.since)} for ${wait.target}${cause}`;
  }
}

/** A wait in `--progress json`: for how long still (`leftMs`) or already (`sinceMs`). */
export function waitEvent(wait: Wait) {
  return {
    for: wait.kind,
    leftMs: 'left' in wait && wait.left !== undefined ? Math.round(wait.left) : undefined,
    sinceMs: 'since' in wait ? Math.round(wait.since) : undefined,
    cause: 'cause' in wait ? wait.cause : undefined,
  };
}

/** Why the latest attempt was repeated, unless the wait says it already. */
export function otherCause(lastRetry: string | undefined, wait: Wait | undefined): string | undefined {
  return wait && 'cause' in wait && wait.cause === lastRetry ? undefined : lastRetry;
}

/** What a run waits for; `undefined` while it makes progress. @param target with an article, e.g. `the webhook`. */
export function waitOf(health: RunHealth, target: string): Wait | undefined {
  if (health.kind === 'starting' || health.kind === 'idle' || health.kind === 'pace') return undefined;
  return health.kind === 'target' ? { ...health, target } : health;
}
