import { compete, type Effort } from '../arena.js';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import type { Work } from './work.js';

/** How much faster an export should be than other code, and how close to the limit. */
const goals = { axiosLoop: 1.8, gotPaginate: 3, handTunedAxios: 0.95, handTuned: 0.75 };
const names: Readonly<Record<string, string>> = {
  axiosLoop: 'a loop of axios and csv-stringify',
  gotPaginate: 'got.paginate and csv-stringify',
  rxjsExpand: 'rxjs expand, axios and papaparse',
  handTuned: 'a hand-tuned loop of undici',
  handTunedAxios: 'that loop over axios with our adapter',
};

/** An export without latency: CPU work only. */
export const exports: Work = async ({ rounds, pages, folder }) => {
  const { sluice, ...peers } = await compete(
    {
      sluice: { file: 'sluice' },
      axiosLoop: { file: 'axiosLoop' },
      gotPaginate: { file: 'gotPaginate' },
      rxjsExpand: { file: 'rxjsExpand' },
      handTuned: { file: 'handTuned' },
      handTunedAxios: { file: 'handTunedAxios' },
    },
    { pages, parts: 1, latency: 0 },
    { rounds, folder },
  );
  const faster = Object.entries(peers).map(([peer, efforts]): Figure => {
    const atLeast = new Map(Object.entries(goals)).get(peer);
    const what = { work: 'rows/s of an export', against: names[peer] ?? peer, unit: 'x' as const };
    return figureOf({ ...what, ...(atLeast !== undefined && { goal: { atLeast } }) }, ratios(efforts, sluice, took));
  });
  const cpu = {
    work: 'CPU per row',
    against: names['handTunedAxios'] ?? '',
    unit: 'x' as const,
    goal: { atMost: 1.15 },
  };
  return [
    ...faster,
    figureOf(
      cpu,
      ratios(sluice, peers.handTunedAxios, ({ cpu: spent }) => spent),
    ),
  ];
};

export function took({ ms }: Effort): number {
  return ms;
}
