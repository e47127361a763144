import { createClient, type Endpoint } from '@sluice/core';
import PQueue from 'p-queue';
import pThrottle from 'p-throttle';
import { Pool } from 'undici';
import { openApi, requestsOf } from '../../prove/rate/rate.js';
import { observed, strictRun, windows, type StrictRun } from '../../prove/rate/strictRun.js';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import type { Work } from './work.js';

const concurrency = 8;
/** Small requests, and a limit that they never reach. */
const requests = 20_000;
const neverReached = { requests: 60_000, per: 60_000 };

/** What a limit lets pass, of what it permits: L1; and what it costs where it can't bind. */
export const limits: Work = async ({ rounds }) => [
  ...(await shares(10, Math.min(rounds, 3))),
  ...(await shares(50, Math.min(rounds, 3))),
  ...(await shares(500, Math.min(rounds, 3))),
  ...(await costs(Math.min(rounds, 5))),
];

async function shares(limit: number, rounds: number): Promise<Figure[]> {
  const sluice: StrictRun[] = [];
  const throttled: StrictRun[] = [];
  const queued: StrictRun[] = [];
  const interval = 1_000;
  for (let round = 0; round < rounds; round += 1) {
    sluice.push(await strictRun(concurrency, limit));
    throttled.push(await peerRun(limit, pThrottle({ limit, interval, strict: true })));
    const queue = new PQueue({ intervalCap: limit, interval, strict: true });
    queued.push(await peerRun(limit, (get) => () => queue.add(get)));
  }
  const server = `a server of ${limit} a second, concurrency ${concurrency}`;
  const share = { work: `requests/s of ${server}`, unit: '%' } as const;
  const refused = { work: `requests refused with 429 by ${server}`, unit: '' } as const;
  const shareOf = (run: StrictRun): number => 100 * run.share;
  return [
    figureOf({ ...share, against: 'its limit', goal: { atLeast: 97 } }, sluice.map(shareOf)),
    figureOf({ ...share, against: 'its limit: p-throttle, strict' }, throttled.map(shareOf)),
    figureOf({ ...share, against: 'its limit: p-queue, strict' }, queued.map(shareOf)),
    figureOf(
      { ...refused, against: '', goal: { atMost: 0 } },
      sluice.map((run) => run.refused),
    ),
    figureOf(
      { ...refused, against: 'p-throttle, strict' },
      throttled.map((run) => run.refused),
    ),
    figureOf(
      { ...refused, against: 'p-queue, strict' },
      queued.map((run) => run.refused),
    ),
  ];
}

/** As many requests as {@link strictRun} sends, by a function that a peer limits. */
function peerRun(limit: number, limited: (get: () => Promise<unknown>) => () => Promise<unknown>): Promise<StrictRun> {
  return observed(limit, async (url) => {
    const pool = new Pool(url, { connections: concurrency });
    const get = limited(async () => (await pool.request({ path: '/rows', method: 'GET' })).body.json());
    await Promise.all(Array.from({ length: windows * limit }, () => get()));
    await pool.close();
  });
}

/** Both in this process, in turns. */
async function costs(rounds: number): Promise<Figure[]> {
  const efforts = { limited: [] as Effort[], unlimited: [] as Effort[] };
  await observed(Infinity, async (url) => {
    const open = (rateLimit: typeof neverReached | false): Promise<Effort> => effortOf(url, rateLimit);
    await open(false);
    for (let round = 0; round < rounds; round += 1) {
      efforts.limited.push(await open(neverReached));
      efforts.unlimited.push(await open(false));
    }
  });
  const work = `${requests.toLocaleString('en')} requests below 60,000 a minute`;
  const against = 'the same without a limit';
  return [
    figureOf(
      { work, against, unit: 'x', goal: { atMost: 1.2 } },
      ratios(efforts.limited, efforts.unlimited, ({ ms }) => ms),
    ),
    figureOf(
      { work: `CPU of ${work}`, against, unit: 'x', goal: { atMost: 1.2 } },
      ratios(efforts.limited, efforts.unlimited, ({ cpu }) => cpu),
    ),
  ];
}

interface Effort {
  readonly ms: number;
  readonly cpu: number;
}

async function effortOf(url: string, rateLimit: typeof neverReached | false): Promise<Effort> {
  await using client = createClient({ apiKey: 'no-key-is-asked-for', rateLimit });
  const api: Endpoint = openApi(client, url);
  const [began, before] = [performance.now(), process.cpuUsage()];
  await requestsOf(api, requests, concurrency);
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - began, cpu: (user + system) / 1_000 };
}
