import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { Random } from '../../../../test/kit/random.js';
import { startRedis } from '../../../../test/kit/redisServer.js';
import { encodeLimits } from '../../src/limiter/decodeLimits.js';
import { answerCall, type LimiterBook } from '../../../../test/kit/limiterTwin.js';
import { look, type LimiterCall, type LimiterReply, type UsedPermit } from '../../src/limiter/limiterCall.js';
import { limiterScript } from '../../src/limiter/limiterScript.js';

const limits: readonly [string, string, string] = [
  encodeLimits([{ requests: 5, per: 1_000 }]),
  encodeLimits([{ requests: 6, per: 1_000, burst: 2 }]),
  encodeLimits([
    { requests: 4, per: 200 },
    { requests: 20, per: 3_600_000 },
  ]),
];

interface Step {
  readonly call: LimiterCall;
  readonly time: number;
  readonly runId: string;
  readonly knownFor: number;
  /** Redis has lost the book before this call. */
  readonly isLost: boolean;
}

/** Compares the script in a real Redis with its twin, in random histories of these seeds. */
export async function compareHistories(from: number, to: number): Promise<void> {
  const server = await startRedis(['--appendonly', 'no']);
  const redis = new Redis(server.url);
  onTestEnd(async () => {
    redis.disconnect();
    await server.close();
  });
  const sha = String(await redis.script('LOAD', limiterScript));
  const seen = new Set<string>();
  for (let seed = from; seed <= to; seed += 1) {
    const { steps, replies } = history(new Random(seed));
    const pipeline = redis.pipeline();
    pipeline.del('book');
    for (const { call, time, runId, knownFor, isLost } of steps) {
      if (isLost) pipeline.del('book');
      pipeline.evalsha(sha, 1, 'book', JSON.stringify(call), time, runId, knownFor);
    }
    const results = ((await pipeline.exec()) ?? []).map(([error, result]) => error ?? result);
    const answered = results.filter((result) => typeof result !== 'number');
    expect(answered, `seed ${seed}`).toEqual(replies.map(fieldsOf));
    for (const { status, granted } of replies) seen.add(`${status} ${Math.min(granted, 2)}`);
  }
  // The histories reach what they are for.
  expect([...seen].sort()).toEqual(['learn 0', 'none 0', 'ok 0', 'ok 1', 'ok 2', 'other 0']);
}

/** A random history, with the replies of the twin, by which its processes go on. */
function history(random: Random): { readonly steps: readonly Step[]; readonly replies: readonly LimiterReply[] } {
  const steps: Step[] = [];
  const replies: LimiterReply[] = [];
  const known = new Map<string, LimiterReply>();
  const open: { worker: string; at: number; nth: number; costs: readonly number[] }[] = [];
  let written: (UsedPermit & { readonly worker: string })[] = [];
  let book: LimiterBook | undefined;
  let time = 1_700_000_000_000_000;
  let runId = 'first';
  const declared = random.pick(limits);
  for (let nth = 0; nth < 20; nth += 1) {
    time += random.int(0, random.pick([1_000, 30_000, 400_000, 1_500_000]));
    if (random.chance(0.02)) time -= random.int(0, random.pick([40_000, 3_000_000]));
    if (random.chance(0.02)) runId = `run${nth}`;
    const isLost = random.chance(0.02);
    if (isLost) book = undefined;
    const worker = random.chance(0.03) ? '' : random.pick(['a', 'b', 'c']);
    const last = known.get(worker);
    const inForce = last?.inForce || declared;
    const by = random.chance(0.97) ? inForce : limits[1];
    const windows = by.split('"max"').length - 1;
    const mayReport = (each: { readonly worker: string }): boolean => each.worker === worker && random.chance(0.7);
    const started = open.filter(mayReport);
    for (const each of started) open.splice(open.indexOf(each), 1);
    const starts = started.map(({ at, nth: permit, costs: each }): UsedPermit => {
      const late = random.chance(0.1) ? -1 : random.int(0, 300_000);
      const took = late < 0 || random.chance(0.5) ? -1 : random.int(0, 200_000);
      return { at, nth: permit, costs: each, late, took, isCounted: false };
    });
    const responded = written.filter(mayReport);
    written = written.filter((each) => !responded.includes(each));
    const responses = responded.map(({ worker: _, ...each }) => ({
      ...each,
      took: random.int(0, 200_000),
      isCounted: true,
    }));
    written.push(...starts.filter(({ late, took }) => late >= 0 && took < 0).map((each) => ({ ...each, worker })));
    const costs = () => Array.from({ length: windows }, () => (random.chance(0.2) ? 2 : 1));
    const asked: LimiterCall = {
      worker,
      running: random.chance(0.5) ? 1 : 0,
      pause: random.chance(0.03) ? random.int(0, 900_000) : 0,
      declared: random.chance(0.05) ? '' : random.chance(0.02) ? limits[0] : declared,
      fallback: random.chance(0.05) ? limits[0] : '',
      known: by,
      wants: Array.from({ length: random.int(0, 3) }, costs),
      used: [...starts, ...responses],
      steppedSince: random.chance(0.02) ? (last?.openedAt ?? 0) : 0,
      replace: random.chance(0.02) ? random.pick(limits) : '',
    };
    const call = worker === '' ? { ...look, declared: asked.declared } : asked;
    const knownFor = random.chance(0.5) ? 0 : random.int(0, 3_000_000);
    steps.push({ call, time, runId, knownFor, isLost });
    // A copy, because the twin changes its book in place, and whoever only looks changes none.
    const answer = answerCall(book && structuredClone(book), call, { time, runId, knownFor });
    if (worker !== '') book = answer.book;
    replies.push(answer.reply);
    if (answer.reply.inForce !== '') known.set(worker, answer.reply);
    for (let permit = 0; permit < answer.reply.granted; permit += 1)
      open.push({ worker, at: answer.reply.time, nth: permit, costs: call.wants[permit] ?? [] });
  }
  return { steps, replies };
}

function fieldsOf(reply: LimiterReply): readonly (string | number | readonly number[])[] {
  const { status, time, openedAt, granted, due, queued, running, pausedFor, inForce, used } = reply;
  return [status, time, openedAt, granted, due, queued, running, pausedFor, inForce, used];
}
