import { check, checkRows, checkSame } from '../check.js';
import { calm } from '../calm.js';
import type { Checks } from '../suite.js';
import { pull, listRows, type WalkedSource } from './walkedSource.js';

type Demand = Readonly<{ concurrency: number; prefetch?: number }>;

/** Which requests a source makes, and when. */
export const demandChecks: Checks<WalkedSource> = {
  'requests nothing before somebody pulls or subscribes': async (walked) => {
    const { made } = walked.requests;
    walked.another().pages();
    walked.source.pages({ prefetch: 5 });
    await calm();
    checkSame(walked.requests.made - made, 0, 'The number of requests before the first subscription or pull');
  },

  'makes separate requests for each subscriber': async (walked) => {
    walked.mustEnd();
    await walked.pushedRows();
    const first = walked.requests.made;
    check(first > 0, 'A subscriber got all rows without a request: `requests` of the fixture counts none.');
    await walked.pushedRows();
    checkSame(walked.requests.made - first, first, 'The number of requests for a second subscriber');
  },

  'buffers at most one page per walked partition, plus those it may prefetch': async (first) => {
    first.mustEnd();
    const { partitions } = first.source.info;
    const demands = (partitions > 1 ? [1, 2] : [1]).flatMap((concurrency): Demand[] => [
      { concurrency },
      ...[0, 1, 2].map((prefetch) => ({ concurrency, prefetch })),
    ]);
    for (const demand of demands) {
      const { concurrency, prefetch = concurrency } = demand;
      const walked = await first.fresh();
      const { made } = walked.requests;
      const walk = pull(walked.source.pages(demand));
      for (const count of [1, 2]) {
        await walked.next(walk);
        await calm();
        const pages = count - 1 + concurrency + prefetch;
        // Each may be of a partition that had to be discovered.
        const max = walked.levels * pages;
        const seen = walked.requests.made - made;
        check(
          seen <= max,
          `While a consumer processes page ${count - 1}, ${seen} pages were requested; with a concurrency of ${concurrency} and ${prefetch} fetched ahead there may be ${max}.`,
        );
      }
      await walk.return?.();
    }
  },

  'requests nothing more after its subscriber has unsubscribed': async (walked) => {
    const { max, made } = await minRequests(walked);
    let leave: () => void = () => undefined;
    const gotRow = new Promise<void>((resolve, reject) => {
      const row = (): void => {
        leave();
        resolve();
      };
      const subscription = walked.source.subscribe({ next: row, error: reject, complete: resolve });
      leave = () => subscription.unsubscribe();
    });
    await walked.trial.inTime(gotRow, 'A subscriber got no row');
    // The first row may come before there is a subscription to cancel.
    leave();
    await checkSilence(walked, { made, max }, 'a subscriber that unsubscribed at its first row');
  },

  'requests nothing more after its iterator has returned': async (walked) => {
    const { max, made } = await minRequests(walked);
    for await (const page of walked.source.pages({ prefetch: 0 })) if (page.items.length > 0) break;
    await checkSilence(walked, { made, max }, 'an iterator that returned at its first page');
    const before = walked.requests.made;
    const rows = pull(walked.source);
    await walked.next(rows);
    await rows.return?.();
    // The request for the next page may have been made and cancelled.
    await checkSilence(walked, { made: before, max: max + 1 }, 'an iterator that returned at its first row');
  },

  'cancels the open request at once when its subscriber unsubscribes': async (walked) => {
    let late = 0;
    let isStopped = false;
    const count = (): void => {
      late += isStopped ? 1 : 0;
    };
    walked.answer('well');
    let onRow = (): void => undefined;
    const firstRow = new Promise<void>((resolve) => (onRow = resolve));
    const subscription = walked.source.subscribe({
      next: () => {
        walked.answer('never');
        onRow();
        count();
      },
      error: count,
      complete: count,
    });
    // The request before it ends by itself.
    await walked.trial.inTime(firstRow, 'The first row did not arrive');
    await walked.untilOpen();
    const { made } = walked.requests;
    isStopped = true;
    subscription.unsubscribe();
    await walked.untilNoneOpen();
    await calm();
    checkSame(walked.requests.made, made, 'The number of requests after the subscriber had unsubscribed');
    checkSame(late, 0, 'The number of notifications that a subscriber received after it had unsubscribed');
  },

  'ends at once when its iterator returns, and cancels the open request': async (walked) => {
    for (const walk of [pull<unknown>(walked.source.pages({ prefetch: 0 })), pull<unknown>(walked.source)]) {
      walked.answer('well');
      await walked.next(walk);
      walked.answer('never');
      // Pulls the buffered rows, until a pull waits for the API.
      let pending = walk.next();
      const pullOn = (next: IteratorResult<unknown, unknown>): void => {
        if (next.done) return;
        pending = walk.next();
        pending.then(pullOn, () => undefined);
      };
      pending.then(pullOn, () => undefined);
      await walked.untilOpen();
      await calm();
      const { made } = walked.requests;
      const last = pending;
      await walked.trial.inTime(
        (async () => walk.return?.())(),
        'return() waits for the open request: it did not settle',
      );
      const end = await walked.trial.inTime(last, 'The pending next() did not settle');
      check(end.done === true, 'The pending next() returned a value, although its iterator had returned.');
      await walked.untilNoneOpen();
      await calm();
      checkSame(walked.requests.made, made, 'The number of requests after the iterator had returned');
    }
  },

  'waits while its API says that nothing is left of a quota, and then continues': async (walked) => {
    const seconds = 1;
    const rows = listRows(await walked.manyPages());
    const { made } = walked.requests;
    const began = performance.now();
    walked.useUpQuota(seconds);
    const walk = walked.pages({ prefetch: 0 });
    // A refused walk has made another request, which is looked at first.
    walk.catch(() => undefined);
    await walked.untilMade(made + 2);
    const after = Math.round(performance.now() - began);
    // Timers may be early by a ms.
    check(
      after >= 1_000 * seconds - 1,
      `The API said that nothing is left for ${seconds} s, but the next request was made after ${after} ms.`,
    );
    checkRows(listRows(await walk), rows, 'Walked while nothing was left of the quota for a while');
  },
};

/** The requests that the first row takes, and those that were made already. */
async function minRequests(walked: WalkedSource): Promise<{ readonly max: number; readonly made: number }> {
  // The number of requests of a poll is unknown.
  const pages = walked.source.info.isEndless ? [] : await walked.manyPages();
  const first = pages.findIndex(({ items }) => items.length > 0);
  const max = first === -1 ? Infinity : first + 1;
  return { max: walked.levels * max, made: walked.requests.made };
}

/** Checks that no more than `max` requests were made, and that no more follow. */
async function checkSilence(
  walked: WalkedSource,
  { made, max }: { readonly made: number; readonly max: number },
  whom: string,
): Promise<void> {
  await walked.untilNoneOpen(`The open request of ${whom}`);
  const count = walked.requests.made - made;
  check(count <= max, `${count} requests were made for ${whom}, but ${max} are enough.`);
  await calm();
  await calm();
  const later = walked.requests.made - made;
  // A request that was cancelled may arrive late, when none is open; it is one of those that are enough.
  if (later > max || max === Infinity) checkSame(later, count, `The number of requests for ${whom}, a while later`);
}
