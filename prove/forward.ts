// Proves W1, W2 and W7 against crashes: the receiver kills the sender with SIGKILL, at requests that the seed decides, and
// the sender is run again until it finishes. The receiver fails a third of the requests, and the API's rows move meanwhile.
// The same with the changes of a watch, while the receiver is slow, dead or flapping: its polls go on.
//
//   npm run prove -- forward --records 10000 --kills 50 --seed 7
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { changeKills, receiverKinds } from './forward/changeKills.js';
import { forwardKills, type ForwardOutcome } from './forward/forwardKills.js';
import { printTable } from './terminal/printTable.js';

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '10000' },
    /** Number of kills, for each way of sending. */
    kills: { type: 'string', default: '50' },
    /** Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
  },
});
const [records = 0, kills = 0, seed = 0] = [values.records, values.kills, values.seed].map(Number);
if (!Number.isSafeInteger(records) || !Number.isSafeInteger(kills) || !Number.isSafeInteger(seed))
  throw new Error('--records, --kills and --seed are whole numbers.');

const outcomes: (ForwardOutcome & { readonly of: string })[] = [];
async function attempt(of: string, trial: (folder: string) => Promise<ForwardOutcome>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-forward-'));
  try {
    outcomes.push({ of, ...(await trial(folder)) });
  } finally {
    await rm(folder, { recursive: true });
  }
}
for (const batch of [1, 20])
  await attempt(`rows, ${batch} a request`, (folder) => forwardKills({ records, kills, seed, batch, folder }));
for (const kind of receiverKinds)
  await attempt(`changes, ${kind}`, (folder) => changeKills({ kind, kills: Math.ceil(kills / 2), seed, folder }));
printTable(
  ['what', 'kills', 'requests', 'failed', 'accepted', 'doubled', 'rows moved', 'faults'],
  outcomes.map(({ of, kills, requests, failed, accepted, doubled, moved, faults }) => [
    of,
    kills,
    requests,
    failed,
    accepted,
    doubled,
    moved,
    faults.length,
  ]),
);
const faults = outcomes.flatMap((outcome) => outcome.faults);
for (const fault of faults) console.log(`- ${fault}`);
console.log(
  faults.length === 0
    ? `Proven: all spooled records arrived, each with a single text and in the order of its key (seed ${seed}).`
    : `Not proven. Again with: npm run prove -- forward --records ${records} --kills ${kills} --seed ${seed}`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
