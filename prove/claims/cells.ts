import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockingJobs } from '../../packages/cli/test/lockingJobs.js';
import { redisProgram } from '../../test/kit/redisServer.js';
import type { Cell, CellOrder, CellOutcome, Fate } from './cell.js';
import { playJob } from './jobCell.js';
import { playWorker } from './workerCell.js';

const atOnce = 12;
const fates: readonly Fate[] = ['stopped, continued', 'stopped, killed', 'killed', 'copied, renamed'];
const worker = 'a worker of a run';
const jobs = [...(redisProgram === undefined ? [] : [worker]), ...Object.keys(lockingJobs)];

/** Plays each job with each fate, several at the same time. The folders of faults stay. `stopped` is in ms. */
export async function playCells({ stopped, folder }: Pick<CellOrder, 'stopped' | 'folder'>) {
  const all = fates.flatMap((fate) =>
    jobs.flatMap((job) => (['one', 'two'] as const).map((host) => ({ job, host, fate }))),
  );
  const cells = all.filter(({ job, fate }) => job !== worker || fate !== 'copied, renamed');
  const played: (Cell & CellOutcome)[] = [];
  const queue = cells.entries();
  const playNext = async (): Promise<void> => {
    for (const [at, cell] of queue) {
      const own = join(folder, `cell-${at}`);
      await mkdir(own);
      const { refused, faults } = await play({ ...cell, stopped, folder: own });
      if (faults.length === 0) await rm(own, { recursive: true });
      const named = faults.map((fault) => `${cell.job}, ${cell.fate}, beside ${cell.host}, ${own}: ${fault}`);
      played[at] = { ...cell, refused, faults: named };
    }
  };
  await Promise.all(Array.from({ length: atOnce }, playNext));
  return played;
}

async function play(order: CellOrder): Promise<CellOutcome> {
  const job = lockingJobs[order.job];
  try {
    return await (job ? playJob(job, order) : playWorker(order));
  } catch (error) {
    return { refused: 0, faults: [String(error)] };
  }
}
