import { SluiceError, type PagesOptions } from '@sluice/core';
import { catchFailure, check, checkSluiceError, checkRows, checkSame, show } from '../check.js';
import { calm } from '../calm.js';
import type { Checks } from '../suite.js';
import { pull, listRows, type WalkedSource } from './walkedSource.js';

/** What a source does when its API fails, and which options it refuses. */
export const faultChecks: Checks<WalkedSource> = {
  'emits all earlier rows before an error, and the position to resume from': async ({ fresh }) => {
    for (const prefetch of [0, 2]) {
      for (const count of [0, 1, 2]) {
        const walked = await fresh();
        const pages = await walked.manyPages();
        // All pages may be prefetched before the failure.
        if (count + prefetch >= pages.length) continue;
        const all = listRows(pages);
        const { rows, error } = await failAfter(walked, count, { prefetch });
        const what = `An error after ${count} pages, ${prefetch} prefetched,`;
        check(SluiceError.is(error), `${what} must be a SluiceError, not ${show(error)}.`);
        const { position } = error;
        check(position !== undefined, `${what} must have the position to resume from: ${show(error)}.`);
        checkRows(rows, all.slice(0, rows.length), `${what} and the rows before it`);
        walked.answer('well');
        checkRows(await walked.rowsBehind(position), all.slice(rows.length), `${what} and resumed from its position`);
      }
    }
  },

  'notifies a subscriber of an error once, after all earlier rows': async (walked) => {
    walked.mustEnd();
    walked.answer('well');
    const pages = await walked.manyPages();
    const all = listRows(pages);
    const notifications: string[] = [];
    const rows: unknown[] = [];
    const failed = new Promise<void>((resolve) => {
      walked.source.subscribe({
        next: (row) => {
          walked.answer('fail');
          rows.push(row);
          notifications.push('row');
        },
        error: () => {
          notifications.push('error');
          resolve();
        },
        complete: () => {
          notifications.push('complete');
          resolve();
        },
      });
    });
    await walked.trial.inTime(failed, 'A subscriber was not notified of an error');
    await calm();
    const first = pages.find(({ items }) => items.length > 0)?.items.length ?? 0;
    checkRows(rows, all.slice(0, first), 'Pushed, until the request after the first rows failed');
    const ends = notifications.filter((each) => each !== 'row');
    checkSame(ends, ['error'], 'What a subscriber received besides rows');
    checkSame(notifications.at(-1), 'error', 'The last notification of a subscriber');
  },

  'requests nothing more after an error': async (walked) => {
    walked.mustEnd();
    const { walk } = await failAfter(walked, 1, { prefetch: 0 });
    const { made } = walked.requests;
    walked.answer('well');
    const next = await walked.next(walk);
    check(next.done === true, 'A failed walk continues.');
    await calm();
    checkSame(walked.requests.made, made, 'The number of requests after an error');
  },

  'refuses a position of another plan before it requests anything': async (walked) => {
    const { partitions } = walked.source.info;
    // A watch has no last page.
    const first = await walked.firstPage(walked.recorded());
    const hasPlan = first?.position.plan !== undefined;
    const made = walked.countsRequests ? walked.requests.made : 0;
    const wrong: readonly PagesOptions[] = [
      { startAt: { before: partitions + 1, begun: {}, rows: 0, pages: 0 } },
      { startAt: { before: 0, begun: {}, done: [[partitions, partitions, 0]], rows: 0, pages: 0 } },
      { startAt: { before: -1, begun: {}, rows: 0, pages: 0 } },
      ...(hasPlan ? [walked.recorded({ startAt: { before: 0, begun: {}, rows: 0, pages: 0, plan: 'another' } })] : []),
      { concurrency: 0 },
      { prefetch: -1 },
      { prefetch: 0.5 },
    ];
    for (const options of wrong) {
      const failure = await catchFailure(() => walked.firstPage(options));
      checkSluiceError(failure, `pages(${show(options)}) must be refused with a ConfigError`);
    }
    if (walked.countsRequests) checkSame(walked.requests.made, made, 'The number of requests after all refusals');
  },
};

/** Pulls `count` pages, lets later requests fail, and pulls until the walk fails. */
async function failAfter(walked: WalkedSource, count: number, options: PagesOptions) {
  const walk = pull(walked.source.pages(options));
  const rows: unknown[] = [];
  if (count === 0) walked.answer('fail');
  for (let pages = 0; ; pages += 1) {
    if (pages === count) walked.answer('fail');
    const next = await walked.next(walk).catch((error: unknown) => ({ error }));
    if ('error' in next) return { walk, rows, error: next.error };
    check(
      !next.done,
      'A walk ended without an error, although the API failed: `responses` may take its status for `end` or `skip`. If they mean that status, `fail` of the fixture needs another one.',
    );
    rows.push(...next.value.items);
  }
}
