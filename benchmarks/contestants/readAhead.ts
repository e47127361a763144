import { addressOf, type HoldingsPage, type Job } from './contestant.js';

/** The pages of all owners; the next one is requested as soon as its cursor is known. */
export async function* readAhead(
  job: Job,
  get: (path: string) => Promise<HoldingsPage>,
): AsyncGenerator<HoldingsPage, void, undefined> {
  const pathOf = (owner: string, cursor: string | null): string => addressOf(job, owner, cursor).slice(job.url.length);
  for (const owner of job.owners) {
    let next: Promise<HoldingsPage> | undefined = get(pathOf(owner, null));
    while (next) {
      const page: HoldingsPage = await next;
      next = page.hasNextPage ? get(pathOf(owner, page.cursor)) : undefined;
      yield page;
    }
  }
}
