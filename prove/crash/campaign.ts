import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { ChildRuns } from './childRuns.js';
import { size, type Format } from './exportOrder.js';
import { runJob, type JobOutcome } from './job.js';
import { jobPlans, type JobPlan } from './jobPlan.js';
import { aimOf } from './kill.js';
import { phases, type Phase } from './phases.js';

/** A finished job. */
export interface FinishedJob extends JobOutcome {
  readonly number: number;
  /** The folder that contains everything, if something was wrong. */
  readonly folder: string;
}

const jobsAtOnce = 2;

/** Runs many jobs, two at a time. */
export class Campaign {
  readonly finished: FinishedJob[] = [];
  kills = 0;
  readonly #seed: number;
  readonly #folder: string;
  readonly #children = new ChildRuns();
  readonly #wholes = new Map<Format, Promise<Buffer>>();
  #isStopped = false;

  /** `folder` exists and is empty. */
  constructor(seed: number, folder: string) {
    this.#seed = seed;
    this.#folder = folder;
  }

  /**
   * Runs jobs until enough kills have happened, at least one of them in each phase; running jobs are completed. Kills may
   * come too late: the export may finish before them. If only phases are missing in the end, jobs that do not aim at one of
   * these are left out.
   */
  async run(kills: number): Promise<void> {
    const plans = jobPlans(this.#seed);
    // A kill that comes too late does not count. If most do, more jobs would not help.
    let jobsLeft = kills;
    let missing = kills;
    await this.#together(async () => {
      while ((missing > 0 || this.#unhit.size > 0) && jobsLeft > 0 && !this.#isStopped) {
        const plan = plans.next().value;
        const unhit = this.#unhit;
        if (missing <= 0 && !plan.kills.some((kill) => unhit.has(aimOf(kill)))) continue;
        jobsLeft -= 1;
        missing -= plan.kills.length;
        const { kills: happened } = await this.#runJob(plan);
        missing += plan.kills.length - happened.length;
      }
    });
  }

  /** Runs one job. */
  async runOnly(number: number): Promise<void> {
    for (const plan of jobPlans(this.#seed)) {
      if (plan.number !== number) continue;
      await this.#runJob(plan);
      return;
    }
  }

  /** The phases that no kill has hit. */
  get #unhit(): ReadonlySet<Phase> {
    const hit = new Set(this.finished.flatMap((job) => job.kills.map(({ phase }) => phase)));
    return new Set(phases.filter((phase) => !hit.has(phase)));
  }

  get differences(): FinishedJob[] {
    return this.finished.filter(({ differences }) => differences.length > 0);
  }

  /** Ends the processes that it has started, and waits for their exit. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#children.end();
  }

  /** An exception in one worker stops the other. What that one then fails with is not reported. */
  async #together(worker: () => Promise<void>): Promise<void> {
    const errors: unknown[] = [];
    const concurrency = Array.from({ length: jobsAtOnce }, async () => {
      try {
        await worker();
      } catch (error) {
        errors.push(error);
        await this.stop();
      }
    });
    await Promise.all(concurrency);
    if (errors.length > 0) throw errors[0];
  }

  async #runJob(plan: JobPlan): Promise<FinishedJob> {
    const { number, format } = plan;
    const folder = join(this.#folder, `job-${number}`);
    const whole = await this.#whole(format);
    await mkdir(folder);
    const onKill = (): void => void (this.kills += 1);
    // The plan is stored next to the export's folder, which must contain nothing else.
    const job = { seed: this.#seed, children: this.#children, folder: join(folder, 'export'), whole, onKill };
    await mkdir(job.folder);
    const outcome = { number, folder, ...(await runJob(plan, job)) };
    this.finished.push(outcome);
    if (outcome.differences.length === 0) await rm(folder, { recursive: true });
    else await writeFile(join(folder, 'job.json'), JSON.stringify({ plan, outcome }, undefined, 2));
    return outcome;
  }

  #whole(format: Format): Promise<Buffer> {
    const folder = join(this.#folder, format);
    const whole = this.#wholes.get(format) ?? exportUndisturbed(format, this.#seed, this.#children, folder);
    this.#wholes.set(format, whole);
    return whole;
  }
}

/** The bytes of an uninterrupted export. */
async function exportUndisturbed(format: Format, seed: number, children: ChildRuns, folder: string): Promise<Buffer> {
  await using sandbox = await startSandbox({ seed, holdings: size.holdings, owners: size.owners });
  const { apiKey, aptosUrl, owners } = sandbox;
  await mkdir(folder);
  const path = join(folder, `holdings.${format}`);
  const order = { apiKey, aptosUrl, owners, path, format, concurrency: 1, commitEvery: 32, ifExists: 'fail' } as const;
  const end = await children.start(order).ended;
  if (end.how !== 'done')
    throw new Error(`An undisturbed export ${end.how === 'failed' ? `failed: ${end.why}` : 'was killed'}`);
  return readFile(path);
}
