import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { startReceiver, startSandbox, type Receiver } from '@sluice/sandbox';
import { bundled } from '../../scripts/bundled.js';
import { Random } from '../../test/kit/random.js';
import type { ForwardOutcome } from './forwardKills.js';
import { secret, type ForwardOrder } from './forwardOrder.js';

/** What the receiver is like until the last run. */
export const receiverKinds = ['slow', 'dead', 'flapping'] as const;

/** The settings of a run. */
export interface ChangeTrial {
  readonly kind: (typeof receiverKinds)[number];
  readonly kills: number;
  readonly seed: number;
  readonly folder: string;
}

const streams = 20;
/** Polls of a run until it is killed. */
const life = { min: 3, max: 40 };
/** Ms in which it must make them. */
const longestLife = 30_000;

/**
 * Forwards the changes of streams to a receiver that is slow, dead or comes and goes, while each poll finds other
 * statuses. The process is killed with SIGKILL some ms after a poll, as the seed decides; the last one ends by itself.
 */
export async function changeKills({ kind, kills, seed, folder }: ChangeTrial): Promise<ForwardOutcome> {
  const random = new Random(`${seed} changes ${kind}`);
  await using sandbox = await startSandbox({ streams, statusEvery: 1, seed });
  let isLast = false;
  await using receiver = await startReceiver({
    secrets: [secret],
    seed,
    script: ({ n }) => (isLast || kind === 'slow' || (kind === 'flapping' && n % 40 >= 20) ? 'ok' : { status: 503 }),
    onRequest: () => (kind === 'slow' && !isLast ? setTimeout(100) : undefined),
  });
  const { apiKey, aptosUrl, owners, streamsUrl } = sandbox;
  const order = { apiKey, aptosUrl, owners, hook: `${receiver.url}/hook`, secret, folder, batch: 1 };
  const faults: string[] = [];
  for (let nth = 0; nth <= kills; nth += 1) {
    isLast = nth === kills;
    const watch = { streamsUrl, polls: isLast ? 3 : 1_000_000 };
    const script = bundled(new URL('child.ts', import.meta.url));
    const running = spawn(process.execPath, [script, JSON.stringify({ ...order, watch } satisfies ForwardOrder)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 120_000,
    });
    const ended = Promise.all([running.stderr ? text(running.stderr) : '', once(running, 'exit')]);
    if (!isLast) {
      const enough = sandbox.counts.requests + random.int(life.min, life.max);
      const until = Date.now() + longestLife;
      while (sandbox.counts.requests < enough && Date.now() < until) await setTimeout(5);
      if (sandbox.counts.requests < enough) faults.push('a run polled too slowly: it waited for the receiver');
      await setTimeout(random.int(0, 20));
      running.kill('SIGKILL');
    }
    const [stderr, [code, signal]] = await ended;
    if (isLast ? code !== 0 : signal !== 'SIGKILL')
      faults.push(`a run ended with ${String(code ?? signal)}: ${stderr}`);
  }
  const { requests, failed, accepted, doubled, differing, refused } = receiver.counts;
  if (differing > 0) faults.push(`${differing} records arrived with another text than before`);
  if (refused > 0) faults.push(`${refused} requests had no valid signature`);
  faults.push(...brokenChains(receiver));
  return { kills, requests, failed, accepted, doubled, moved: 0, faults };
}

interface ReceivedChange {
  readonly data: { readonly key: string; readonly before: unknown; readonly after: unknown };
}

/** Each change begins where the one before it of its row ended: none is lost, and none overtakes another. */
function brokenChains({ accepted }: Receiver): string[] {
  const latest = new Map<string, string>();
  const faults: string[] = [];
  for (const { body } of accepted.values()) {
    const { data }: ReceivedChange = JSON.parse(body);
    const [before, known] = [JSON.stringify(data.before), latest.get(data.key) ?? 'null'];
    if (before !== known)
      faults.push(`a change of ${data.key} begins with ${before}, and the one before it ended with ${known}`);
    latest.set(data.key, JSON.stringify(data.after));
  }
  if (latest.size < streams) faults.push(`only ${latest.size} of ${streams} streams arrived`);
  return faults;
}
