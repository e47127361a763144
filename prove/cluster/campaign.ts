import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { openCluster, segments, sourceOfRun, type Cluster } from '@sluice/cluster';
import { createClient, exportTo, type Client } from '@sluice/core';
import { csv } from '@sluice/exporters/csv';
import { startSandbox } from '@sluice/sandbox';
import { Redis } from 'ioredis';
import { Random } from '../../test/kit/random.js';
import { startRedis, type RedisServer } from '../../test/kit/redisServer.js';
import { Crew } from './crew.js';
import type { Dispatch, WorkerMessage } from './messages.js';

/** What the command line orders. */
export interface ClusterOrder {
  readonly workers: number;
  readonly kills: number;
  readonly seed: number;
  readonly dispatch: Dispatch;
  readonly isUnfenced: boolean;
  /** An empty folder. */
  readonly folder: string;
}

/** Ways to disturb, and how many of each come on so many kills. */
const shares = { kill: 1, stop: 0.4, cut: 0.2, restart: 0.12, flush: 0.1, empty: 0.08 } as const;

type Disturbance = keyof typeof shares;

/** What happened. */
export interface ClusterOutcome {
  readonly runs: number;
  readonly partitions: number;
  readonly rows: number;
  readonly disturbances: Readonly<Record<Disturbance, number>>;
  readonly refused: number;
  readonly resubmitted: number;
  readonly requests: number;
  /** Requests that the strict server refused. */
  readonly rateLimited: number;
  readonly faults: readonly string[];
}

const limits = { requests: 150, per: 1_000 };
const owners = 40;
const lostAfter = 1_500;
/** Ms without a partition that is done, after which somebody submits the run again. */
const stalledAfter = 15_000;

type Api = Client & ReturnType<typeof walletsOf>;

function walletsOf(apiKey: string, baseUrl: string) {
  return createClient({ apiKey, rateLimit: { requests: 100, per: 1_000 } }).use(aptos({ baseUrl }));
}

/** Lets workers work off one run after the other until all disturbances have happened, and compares each. */
export async function campaign(order: ClusterOrder): Promise<ClusterOutcome> {
  const sandbox = await startSandbox({
    holdings: 8_000,
    owners,
    seed: order.seed,
    latency: [5, 40],
    rateLimit: limits,
    faults: { serverError: 0.02, reset: 0.01, cutBody: 0.01 },
  });
  const redis = await startRedis(['--aof-use-rdb-preamble', 'no']);
  try {
    return await new Campaign(order, sandbox, redis).run();
  } finally {
    await redis.close();
    await sandbox.close();
  }
}

class Campaign {
  readonly #order: ClusterOrder;
  readonly #sandbox: Awaited<ReturnType<typeof startSandbox>>;
  readonly #redis: RedisServer;
  readonly #admin: Redis;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #planned: Disturbance[];
  readonly #happened: Record<Disturbance, number> = { kill: 0, stop: 0, cut: 0, restart: 0, flush: 0, empty: 0 };
  readonly #committed = new Map<string, number>();
  readonly #faults: string[] = [];
  readonly #crew: Crew;
  #runs = 0;
  #refused = 0;
  #resubmitted = 0;
  /** A partition came to its end since the last disturbance. */
  #hasProgressed = false;

  constructor(order: ClusterOrder, sandbox: Awaited<ReturnType<typeof startSandbox>>, redis: RedisServer) {
    this.#order = order;
    this.#sandbox = sandbox;
    this.#redis = redis;
    this.#admin = new Redis(redis.url, { maxRetriesPerRequest: null });
    this.#admin.on('error', () => undefined);
    this.#cluster = openCluster({ url: redis.url });
    this.#random = new Random(`${order.seed} cluster`);
    this.#planned = plannedFor(order, this.#random);
    this.#crew = new Crew(
      order.folder,
      () => ({
        redisUrl: redis.url,
        aptosUrl: sandbox.aptosUrl,
        apiKey: sandbox.apiKey,
        limits,
        lostAfter,
        folder: this.#runFolder,
        dispatch: order.dispatch,
        isUnfenced: order.isUnfenced,
        concurrency: 2,
        seed: this.#random.int(0, 1_000_000),
      }),
      (message) => this.#hear(message),
    );
  }

  get #name(): string {
    return `run-${this.#runs}`;
  }

  get #runFolder(): string {
    return join(this.#order.folder, this.#name);
  }

  async run(): Promise<ClusterOutcome> {
    const client = walletsOf(this.#sandbox.apiKey, this.#sandbox.aptosUrl);
    const whole = join(this.#order.folder, 'whole.csv');
    await exportTo(client.aptos.nfts(this.#params), csv<object>({ path: whole })).run();
    const wanted = await hashOf(whole);
    let partitions = 0;
    for (let worker = 0; worker < this.#order.workers; worker += 1) if (this.#isByBullmq) this.#crew.start();
    while (this.#planned.length > 0 || this.#runs === 0) {
      this.#runs += 1;
      partitions += await this.#oneRun(client, wanted);
    }
    await this.#crew.end();
    await client.close();
    await this.#cluster.close();
    this.#admin.disconnect();
    this.#lookForKey();
    const { requests, rateLimited } = this.#sandbox.counts;
    return {
      runs: this.#runs,
      partitions,
      rows: this.#runs * 8_000,
      disturbances: this.#happened,
      refused: this.#refused,
      resubmitted: this.#resubmitted,
      requests,
      rateLimited,
      faults: this.#faults,
    };
  }

  get #isByBullmq(): boolean {
    return this.#order.dispatch === 'bullmq';
  }

  get #params(): ListNftsOptions {
    return { ownerAddresses: this.#sandbox.owners, ownersPerRequest: 1, pageSize: 20 };
  }

  async #oneRun(client: Api, wanted: string): Promise<number> {
    const target = segments(this.#runFolder);
    const plan = {
      name: this.#name,
      source: 'aptos.nfts',
      params: [{ ...this.#params, ownerAddresses: [...this.#sandbox.owners] }],
      open: (params: ListNftsOptions) => client.aptos.nfts(params),
    };
    const submit = async (): Promise<void> => {
      if (this.#isByBullmq) await this.#cluster.submit({ ...plan, to: target }).catch(() => undefined);
      else await target.submit(plan);
    };
    await submit();
    if (!this.#isByBullmq) for (let nth = 0; nth < this.#order.workers; nth += 1) this.#crew.start();
    const run = await target.open();
    let done = 0;
    let changedAt = performance.now();
    while (done < run.partitions) {
      await delay(this.#random.int(100, 500));
      await this.#disturb();
      const status = await run.status();
      if (status.done > done) changedAt = performance.now();
      done = status.done;
      if (performance.now() - changedAt < stalledAfter) continue;
      this.#resubmitted += 1;
      changedAt = performance.now();
      await submit();
    }
    const merged = join(this.#order.folder, `${this.#name}.csv`);
    await exportTo(await sourceOfRun(this.#runFolder), csv<object>({ path: merged })).run();
    if ((await hashOf(merged)) !== wanted)
      this.#faults.push(`${this.#name}: the merged file differs from that of one machine.`);
    return run.partitions;
  }

  #hear(message: WorkerMessage): void {
    if (message.type !== 'partition') return;
    this.#hasProgressed = true;
    if (message.outcome === 'refused') this.#refused += 1;
    if (message.outcome !== 'committed') return;
    const name = `${message.run}, partition ${message.partition}`;
    const times = (this.#committed.get(name) ?? 0) + 1;
    this.#committed.set(name, times);
    if (times > 1) this.#faults.push(`${name} was committed ${times} times.`);
  }

  async #disturb(): Promise<void> {
    const next = this.#planned.at(-1);
    const { awake } = this.#crew;
    const member = awake[this.#random.int(0, Math.max(0, awake.length - 1))];
    // One worker stays awake, or the run would only wait.
    if (next === undefined || !member || (next === 'stop' && awake.length < 2)) return;
    // Who is disturbed all the time never comes to where it matters.
    if (!this.#hasProgressed && !this.#random.chance(0.1)) return;
    this.#hasProgressed = false;
    this.#planned.pop();
    this.#happened[next] += 1;
    switch (next) {
      case 'kill':
        return this.#crew.kill(member);
      case 'stop':
        return this.#crew.stop(member, this.#random.int(2 * lostAfter, 4 * lostAfter));
      case 'cut':
        await this.#admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        return;
      case 'flush':
        await this.#admin.flushall();
        return;
      case 'restart':
      case 'empty':
        this.#lookForKey();
        await this.#redis.kill();
        await delay(this.#random.int(0, 1_000));
        await this.#redis.start({ isEmpty: next === 'empty' });
    }
  }

  /** In everything that Redis has ever written since it was last emptied, and in what workers printed. */
  #lookForKey(): void {
    const files = readdirSync(this.#redis.folder, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    for (const path of [...files.map(({ parentPath, name }) => join(parentPath, name)), this.#crew.logFile])
      if (readFileSync(path, 'latin1').includes(this.#sandbox.apiKey)) this.#faults.push(`The API key is in ${path}.`);
  }
}

/** All disturbances in random order. Those of Redis are none of a random dispatch. */
function plannedFor({ kills, dispatch }: ClusterOrder, random: Random): Disturbance[] {
  const kinds = Object.entries(shares) as [Disturbance, number][];
  const all = kinds
    .filter(([kind]) => dispatch === 'bullmq' || kind === 'kill' || kind === 'stop')
    .flatMap(([kind, share]) => Array.from({ length: Math.ceil(kills * share) }, () => kind));
  return all
    .map((kind) => ({ kind, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
