import { SluiceError, type Page } from '@sluice/core';
import { check, show } from '../check.js';
import { canonicalJson } from '../plainJson.js';
import { Skipped, type Checks } from '../suite.js';
import type { Answering } from './sourceFixture.js';
import { listRows, maxPages, pull, type WalkedSource } from './walkedSource.js';

/** What a definition makes of an API that is not as its author thinks: an error is right, and rows that are missed are not. */
export const definitionChecks: Checks<WalkedSource> = {
  'walks all rows where its API allows fewer rows a page than it requests': async (walked) => {
    const whole = await walked.manyPages();
    const { pages, error } = await walkChanged(walked, ['small-pages', 0, 'small-pages']);
    if (error !== undefined) return;
    const [rows, all] = [listRows(pages).length, listRows(whole).length];
    const areSmall = (walk: readonly Page<unknown>[]): boolean => walk.every(({ items }) => items.length <= 10);
    if (areSmall(whole) || !areSmall(pages))
      throw new Skipped('`small-pages` of the fixture, and pages of more than 10 rows');
    check(
      rows >= all,
      `Of an API that allows 10 rows a page, the walk ended after ${rows} of ${all} rows, without an error: \`until\` or \`paging\` takes each page with fewer rows than requested for the last one. Use until: 'short-page', or the total or next page that the API states.`,
    );
  },

  'fails where its API sends the first page whatever is requested': async (walked) => {
    const whole = await walked.manyPages();
    const first = whole.findIndex(({ items, endsPartition }) => items.length > 0 && !endsPartition);
    const { partition } = pageAt(whole, first);
    const own = await walkRepeated(walked, first, partition);
    const all = listRows(whole.filter((page) => page.partition === partition)).length;
    if (own.isAgain)
      throw new Error(
        `If the API ignores what a later page is requested with, rows come twice${own.howLong}: the name that \`paging\` gives its cursor, offset or page number may be wrong, and \`until\` must not tell pages apart by what changes.`,
      );
    if (own.error !== undefined) return;
    if (own.rows >= all) throw new Skipped('`same-page` of the fixture');
    throw new Error(
      `If the API ignores what a later page is requested with, the walk ends after ${own.rows} of ${all} rows, without an error: until: 'repeated-page' takes a short first page that comes again for the whole listing. Give \`pageSize\` the max that the API allows.`,
    );
  },

  'emits no row again where its API sends the last page for ever': async (walked) => {
    const whole = await walked.manyPages();
    const last = whole.findLastIndex(({ items }) => items.length > 0);
    const { partition, endsPartition } = pageAt(whole, last);
    // It knows its last page without another request.
    if (endsPartition) return;
    const own = await walkRepeated(walked, last, partition);
    check(
      !own.isAgain,
      `If the API sends its last page again for later requests, its rows come twice${own.howLong}: end the listing with until: 'repeated-page', or by the total or the number of pages that the API states.`,
    );
  },

  'misses and repeats no row while a row before it is removed or added': async (walked) => {
    if (walked.areRowsStill) throw new Skipped('an API whose rows move');
    if (walked.source.info.maxRows !== undefined) throw new Skipped('a source without maxRows');
    const whole = await walked.manyPages();
    const without = await walkChanged(walked, ['first-row-gone', 0, 'first-row-gone']);
    const moving = lackingIn(listRows(without.pages), listRows(whole));
    if (moving.length === 0) throw new Skipped('`first-row-gone` of the fixture');
    const others = lackingIn(moving, listRows(whole));
    for (let after = 1; after < whole.length; after += 1)
      for (const [what, from, to] of moves) {
        const { pages, error } = await walkChanged(walked, [from, after, to]);
        if (error !== undefined) continue;
        const rows = listRows(pages);
        const [lost] = lackingIn(rows, others);
        const [again] = lackingIn(listRows(whole), rows);
        const remedy =
          'The paging counts rows or pages. Use byOffset(), which notices this, byKeyset() or bySince(), if the API has what they need. If not, let it list new rows last, and set `areRowsStill` in the fixture';
        check(
          lost === undefined,
          `After page ${after - 1} the first row was ${what}, and ${show(lost)} was missed. ${remedy}.`,
        );
        check(
          again === undefined,
          `After page ${after - 1} the first row was ${what}, and ${show(again)} came twice. ${remedy}.`,
        );
      }
  },

  'takes no other document for a page': async (walked) => {
    const whole = await walked.manyPages();
    const { pages, error } = await walkChanged(walked, ['well', 1, 'html']);
    if (error !== undefined) return;
    const [rows, all] = [listRows(pages).length, listRows(whole).length];
    check(
      rows >= all,
      `An HTML page with status 200, as proxies send it, is taken for a page, and the walk ends after ${rows} of ${all} rows, without an error. Let \`parse\` throw unless the text is what the API sends.`,
    );
  },
};

const moves = [
  ['removed', 'well', 'first-row-gone'],
  ['added', 'first-row-gone', 'well'],
] as const;

interface ChangedWalk {
  readonly pages: readonly Page<unknown>[];
  /** With which the walk ended, if it did with one. */
  readonly error: SluiceError | undefined;
  readonly isEndless: boolean;
}

/** Walks until the end, an error, or a page at which to stop; the API responds in another way after some pages. */
async function walkChanged(
  walked: WalkedSource,
  [before, after, then]: readonly [before: Answering, after: number, then: Answering],
  isOver: (page: Page<unknown>) => boolean = () => false,
): Promise<ChangedWalk> {
  const pages: Page<unknown>[] = [];
  const walk = pull(walked.source.pages(walked.recorded({ prefetch: 0 })));
  try {
    for (;;) {
      if (pages.length === 0) walked.answer(before);
      if (pages.length === after) walked.answer(then);
      const next = await walked.next(walk);
      if (next.done || isOver(next.value)) return { pages, error: undefined, isEndless: false };
      pages.push(next.value);
      if (pages.length > maxPages) return { pages, error: undefined, isEndless: true };
    }
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    return { pages, error, isEndless: false };
  } finally {
    await walk.return?.();
    walked.answer('well');
  }
}

/** Walks one partition, of which the API sends a page again and again. */
async function walkRepeated(walked: WalkedSource, page: number, partition: number) {
  const isOther = (next: Page<unknown>): boolean => next.partition !== partition;
  let begun = false;
  const { pages, error, isEndless } = await walkChanged(walked, ['well', page + 1, 'same-page'], (next) => {
    begun ||= !isOther(next);
    return begun && isOther(next);
  });
  const own = pages.filter((each) => !isOther(each));
  const repeated = own.filter(({ index }) => index > page).flatMap(({ items }) => items);
  return {
    error,
    /** Whether rows of that page came again. */
    isAgain: lackingIn(pageAt(pages, page).items, repeated).length < repeated.length,
    howLong: isEndless ? ', without an end' : '',
    rows: listRows(own).length,
  };
}

/** @throws Skipped if there is no such page. */
function pageAt(pages: readonly Page<unknown>[], index: number): Page<unknown> {
  const page = pages[index];
  if (!page) throw new Skipped('a partition of several pages');
  return page;
}

/** The rows that are not among others, or more often than there. */
function lackingIn(others: readonly unknown[], rows: readonly unknown[]): unknown[] {
  const left = new Map<string, number>();
  for (const key of others.map(canonicalJson)) left.set(key, (left.get(key) ?? 0) + 1);
  return rows.filter((row) => {
    const key = canonicalJson(row);
    const count = left.get(key) ?? 0;
    left.set(key, count - 1);
    return count <= 0;
  });
}
