import type { Hold, Snapshot } from '../snapshot.js';
import { counted, duration, roughly } from './format.js';
import type { Link } from './connection.js';

/** How something is meant: each tone has a sign and a colour. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

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
  const { hold, totals, end, about, startedAt, cluster } = snapshot;
  if (end) {
    const { outcome, message } = end;
    const took = duration(end.at - startedAt);
    if (outcome === 'failed') return { tone: 'bad', title: 'Failed', text: message ?? `It ended after ${took}.` };
    if (outcome === 'stopped')
      return { tone: 'quiet', title: 'Stopped', text: message ?? `It was stopped after ${took}.` };
    const rows = counted(totals.committedRows || totals.rows || (cluster?.rows ?? 0), 'row');
    return { tone: 'good', title: 'Finished', text: message ?? `${rows} in ${took}.` };
  }
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
  const text = holdText(hold);
  switch (hold.kind) {
    case 'starting':
      return { tone: 'quiet', title: 'Starting', text };
    case 'pause':
      return { tone: 'warn', title: 'Paused', text };
    case 'retries':
      return { tone: 'bad', title: 'Failing, and trying again', text };
    default:
      return about.kind === 'watch'
        ? { tone: 'good', title: 'Watching', text }
        : { tone: 'busy', title: 'Running', text };
  }
}

/** The answer to: what holds it up? */
function holdText(hold: Hold): string {
  switch (hold.kind) {
    case 'starting':
      return 'No request was sent yet.';
    case 'limit':
      return `The rate limit sets the pace: ${hold.used} of ${hold.limit} starts are used, ${counted(hold.queued, 'request')} ${hold.queued === 1 ? 'waits' : 'wait'}.`;
    case 'pause':
      return `${causeText(hold.cause)} Requests start again in ${roughly(hold.left)}.`;
    case 'responses':
      return `The API sets the pace: ${counted(hold.running, 'request')} in progress, ${duration(hold.took)} per response.`;
    case 'retries':
      return `No row arrived for ten seconds. The last error: ${hold.reason}.`;
    case 'target':
      return 'No request is in progress: rows are being written, or everything is done.';
    case 'poll':
      return 'All is quiet until the next poll.';
  }
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
    default:
      return 'The rate limit is paused.';
  }
}

const tones: readonly (readonly [Tone, RegExp])[] = [
  ['bad', /^(error|errored|failed|failing|dead|broken)$/i],
  ['warn', /^(paused|pausing|warning|degraded|pending|suspended|inactive)$/i],
  ['good', /^(active|ok|running|healthy|ready|live|enabled|done)$/i],
];

/** The tone of a status that we know by its name; others are told apart by their place. */
export function findTone(status: string): Tone | undefined {
  return tones.find(([, names]) => names.test(status))?.[0];
}
