import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileState } from '@sluice/core/node';
import { hashOf } from '../../packages/core/src/rows/source/fingerprint.js';
import { WatchLog } from '../../packages/core/src/rows/watch/watchLog.js';
import { Random } from '../../test/kit/random.js';
import type { Row } from '../../packages/core/test/rows/watch/listing.js';
import { RestlessServer } from '../../packages/core/test/rows/watch/restlessServer.js';
import type { Moment } from '../crash/failPoint.js';
import { KillRun } from './killRun.js';
import { stateBeside, type KillOrder } from './killOrder.js';
import type { KillTarget } from './killTargets.js';
import { Story } from './story.js';

/** The outcome of the rounds with one target. */
export interface KillOutcome {
  readonly target: string;
  /** Where the processes died, e.g. `after sync of watch.log`. */
  readonly deaths: readonly string[];
  readonly changes: number;
  /** What was wrong; the rounds end with it. */
  readonly fault?: string;
  /** The folder that contains everything, if something was wrong. */
  readonly folder: string;
}

/** A process that has not reached its operation by then is killed at a page. */
const maxPages = 400;
const maxOperations = 160;
const moments: readonly Moment[] = ['before', 'half-way', 'after'];

/**
 * Kills a watch again and again while the server continues, then lets both finish. The seed decides everything but
 * races.
 */
export async function killRounds(target: KillTarget, rounds: number, seed: number): Promise<KillOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-watch-'));
  const deaths: string[] = [];
  const story = new Story(target.mayRepeat);
  const random = new Random(seed);
  const server = await RestlessServer.start(new Random(seed + 1));
  const path = join(folder, 'changes.jsonl');
  const open = await target.open(path);
  const order = { url: server.url, target: target.name, address: open.address, path };
  const runs = new Set<KillRun>();
  const begin = (more: Partial<KillOrder>): KillRun => {
    const run = new KillRun({ ...order, ...more });
    runs.add(run);
    return run;
  };
  try {
    // The next process gets ready in the meantime, because starting takes longer than it may live.
    let next = begin(deathIn(random));
    for (let round = 1; round <= rounds; round += 1) {
      const now = next;
      next = round < rounds ? begin(deathIn(random)) : begin({ polls: 8 });
      deaths.push(await deathOf(now, server, random));
      story.told(await open.arrived());
    }
    server.calm();
    await next.go();
    assert.deepEqual(await next.ended, { how: 'done' });
    const told = story.told(await open.arrived());
    assert.deepEqual(told, await accepted(path), 'The changes do not add up to what was accepted');
    const served = new Map(server.listing.rows.map((each) => [each.id, each]));
    assert.deepEqual(told, served, 'The changes do not add up to what the server has');
    await rm(folder, { recursive: true });
    return { target: target.name, deaths, changes: story.seen, folder };
  } catch (error) {
    return { target: target.name, deaths, changes: story.seen, folder, fault: String(error) };
  } finally {
    for (const run of runs) run.kill();
    await Promise.all([...runs].map(({ ended }) => ended));
    await open.close();
    server.close();
  }
}

/** Half of them die at an operation on the disk, the others during a page. */
function deathIn(random: Random): Partial<KillOrder> {
  if (random.chance(0.5)) return {};
  return { dies: { at: random.int(1, maxOperations), moment: moments[random.int(0, 2)] ?? 'after' } };
}

/** Where a started process died. */
async function deathOf(run: KillRun, server: RestlessServer, random: Random): Promise<string> {
  const served = server.more(run.diesByItself ? maxPages : random.int(1, 60));
  await run.go();
  await Promise.race([served, run.ended]);
  run.kill();
  const end = await run.ended;
  if (end.how === 'died') return end.where;
  if (end.how === 'killed') return 'at a page';
  throw new Error(
    end.how === 'failed' ? `A run failed: ${end.why}` : 'A run that should have been killed ended by itself.',
  );
}

/** The accepted rows in the state. */
async function accepted(path: string): Promise<ReadonlyMap<string, Row>> {
  const log = new WatchLog<Row>(fileState(stateBeside(path)).log('watch'), { watch: hashOf(['test.served', null]) });
  await log.open();
  await log.close();
  return new Map(log.snapshot.rows);
}
