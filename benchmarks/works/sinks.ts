import { postgresPrograms, startPostgres } from '../../test/kit/postgresServer.js';
import { compete } from '../arena.js';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import { took } from './exports.js';
import { nights } from './nights.js';
import type { Work } from './work.js';

/** Formats other than CSV, each compared with the hand-tuned loop of that format. */
export const formats: Work = async ({ rounds, pages, folder }) => {
  const figures: Figure[] = [];
  for (const format of ['jsonl', 'csv.gz'] as const) {
    const { sluice, tuned } = await compete(
      { sluice: { file: 'sluice', format }, tuned: { file: 'handTunedAxios', format } },
      { pages, parts: 1, latency: 0 },
      { rounds, folder },
    );
    figures.push(
      figureOf(
        {
          work: `rows/s of an export as ${format}`,
          against: 'the hand-tuned loop over axios with our adapter',
          unit: 'x',
          goal: { atLeast: 0.9 },
        },
        ratios(tuned, sluice, took),
      ),
    );
  }
  return figures;
};

const names = { sqlite: 'SQLite', parquet: 'Parquet', postgres: 'PostgreSQL' };

/** Tables, each compared with a bare loop over the same driver or library. */
const tables: Work = async ({ rounds, pages, folder }) => {
  const server = postgresPrograms === undefined ? undefined : await startPostgres();
  try {
    const figures: Figure[] = [];
    for (const format of ['sqlite', 'parquet', ...(server ? (['postgres'] as const) : [])] as const) {
      const entrant = { format, ...(server && { database: server.url }) };
      const { sluice, bare } = await compete(
        { sluice: { file: 'sluice', ...entrant }, bare: { file: 'tableLoop', ...entrant } },
        { pages, parts: 1, latency: 0 },
        { rounds, folder },
      );
      const against = 'a bare loop over the same driver, with commits and no checkpoints';
      const work = `an export into ${names[format]}`;
      figures.push(
        figureOf({ work: `rows/s of ${work}`, against, unit: 'x', goal: { atLeast: 0.7 } }, ratios(bare, sluice, took)),
        // On a busy machine it says more than the time.
        figureOf(
          { work: `CPU of ${work}`, against, unit: 'x', goal: { atMost: 1.4 } },
          ratios(sluice, bare, ({ cpu }) => cpu),
        ),
      );
    }
    return figures;
  } finally {
    await server?.close();
  }
};

/** Everything that rows are written into but CSV. */
export const sinks: Work = async (extent) => [
  ...(await formats(extent)),
  ...(await tables(extent)),
  ...(await nights(extent)),
];
