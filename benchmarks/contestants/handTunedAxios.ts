// The same loop over axios with our adapter. It parses the text itself, as people do.
import axios from 'axios';
import { createAdapter } from '../../packages/core/src/http/adapter/undiciAdapter.js';
import { apiKey, type HoldingsPage, type Job } from './contestant.js';
import { readAhead } from './readAhead.js';
import { written } from './written.js';

export async function exportHoldings(job: Job): Promise<number> {
  const adapter = createAdapter({ connectTimeout: 10_000, maxBodyBytes: 32 * 1024 * 1024 });
  const api = axios.create({
    adapter: async (config) => {
      const headers = { ...config.headers.toJSON(true), 'x-api-key': apiKey };
      const { status, body } = await adapter.send({ url: config.url ?? '', method: 'GET', headers });
      return { status, statusText: '', headers: {}, data: body.text, config };
    },
  });
  const rows = await written(
    job,
    readAhead(job, async (path) => (await api.get<HoldingsPage>(job.url + path)).data),
  );
  await adapter.close();
  return rows;
}
