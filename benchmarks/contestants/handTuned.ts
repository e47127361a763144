// The fastest loop that we can write: undici, one page read ahead, papaparse per page, written while the next one
// arrives. It checks nothing.
import { Pool } from 'undici';
import { apiKey, type HoldingsPage, type Job } from './contestant.js';
import { readAhead } from './readAhead.js';
import { written } from './written.js';

const headers = { 'X-API-Key': apiKey };

export async function exportHoldings(job: Job): Promise<number> {
  const pool = new Pool(job.url);
  const rows = await written(
    job,
    readAhead(
      job,
      async (path) => (await (await pool.request({ path, method: 'GET', headers })).body.json()) as HoldingsPage,
    ),
  );
  await pool.close();
  return rows;
}
