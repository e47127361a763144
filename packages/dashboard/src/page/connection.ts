import { signal } from '@preact/signals';
import type { Snapshot } from '../snapshot.js';
import { decodeSnapshot } from './decodeSnapshot.js';

/**
 * - `lost`: the stream ended without a last message; we connect again.
 * - `hidden`: nobody looks, so we have disconnected.
 * - `refused`: the token is missing or wrong.
 * - `ended`: the run sent its last message. Another one may get its address.
 */
export type Link = 'connecting' | 'live' | 'lost' | 'hidden' | 'refused' | 'ended';

export const latest = signal<Snapshot | undefined>(undefined);
export const link = signal<Link>('connecting');
/** Seconds that the charts show; `all` for everything. */
export const span = signal<'300' | '3600' | 'all'>('300');

const firstWait = 250;
const longestWait = 4_000;
const tokenName = 'sluice-token';

/**
 * Takes the token out of the address at once: nobody reads it over a shoulder, and no history keeps it. The browser
 * stores it for this address, so that a bookmark opens the page of the next run, too.
 */
export function takeToken(): string {
  const given = location.hash.slice(1);
  if (given === '') return localStorage.getItem(tokenName) ?? '';
  history.replaceState(null, '', location.pathname);
  localStorage.setItem(tokenName, given);
  return given;
}

/** Reads snapshots for as long as somebody looks. A new one replaces the last, so gaps don't matter. */
export function follow(token: string): void {
  let stop = new AbortController();
  let wait = firstWait;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const connect = async (): Promise<void> => {
    clearTimeout(timer);
    stop.abort();
    if (document.hidden || isRefused()) return;
    stop = new AbortController();
    const { signal: stopped } = stop;
    try {
      await read(token, stopped, () => (wait = firstWait));
    } catch {
      // Whatever the reason is, what follows is the same.
    }
    if (stopped.aborted || isRefused()) return;
    link.value = latest.value?.end ? 'ended' : 'lost';
    timer = setTimeout(() => void connect(), wait);
    wait = Math.min(longestWait, 2 * wait);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      show('hidden');
      clearTimeout(timer);
      stop.abort();
    } else {
      show('connecting');
      wait = firstWait;
      void connect();
    }
  });
  span.subscribe(() => void connect());
}

function isRefused(): boolean {
  return link.value === 'refused';
}

/** What has ended, or was refused, stays so until there is something else. */
function show(state: 'hidden' | 'connecting'): void {
  if (link.value !== 'ended' && link.value !== 'refused') link.value = state;
}

async function read(token: string, stopped: AbortSignal, onLive: () => void): Promise<void> {
  const response = await fetch(`/snapshots?span=${span.value}`, {
    headers: { Authorization: `Bearer ${token}` },
    cache: 'no-store',
    signal: stopped,
  });
  if (response.status === 401 && link.value !== 'ended') link.value = 'refused';
  if (!response.ok || !response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    // Those in between are out of date already.
    const line = lines.at(-1);
    const snapshot = line === undefined ? undefined : decodeSnapshot(line);
    if (!snapshot || stopped.aborted) continue;
    latest.value = snapshot;
    link.value = snapshot.end ? 'ended' : 'live';
    onLive();
  }
}
