import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileState } from '@sluice/core/node';
import { Random } from '../../test/kit/random.js';
import { Contender, seats, type ContenderTask } from './contenders.js';
import { judgeRace } from './judgeRace.js';

interface RacesOrder {
  readonly races: number;
  readonly seed: number;
  /** An empty folder. It keeps what belongs to a fault. */
  readonly folder: string;
}

/** What happened in all races. */
export interface RacesOutcome {
  races: number;
  /** Those in which all four were killed. */
  deserted: number;
  /** How often somebody had the lock. */
  entered: number;
  /** Holders that were stopped. */
  stopped: number;
  readonly killed: { acquiring: number; holding: number; releasing: number };
  /** One sentence each. */
  readonly faults: string[];
}

/** What happens to a contender so many ms after the start, or after it says that it is inside. */
interface Blow {
  readonly from: 'start' | 'inside';
  readonly after: number;
  /** Ms for which it is stopped first; 0: it is not. */
  readonly stopped: number;
  readonly kills: boolean;
}

/** Races at the same time, each in a folder of its own. */
const atOnce = 2;
/** Ms that a contender holds the lock. */
const maxHold = 20;
/** Ms after which each must have had it. */
const maxWait = 60_000;
/** A path of a socket that is longer than the kernel takes. Contenders that see the folder elsewhere have a shorter one. */
const longName = 'a long name '.repeat(8).trim();

/**
 * Four processes, three of them in containers, want to lock one folder at the same moment, each until it succeeds. About a
 * third of them are killed, and some stopped. Nobody may enter beside another one that is alive. Each that is left
 * succeeds. Afterwards the lock is free, and its folder is gone.
 */
export async function runRaces(order: RacesOrder): Promise<RacesOutcome> {
  const killed = { acquiring: 0, holding: 0, releasing: 0 };
  const outcome = { races: 0, deserted: 0, entered: 0, stopped: 0, killed, faults: new Array<string>() };
  await Promise.all(Array.from({ length: atOnce }, (_, nth) => runSeries(nth, order, outcome)));
  return outcome;
}

async function runSeries(nth: number, { races, seed, folder }: RacesOrder, outcome: RacesOutcome): Promise<void> {
  const random = new Random(`${seed} races ${nth}`);
  const base = join(folder, `races-${nth}`);
  await mkdir(base);
  let started = 0;
  const start = (seat: (typeof seats)[number]) => Contender.start(`p${(started += 1)}`, seat, base);
  let contenders = await Promise.all(seats.map(start));
  try {
    while (outcome.races < races && outcome.faults.length === 0) {
      outcome.races += 1;
      if (outcome.races % 100 === 0) console.error(`${outcome.races} of ${races} races`);
      const name = random.chance(0.5) ? 'state' : longName;
      const faults = await race(contenders, join(base, name), random, outcome);
      outcome.faults.push(...faults.map((fault) => `${base}: ${fault}`));
      contenders = await Promise.all(
        seats.map(async (seat, at) => {
          const last = contenders[at];
          return last && !last.isGone ? last : start(seat);
        }),
      );
    }
  } finally {
    await Promise.all(contenders.map((each) => each.kill()));
  }
}

/** Returns what was wrong, one sentence each. */
async function race(
  contenders: readonly Contender[],
  folder: string,
  random: Random,
  outcome: RacesOutcome,
): Promise<string[]> {
  const isDeserted = random.chance(0.1);
  const faults: string[] = [];
  const log = `${folder}.log`;
  const tooLate = setTimeout(() => {
    faults.push(`Somebody did not get the lock in ${maxWait / 1_000} s.`);
    for (const contender of contenders) void contender.kill();
  }, maxWait);
  const attempts = contenders.map((contender) => {
    const task = {
      folder: basename(folder),
      log: basename(log),
      hold: random.int(0, maxHold),
      breakLock: random.chance(0.5),
    };
    return attempt(contender, task, drawBlow(random, isDeserted), log);
  });
  for (const fault of await Promise.all(attempts)) if (fault !== undefined) faults.push(fault);
  clearTimeout(tooLate);
  const judged = judgeRace(readFileSync(log, 'utf8'));
  faults.push(...judged.faults, ...(await checkIsFree(folder)));
  outcome.deserted += Number(isDeserted);
  outcome.entered += judged.entered;
  outcome.stopped += judged.stopped;
  for (const phase of ['acquiring', 'holding', 'releasing'] as const) outcome.killed[phase] += judged.killed[phase];
  if (faults.length === 0) await rm(log);
  return faults;
}

function drawBlow(random: Random, isDeserted: boolean): Blow | undefined {
  const kills = isDeserted || random.chance(0.3);
  const stops = random.chance(0.15);
  if (!kills && !stops) return undefined;
  const from = random.pick<Blow['from']>(['start', 'inside']);
  return { from, after: random.int(0, maxHold), kills, stopped: stops ? random.int(20, 400) : 0 };
}

/** Lets a contender compete while it is hit. Returns what was wrong. */
async function attempt(
  contender: Contender,
  task: ContenderTask,
  blow: Blow | undefined,
  log: string,
): Promise<string | undefined> {
  let enter = (): void => undefined;
  const inside = new Promise<void>((resolve) => (enter = resolve));
  let isOver = false;
  const ended = contender.compete(task, enter).finally(() => (isOver = true));
  if (blow) {
    if (blow.from === 'inside') await Promise.race([inside, ended]);
    await delay(blow.after);
    if (!isOver) await hit(contender, blow, log);
  }
  const end = await ended;
  return end === 'done' || (end === 'gone' && blow?.kills) ? undefined : `${contender.name}: ${end}.`;
}

/** Writes into the log after a stop, and before a kill: see `judgeRace`. */
async function hit(contender: Contender, { stopped, kills }: Blow, log: string): Promise<void> {
  if (stopped > 0) {
    contender.signal('SIGSTOP');
    appendFileSync(log, `stop ${contender.name}\n`);
    await delay(stopped);
  }
  if (kills) {
    appendFileSync(log, `kill ${contender.name}\n`);
    await contender.kill();
  } else contender.signal('SIGCONT');
}

/** Returns what was wrong. */
async function checkIsFree(folder: string): Promise<string[]> {
  try {
    const release = await fileState(folder).lock(new AbortController().signal);
    await release();
  } catch (error) {
    return [`Nobody is left, and yet: ${String(error)}`];
  }
  return existsSync(folder) ? ['Something is left in the folder.'] : [];
}
