import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startReceiver, startSandbox, type Receiver } from '@sluice/sandbox';
import { bundled } from '../../scripts/bundled.js';
import { Random } from '../../test/kit/random.js';
import { deadLetters, secret, stateFolder, type ForwardOrder } from './forwardOrder.js';

/** The settings of a run. */
export interface ForwardTrial {
  readonly records: number;
  readonly kills: number;
  readonly seed: number;
  /** Records per request. */
  readonly batch: number;
  readonly folder: string;
}

/** The outcome. */
export interface ForwardOutcome {
  readonly kills: number;
  readonly requests: number;
  readonly failed: number;
  readonly accepted: number;
  readonly doubled: number;
  /** Rows that moved to the front of the listing after the walk had passed it. */
  readonly moved: number;
  readonly faults: readonly string[];
}

const rowsMovedPerKill = 3;

/**
 * The receiver kills the sender with SIGKILL, at requests that the seed decides, and the sender is run again until it
 * finishes. The receiver fails a third of the requests, at most three times in a row, and the API's rows move with each
 * kill.
 */
export async function forwardKills({ records, kills, seed, batch, folder }: ForwardTrial): Promise<ForwardOutcome> {
  const random = new Random(`${seed} forward ${batch}`);
  await using sandbox = await startSandbox({ holdings: records, owners: 1, seed });
  const spooled = new Set<string>();
  let running: ChildProcess | undefined;
  let killed = 0;
  const requestsPerKill = Math.max(2, Math.floor((records / batch / kills) * 1.2));
  let nextKill = random.int(1, requestsPerKill);
  await using receiver = await startReceiver({
    secrets: [secret],
    seed,
    failures: { share: 1 / 3, max: 3, kinds: ['reset', 'error', 'reset-after-body', 'accept-then-error'] },
    async onRequest({ n }) {
      if (n < nextKill || killed >= kills || !running || running.killed) return;
      nextKill = n + random.int(1, 2 * requestsPerKill);
      killed += 1;
      running.kill('SIGKILL');
      await once(running, 'exit');
    },
  });
  const { apiKey, aptosUrl, owners } = sandbox;
  const order: ForwardOrder = { apiKey, aptosUrl, owners, hook: `${receiver.url}/hook`, secret, folder, batch };
  const faults: string[] = [];
  for (let isThrough = false; !isThrough;) {
    const script = bundled(new URL('child.ts', import.meta.url));
    running = spawn(process.execPath, [script, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    const [stdout, stderr, [code, signal]] = await Promise.all([
      running.stdout ? text(running.stdout) : '',
      running.stderr ? text(running.stderr) : '',
      once(running, 'exit'),
    ]);
    isThrough = signal !== 'SIGKILL';
    for (const id of await readSpooledIds(folder)) spooled.add(id);
    if (!isThrough) sandbox.moveRows('aptos', rowsMovedPerKill);
    else if (code !== 0) faults.push(`the last run ended with ${code ?? String(signal)}: ${stderr}`);
    else if (!stdout.includes('"deadLetters":0')) faults.push(`it wrote dead letters: ${stdout}`);
  }
  const moved = killed * rowsMovedPerKill;
  const keys = new Set(Array.from(receiver.accepted.values(), ({ body }) => holdingIn(body)));
  const lost = Array.from({ length: records - moved }, (_, index) => keyOf(sandbox.holding(index))).filter(
    (key) => !keys.has(key),
  );
  // The walk never saw a row that went to the front, so nothing could have sent it.
  if (lost.length > 0) faults.push(`${lost.length} rows never arrived, e.g. ${lost[0] ?? ''}`);
  const missing = Array.from(spooled).filter((id) => !receiver.accepted.has(id));
  if (missing.length > 0) faults.push(`${missing.length} spooled records never arrived`);
  const { requests, failed, accepted, doubled, differing, refused } = receiver.counts;
  if (differing > 0) faults.push(`${differing} records arrived with another text than before`);
  if (refused > 0) faults.push(`${refused} requests had no valid signature`);
  if (killed < kills) faults.push(`only ${killed} kills`);
  const unordered = outOfOrder(receiver);
  if (unordered > 0) faults.push(`${unordered} records overtook another record of their key`);
  await access(join(folder, deadLetters)).then(
    () => faults.push('there is a file of dead letters'),
    () => undefined,
  );
  return { kills: killed, requests, failed, accepted, doubled, moved, faults };
}

interface Envelope {
  readonly sequence: number;
  readonly data: Parameters<typeof keyOf>[0] & { readonly collection_id?: unknown };
}

const envelopeIn = (body: string): Envelope => JSON.parse(body);

function holdingIn(body: string): string {
  return keyOf(envelopeIn(body).data);
}

function keyOf(holding: object): string {
  const { owner_address, token_data_id_hash, property_version } = holding as Record<string, unknown>;
  return JSON.stringify([owner_address, token_data_id_hash, property_version]);
}

/** Records that were first accepted before an earlier record with the same key. */
function outOfOrder({ accepted }: Receiver): number {
  const lastOf = new Map<string, number>();
  let count = 0;
  for (const { body } of accepted.values()) {
    const { sequence, data } = envelopeIn(body);
    const key = String(data.collection_id);
    if (sequence < (lastOf.get(key) ?? 0)) count += 1;
    lastOf.set(key, sequence);
  }
  return count;
}

/** The ids of all records in a spool: these must arrive. The last line of a log may be torn. A missing spool contains none. */
async function readSpooledIds(folder: string): Promise<string[]> {
  const names = await readdir(join(folder, stateFolder)).catch(() => []);
  const logs = names.filter((name) => /^spool(-\d+)?\.log$/.test(name));
  const texts = await Promise.all(logs.map((name) => readFile(join(folder, stateFolder, name), 'utf8')));
  return texts.flatMap((text) => text.split('\n').slice(1, -1).flatMap(idsIn));
}

function idsIn(line: string): string[] {
  const json = line.slice(line.indexOf(' ') + 1);
  if (!json.endsWith('}')) return [];
  const { pages }: { pages: { records: { id: string }[] }[] } = JSON.parse(json);
  return pages.flatMap(({ records }) => records.map(({ id }) => id));
}
