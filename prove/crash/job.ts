import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import type { ChildRuns, RunEnd } from './childRuns.js';
import { size, type ExportOrder } from './exportOrder.js';
import { faultAt } from './faultAt.js';
import { fetchedAgain, maxFetchedAgain, queriesOf, type RunQueries } from './fetchedAgain.js';
import type { JobPlan } from './jobPlan.js';
import type { Kill } from './kill.js';
import { faultAfterKill, faultAtEnd, lookAt, type Leftover } from './leftover.js';
import type { Phase } from './phases.js';
import type { KillOutcome } from './tally.js';

/** What a job needs from outside. */
export interface JobSurroundings {
  readonly seed: number;
  readonly children: ChildRuns;
  /** A folder of its own, which exists and is empty. */
  readonly folder: string;
  /** The bytes that an uninterrupted run writes. */
  readonly whole: Buffer;
  readonly onKill: () => void;
}

/** The outcome of a job. */
export interface JobOutcome {
  readonly kills: readonly KillOutcome[];
  /** What was wrong, one sentence each. */
  readonly differences: readonly string[];
}

/** Runs one export against a sandbox of its own, kills it as planned, and checks the disk and the server in between. */
export async function runJob(plan: JobPlan, surroundings: JobSurroundings): Promise<JobOutcome> {
  let onRequest: OnRequest = () => undefined;
  await using sandbox = await startSandbox({
    seed: surroundings.seed,
    holdings: size.holdings,
    owners: size.owners,
    script: ({ query, attempt }) => {
      onRequest(query.toString());
      return faultAt(`${surroundings.seed} job ${plan.number}`, query.toString(), attempt);
    },
  });
  const job = new Job(plan, surroundings, sandbox, (listener) => (onRequest = listener));
  return await job.run();
}

/** Called with each request's query as it arrives. */
type OnRequest = (query: string) => void;

class Job {
  readonly #plan: JobPlan;
  readonly #surroundings: JobSurroundings;
  readonly #sandbox: Sandbox;
  readonly #listen: (listener: OnRequest) => void;
  readonly #path: string;
  /** The content of the final name before the export, if it is to be replaced. */
  readonly #earlier: Buffer | undefined;
  /** Of all runs. */
  readonly #queries: RunQueries[] = [];
  /** Of the killed runs: all except the last one. */
  readonly #killed: { readonly phase: Phase; readonly where: string }[] = [];

  constructor(plan: JobPlan, surroundings: JobSurroundings, sandbox: Sandbox, listen: (listener: OnRequest) => void) {
    this.#plan = plan;
    this.#surroundings = surroundings;
    this.#sandbox = sandbox;
    this.#listen = listen;
    this.#path = join(surroundings.folder, `holdings.${plan.format}`);
    this.#earlier = plan.ifExists === 'overwrite' ? Buffer.from('what was there before\n') : undefined;
  }

  async run(): Promise<JobOutcome> {
    if (this.#earlier) await writeFile(this.#path, this.#earlier);
    const fault = await this.#runToTheEnd();
    const counts = fetchedAgain(this.#queries);
    const allowed = maxFetchedAgain(this.#plan);
    const kills = this.#killed.map(({ phase, where }, nth) => {
      const count = counts[nth] ?? 0;
      const differences = [
        ...(count > allowed ? [`${count} pages were fetched again, not at most ${allowed}`] : []),
        ...(fault !== undefined && nth === this.#killed.length - 1 ? [fault] : []),
      ];
      const named = differences.map((difference) => `killed ${where} (${phase}): ${difference}`);
      return { phase, fetchedAgain: count, differences: named };
    });
    const isNoKillToBlame = fault !== undefined && kills.length === 0;
    return { kills, differences: isNoKillToBlame ? [fault] : kills.flatMap(({ differences }) => differences) };
  }

  /** Returns what was wrong, if anything; then the job stops. */
  async #runToTheEnd(): Promise<string | undefined> {
    for (const kill of [...this.#plan.kills, undefined]) {
      const before = await this.#look();
      if (before.target === 'complete' && before.checkpoint === 'finished') return this.#runOnceMore();
      const { end, queries } = await this.#runOnce(kill);
      if (before.checkpoint === 'sealed' && queries.asked.length > 0)
        return `a run that only had to put its file in place made ${queries.asked.length} requests`;
      if (end.how === 'failed') return `the next run failed: ${end.why}`;
      if (end.how === 'done' && end.rows !== size.holdings)
        return `the next run counts ${end.rows} rows, not ${size.holdings}`;
      const after = await this.#look();
      if (end.how === 'done') return faultAtEnd(after);
      const phase = phaseOfKill(kill, after);
      this.#killed.push({ phase, where: end.where });
      this.#surroundings.onKill();
      const fault = faultAfterKill(after, phase);
      if (fault !== undefined) return fault;
    }
    return 'it was killed once more than planned';
  }

  /**
   * It was killed when everything was done: the next run recognises its file, sends no request, and removes leftovers.
   */
  async #runOnceMore(): Promise<string | undefined> {
    const { end, queries } = await this.#runOnce(undefined, 'fail');
    if (end.how !== 'done') return 'a run on top of the finished one did not say that it is done';
    if (queries.asked.length > 0) return 'a run on top of the finished one made requests';
    return faultAtEnd(await this.#look());
  }

  async #runOnce(
    kill: Kill | undefined,
    ifExists = this.#plan.ifExists,
  ): Promise<{ end: RunEnd; queries: RunQueries }> {
    const { apiKey, aptosUrl, owners, requests } = this.#sandbox;
    const { format, concurrency, commitEvery } = this.#plan;
    const before = requests.length;
    const order: ExportOrder = {
      apiKey,
      aptosUrl,
      owners,
      path: this.#path,
      format,
      concurrency,
      commitEvery,
      ifExists,
      ...(kill?.at === 'operation' && { failPoint: kill.point }),
    };
    const child = this.#surroundings.children.start(order);
    const pages = new Set<string>();
    this.#listen((query) => {
      pages.add(query);
      if (kill?.at === 'request' && pages.size === kill.nth) child.kill();
    });
    const end = await child.ended;
    const queries = queriesOf(requests.slice(before));
    this.#queries.push(queries);
    return { end, queries };
  }

  #look(): Promise<Leftover> {
    return lookAt(this.#path, this.#surroundings.whole, this.#earlier);
  }
}

/** A kill at a request before any row is on the disk belongs to the previous phase. */
function phaseOfKill(kill: Kill | undefined, { hasRows }: Leftover): Phase {
  if (kill?.at === 'operation') return kill.point.phase;
  return hasRows ? 'fetching' : 'setting up';
}
