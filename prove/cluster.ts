// Proves K1, K4, K5 and K10 against crashes: worker processes export from a strict, faulty server, while they are killed, stopped
// for longer than their jobs' locks, and continued, and Redis is restarted, emptied, or loses its connections. Each row has to be
// there once, in the bytes of an export by one machine, and the API key nowhere.
//
//   npm run prove -- cluster --workers 4 --kills 50 --seed 7
//
// `--dispatch random` puts a dispatcher in BullMQ's place that gives out partitions at random, often twice. `--mutant unfenced`
// lets later commits replace earlier ones, which has to be found.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { redisProgram } from '../test/kit/redisServer.js';
import { campaign } from './cluster/campaign.js';
import { refuse, wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '4' },
    kills: { type: 'string', default: '50' },
    dispatch: { type: 'string', default: 'bullmq' },
    mutant: { type: 'string' },
    /** Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
  },
});
if (redisProgram === undefined) refuse('Redis is not installed: Debian has it as redis-server.');
const workers = wholeNumber('workers', values.workers, 1);
const kills = wholeNumber('kills', values.kills, 0);
const seed = wholeNumber('seed', values.seed, 0);
const { dispatch, mutant } = values;
if (dispatch !== 'bullmq' && dispatch !== 'random') refuse('--dispatch is bullmq or random.');
if (mutant !== undefined && mutant !== 'unfenced') refuse('--mutant can only be unfenced.');

const folder = await mkdtemp(join(tmpdir(), 'sluice-cluster-'));
try {
  const outcome = await campaign({ workers, kills, seed, dispatch, isUnfenced: mutant === 'unfenced', folder });
  const { runs, partitions, rows, disturbances, refused, resubmitted, requests, rateLimited, faults } = outcome;
  printTable(
    ['runs', 'partitions', 'rows', ...Object.keys(disturbances), 'refused commits', 'resubmitted', 'requests', '429s'],
    [[runs, partitions, rows, ...Object.values(disturbances), refused, resubmitted, requests, rateLimited]],
  );
  for (const fault of faults.slice(0, 20)) console.log(`- ${fault}`);
  const again = `npm run prove -- cluster --workers ${workers} --kills ${kills} --dispatch ${dispatch} --seed ${seed}`;
  console.log(
    faults.length === 0
      ? `Proven: each row once, as one machine exports them, and the key nowhere (seed ${seed}).`
      : `Not proven. Again with: ${again}${mutant === undefined ? '' : ` --mutant ${mutant}`}`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
