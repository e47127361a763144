import { type Backlog, healthText, type RunHealth } from '@sluice/core/health';
import { formatDuration } from '../terminal/format.js';

/** What a run waits for. Times are in ms. */
export type Wait =
  /** A signal arrived: it commits what it has fetched. */
  | { readonly kind: 'stopping' }
  | Extract<RunHealth, { readonly kind: 'pause' | 'retry' | 'limit' | 'response' }>
  | (Extract<RunHealth, { readonly kind: 'target' }> & { readonly target: string })
  /** The target is slower than what is before it. */
  | { readonly kind: 'pace'; readonly target: string; readonly backlog: Backlog; readonly sentence: string };

/** @param isShort for narrow lines. @example waitText({ kind: 'pause', left: 12_000, cause: 'HTTP 429' }) // 'paused for 12 s (HTTP 429)' */
export function waitText(wait: Wait, { isShort = false }: { readonly isShort?: boolean } = {}): string {
  const cause = 'cause' in wait && wait.cause !== undefined && !isShort ? ` (${wait.cause})` : '';
  switch (wait.kind) {
    case 'stopping':
      return 'stopping';
    case 'pause':
      if (wait.isBudget === true) return `waiting ${formatDuration(wait.left)} for its budget`;
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
    case 'pace':
      return isShort
        ? `waiting for ${wait.target}`
        : `${wait.sentence.charAt(0).toLowerCase()}${wait.sentence.slice(1, -1)}`;
  }
}

/** A wait in `--progress json`: for how long still (`leftMs`) or already (`sinceMs`); how many rows wait, and how long each. */
export function waitEvent(wait: Wait) {
  return {
    for: wait.kind,
    leftMs: 'left' in wait && wait.left !== undefined ? Math.round(wait.left) : undefined,
    sinceMs: 'since' in wait ? Math.round(wait.since) : undefined,
    cause: 'cause' in wait ? wait.cause : undefined,
    ...('backlog' in wait && { rows: wait.backlog.waiting, eachMs: Math.round(wait.backlog.each) }),
  };
}

/** Why the latest attempt was repeated, unless the wait says it already. */
export function otherCause(lastRetry: string | undefined, wait: Wait | undefined): string | undefined {
  return wait && 'cause' in wait && wait.cause === lastRetry ? undefined : lastRetry;
}

/**
 * What a run waits for; `undefined` while it makes progress.
 *
 * @param target with an article, e.g. `the webhook`.
 * @param rows what it takes, e.g. `changes`.
 */
export function waitOf(health: RunHealth, target: string, rows: string): Wait | undefined {
  if (health.kind === 'starting' || health.kind === 'idle') return undefined;
  if (health.kind === 'pace') {
    const { kind, backlog } = health;
    return backlog && { kind, target, backlog, sentence: healthText(health, target, rows) };
  }
  return health.kind === 'target' ? { ...health, target } : health;
}
