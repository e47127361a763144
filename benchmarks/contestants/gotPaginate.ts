// got's own pagination, and the CSV library's stream.
import { createWriteStream } from 'node:fs';
import { Agent } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import got from 'got';
import { addressOf, apiKey, cellsOf, columns, type HoldingsPage, type Job } from './contestant.js';

export async function exportHoldings(job: Job): Promise<number> {
  const http = new Agent({ keepAlive: true });
  let rows = 0;
  async function* records(): AsyncGenerator<string[]> {
    for (const owner of job.owners) {
      const pages = got.paginate<Record<string, unknown>, HoldingsPage>(addressOf(job, owner, null), {
        responseType: 'json',
        agent: { http },
        headers: { 'X-API-Key': apiKey },
        pagination: {
          transform: ({ body }) => [...body.result],
          paginate: ({ response: { body } }) =>
            body.hasNextPage ? { url: new URL(addressOf(job, owner, body.cursor)) } : false,
        },
      });
      for await (const row of pages) {
        rows += 1;
        yield cellsOf(row);
      }
    }
  }
  const csv = stringify({ header: true, columns, record_delimiter: 'windows' });
  await pipeline(Readable.from(records()), csv, createWriteStream(job.path));
  http.destroy();
  return rows;
}
