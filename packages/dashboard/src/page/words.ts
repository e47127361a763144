import { statusHue, statusTone, type StatusTone } from '@sluice/core/health';
import type { HealthView, Snapshot } from '../snapshot.js';
import { clock, counted, duration } from './format.js';
import type { Link } from './connection.js';

/** How something is meant: each tone has a sign and a colour. */
export type Tone = StatusTone | 'busy' | 'quiet';

export const signs: Readonly<Record<Tone, string>> = { good: '✓', busy: '▸', warn: '!', bad: '✕', quiet: '○' };

export interface Headline {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
}

/** The answer to: is it well? */
export function headline(snapshot: Snapshot | undefined, link: Link): Headline {
  if (link === 'refused')
    return {
      tone: 'bad',
      title: 'Not allowed in',
      text: 'The address lacks its token, or the token belongs to another run. Open the address that the command has printed.',
    };
  if (!snapshot)
    return link === 'lost'
      ? { tone: 'warn', title: 'No response', text: 'The run may have ended. This page keeps trying to connect.' }
      : { tone: 'quiet', title: 'Connecting', text: 'Waiting for the first numbers.' };
  const { health, totals, end, startedAt, cluster } = snapshot;
  if (end) {
    const { outcome, message } = end;
    const took = duration(end.at - startedAt);
    if (outcome === 'failed') return { tone: 'bad', title: 'Failed', text: message ?? `It ended after ${took}.` };
    if (outcome === 'stopped')
      return { tone: 'quiet', title: 'Stopped', text: message ?? `It was stopped after ${took}.` };
    const rows = counted(totals.committedRows || totals.rows || (cluster?.rows ?? 0), 'row');
    return { tone: 'good', title: 'Finished', text: message ?? `${rows} in ${took}.` };
  }
  if (link === 'lost')
    return {
      tone: 'warn',
      title: 'No contact',
      text: `Not since ${clock(snapshot.now)}. The run may have ended; this page keeps trying to connect.`,
    };
  if (cluster?.redisError !== undefined)
    return { tone: 'bad', title: 'No connection to Redis', text: `Who works is not known. ${cluster.redisError}` };
  if (cluster?.active === 0)
    return {
      tone: 'warn',
      title: 'No worker',
      text: 'No partition is in progress. Start a worker: sluice cluster work',
    };
  if (cluster) {
    const workers = counted(cluster.workers.length, 'worker');
    return { tone: 'busy', title: 'Running', text: `${counted(cluster.active, 'partition')} in progress, ${workers}.` };
  }
  return { ...stateOf(health, isWatch(snapshot)), text: health.text };
}

/** Whether it watches rows: then there is no end, and no rows per second. A program may do both, so its first changes decide. */
export function isWatch({ about, board }: Snapshot): boolean {
  return about.kind === 'watch' || (about.kind === 'client' && board !== null);
}

/** Ms after which a part is slow. */
const slowAfter = 10_000;

function stateOf({ kind, level, since }: HealthView, isWatch: boolean): Omit<Headline, 'text'> {
  if (level === 'failing') return { tone: 'bad', title: 'Failing, and trying again' };
  if (kind === 'starting') return { tone: 'quiet', title: 'Starting' };
  if (kind === 'pause') return { tone: 'warn', title: 'Paused' };
  if (kind === 'retry') return { tone: 'warn', title: 'Trying again' };
  const isSlow = (kind === 'target' || kind === 'response') && since >= slowAfter;
  if (isSlow) return { tone: 'warn', title: 'Waiting' };
  return isWatch ? { tone: 'good', title: 'Watching' } : { tone: 'busy', title: 'Running' };
}

export function causeText(cause: string): string {
  switch (cause) {
    case 'retry-after':
      return 'The API asked for a pause.';
    case 'back-off':
    case 'refused':
      return 'The API refused a request for now.';
    case 'quota':
      return "The API's quota is used up.";
    case 'budget':
      return 'The limit of all runs together is used up.';
    default:
      return 'The rate limit is paused.';
  }
}

/** Statuses without a known meaning differ by colour, and always by their name. */
export function toneClass(status: string): string {
  const tone = statusTone(status);
  return tone ? `tone-${tone}${isFinal(status) ? ' final' : ''}` : `hue-${statusHue(status)}`;
}

/** Whether it is bad and stays so: an error may pass. */
function isFinal(status: string): boolean {
  return /^(dead|terminated)$/i.test(status);
}
