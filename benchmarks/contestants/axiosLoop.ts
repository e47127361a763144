// The usual code: a loop around axios with a keep-alive agent, and the CSV library's stream.
import { createWriteStream } from 'node:fs';
import { Agent } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import axios, { type AxiosResponse } from 'axios';
import { stringify } from 'csv-stringify';
import { addressOf, apiKey, cellsOf, columns, type HoldingsPage, type Job } from './contestant.js';

export async function exportHoldings(job: Job): Promise<number> {
  const httpAgent = new Agent({ keepAlive: true });
  let rows = 0;
  async function* records(): AsyncGenerator<string[]> {
    for (const owner of job.owners) {
      let cursor: string | null = null;
      do {
        const answer: AxiosResponse<HoldingsPage> = await axios.get(addressOf(job, owner, cursor), {
          httpAgent,
          headers: { 'X-API-Key': apiKey },
        });
        const { result, hasNextPage, cursor: next } = answer.data;
        for (const row of result) yield cellsOf(row);
        rows += result.length;
        cursor = hasNextPage ? next : null;
      } while (cursor !== null);
    }
  }
  const csv = stringify({ header: true, columns, record_delimiter: 'windows' });
  await pipeline(Readable.from(records()), csv, createWriteStream(job.path));
  httpAgent.destroy();
  return rows;
}
