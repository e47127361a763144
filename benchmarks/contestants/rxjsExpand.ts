// A plain pipeline: `expand` over axios, and papaparse page by page.
import { open } from 'node:fs/promises';
import { Agent } from 'node:http';
import axios from 'axios';
import papaparse from 'papaparse';
import { concatMap, EMPTY, expand, from, lastValueFrom, map, type Observable } from 'rxjs';
import { addressOf, apiKey, cellsOf, columns, type HoldingsPage, type Job } from './contestant.js';

export async function exportHoldings(job: Job): Promise<number> {
  const httpAgent = new Agent({ keepAlive: true });
  const file = await open(job.path, 'w');
  let rows = 0;
  const pageAt = (owner: string, cursor: string | null): Observable<HoldingsPage> =>
    from(axios.get<HoldingsPage>(addressOf(job, owner, cursor), { httpAgent, headers: { 'X-API-Key': apiKey } })).pipe(
      map(({ data }) => data),
    );
  await file.write(`${columns.join(',')}\r\n`);
  await lastValueFrom(
    from(job.owners).pipe(
      concatMap((owner) =>
        pageAt(owner, null).pipe(expand((page) => (page.hasNextPage ? pageAt(owner, page.cursor) : EMPTY))),
      ),
      concatMap(async ({ result }) => {
        rows += result.length;
        await file.write(`${papaparse.unparse(result.map(cellsOf))}\r\n`);
      }),
    ),
  );
  await file.close();
  httpAgent.destroy();
  return rows;
}
