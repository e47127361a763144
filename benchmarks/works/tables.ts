import { postgresPrograms, startPostgres } from '../../test/kit/postgresServer.js';
import { compete } from '../arena.js';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import { took } from './exports.js';
import type { Work } from './work.js';

const names = { sqlite: 'SQLite', parquet: 'Parquet', postgres: 'PostgreSQL' };

/** Tables, each compared with a bare loop over the same driver or library. */
export const tables: Work = async ({ rounds, pages, folder }) => {
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
      figures.push(
        figureOf(
          {
            work: `rows/s of an export into ${names[format]}`,
            against: 'a bare loop over the same driver, with commits and no checkpoints',
            unit: 'x',
            goal: { atLeast: 0.7 },
          },
          ratios(bare, sluice, took),
        ),
      );
    }
    return figures;
  } finally {
    await server?.close();
  }
};
