import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import type { ForwardEffort } from '../forwards/child.js';
import type { ForwardWork } from '../forwards/rows.js';
import type { Work } from './work.js';

const pathOf = (name: string): string => fileURLToPath(new URL(`../forwards/${name}.ts`, import.meta.url));
const loop = 'a loop of undici and p-limit that signs';

interface Measured extends ForwardEffort {
  readonly maxOpen: number;
}

interface Contest extends Omit<ForwardWork, 'url'> {
  /** Ms that the receiver takes for a request. */
  readonly latency: number;
  readonly rounds: number;
  /** MiB. Default: Node's own limit. */
  readonly heap?: number;
}

/** Forwards in processes of their own, taking turns with a loop: batches at a latency, single records without one. */
export const forwards: Work = async ({ rounds }) => {
  const batches = await contest({ records: 40_000, deliveries: 8, batch: 100, latency: 50, rounds });
  const singles = await contest({ records: 20_000, deliveries: 8, batch: 1, latency: 0, rounds });
  const wide = await contest({ records: 40_000, deliveries: 32, batch: 100, latency: 50, rounds: 1 });
  const [short, long] = await Promise.all(
    [20_000, 200_000].map((records) =>
      contest({ records, deliveries: 8, batch: 100, latency: 5, rounds: 1, heap: 64 }),
    ),
  );
  return [
    speed('records/s of a forward, 100 a request, 50 ms', batches, 0.9),
    speed('records/s of a forward, one a request', singles, 0.6),
    figureOf(
      { work: 'CPU of a forward, one a request', against: loop, unit: 'x', goal: { atMost: 1.8 } },
      ratios(singles.sluice, singles.loop, ({ cpu }) => cpu),
    ),
    figureOf(
      { work: 'requests open at once, 100 a request', against: '32 deliveries', unit: '', goal: { atLeast: 32 } },
      wide.sluice.map(({ maxOpen }) => maxOpen),
    ),
    figureOf(
      {
        work: 'peak RSS of a forward of 200,000 records',
        against: 'one of 20,000, a heap of 64 MiB',
        unit: 'x',
        goal: { atMost: 1.2 },
      },
      ratios(long?.sluice ?? [], short?.sluice ?? [], ({ rss }) => rss),
    ),
  ];
};

function speed(work: string, { sluice, loop: others }: Record<'sluice' | 'loop', Measured[]>, atLeast: number): Figure {
  return figureOf(
    { work, against: loop, unit: 'x', goal: { atLeast } },
    ratios(others, sluice, ({ took }) => took),
  );
}

async function contest({ latency, rounds, heap, ...work }: Contest): Promise<Record<'sluice' | 'loop', Measured[]>> {
  const receiver = fork(pathOf('receiver'), [String(latency)]);
  const measured: Record<'sluice' | 'loop', Measured[]> = { sluice: [], loop: [] };
  try {
    const [{ url }] = await once(receiver, 'message');
    for (let round = 0; round < rounds; round += 1)
      for (const name of ['sluice', 'loop'] as const) {
        const effort = await inChild(name, { ...work, url }, heap);
        receiver.send('maxOpen');
        const [{ maxOpen }] = await once(receiver, 'message');
        measured[name].push({ ...effort, maxOpen });
      }
    return measured;
  } finally {
    receiver.disconnect();
  }
}

async function inChild(name: string, work: ForwardWork, heap?: number): Promise<ForwardEffort> {
  const execArgv = [...process.execArgv, ...(heap === undefined ? [] : [`--max-old-space-size=${heap}`])];
  const child = fork(pathOf('child'), [name, JSON.stringify(work)], { execArgv });
  const messages: ForwardEffort[] = [];
  child.on('message', (effort) => messages.push(effort as ForwardEffort));
  const [code] = await once(child, 'exit');
  const [effort] = messages;
  if (!effort) throw new Error(`A forward (${name}) ended with ${String(code)}.`);
  return effort;
}
