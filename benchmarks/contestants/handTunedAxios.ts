// The same loop over axios with our adapter. It parses the text itself, as people do.
import { type HoldingsPage, type Job } from './contestant.js';
import { readAhead } from './readAhead.js';
import { adapterAxios } from './adapterAxios.js';
import { written } from './written.js';

export async function exportHoldings(job: Job): Promise<number> {
  const { api, close } = adapterAxios();
  const rows = await written(
    job,
    readAhead(job, async (path) => (await api.get<HoldingsPage>(job.url + path)).data),
  );
  await close();
  return rows;
}
