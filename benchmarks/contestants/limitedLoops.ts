// As people do several chains at once: a loop over axios for each wallet, and p-limit around them.
import { Agent } from 'node:http';
import axios, { type AxiosResponse } from 'axios';
import pLimit from 'p-limit';
import { addressOf, apiKey, type HoldingsPage, type Job } from './contestant.js';
import { written } from './written.js';

export async function exportHoldings(job: Job): Promise<number> {
  const httpAgent = new Agent({ keepAlive: true });
  const limit = pLimit(job.concurrency);
  const fetchAll = async (owner: string): Promise<readonly HoldingsPage[]> => {
    const pages: HoldingsPage[] = [];
    let cursor: string | null = null;
    do {
      const { data }: AxiosResponse<HoldingsPage> = await axios.get(addressOf(job, owner, cursor), {
        httpAgent,
        headers: { 'X-API-Key': apiKey },
      });
      pages.push(data);
      cursor = data.hasNextPage ? data.cursor : null;
    } while (cursor !== null);
    return pages;
  };
  const wallets = job.owners.map((owner) => limit(() => fetchAll(owner)));
  async function* pages(): AsyncGenerator<HoldingsPage> {
    for (const wallet of wallets) yield* await wallet;
  }
  const rows = await written(job, pages());
  httpAgent.destroy();
  return rows;
}
