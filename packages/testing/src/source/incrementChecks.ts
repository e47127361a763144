import { SluiceError, type Page } from '@sluice/core';
import type { Increment, Since } from '@sluice/core/kit';
import { catchFailure, check, checkRows, checkSame, show } from '../check.js';
import { canonicalJson } from '../plainJson.js';
import { Skipped, type Checks } from '../suite.js';
import { listRows, type WalkedSource } from './walkedSource.js';

/** How a source finds what is new since an earlier walk. */
export const incrementChecks: Checks<WalkedSource> = {
  'begins an increment at the mark of the walk before, and emits all rows from there on': async (walked) => {
    const { increment, pages, mark } = await walkToMark(walked);
    const from = (start: string, at: string | undefined): boolean => increment.compare(at ?? '', start) >= 0;
    const again = await walked.pages({ since: { from: mark } });
    const rows = listRows(pages).filter((_, nth) => from(mark, listValues(pages)[nth]));
    const checkFromMark = (inOrder: (of: readonly unknown[]) => readonly unknown[]): void =>
      checkRows(inOrder(listRows(again)), inOrder(rows), `From the mark ${mark} on, where nothing has changed`);
    if (!walked.discovers) {
      checkFromMark((of) => of);
      return;
    }
    // Each parent has a mark of its own.
    const partitions = groupByPartition(pages);
    const parents = new Map<string, number>();
    const windows = new Set<unknown>();
    const since: Since = {
      ofParent: (parent, partition, window) => {
        if (window) windows.add(window);
        parents.set(JSON.stringify(parent), partition);
        const own = partitions.get(partition);
        return own && hasRows(own) ? { from: computeMark(own, increment) } : {};
      },
    };
    const ofEach = await walked.pages({ since });
    // Windows that begin at the mark end elsewhere, and each may have its newest rows first.
    checkFromMark((of) =>
      windows.size > 0 ? of.toSorted((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1)) : of,
    );
    // Those of a parent share a mark, and begin where the increment says.
    if (windows.size > 0) return;
    checkSame(parents.size, partitions.size, 'The number of parents whose mark an increment looked up');
    const rowsOfEach = [...partitions.values()].flatMap((own) =>
      listRows(own).filter((_, nth) => !hasRows(own) || from(computeMark(own, increment), listValues(own)[nth])),
    );
    checkRows(listRows(ofEach), rowsOfEach, 'From the mark of each parent on, where nothing has changed');
  },

  'sends the mark of an increment': async (walked) => {
    if (walked.source.info.increment?.isSent === false) throw new Skipped('a source that sends its mark');
    const { mark } = await walkToMark(walked);
    const complete = await walked.sentOn(() => walked.pages());
    const increment = await walked.sentOn(() => walked.pages({ since: { from: mark } }));
    // Parents are requested before the first row.
    const [first, all] = walked.discovers ? [increment, complete] : [increment.slice(0, 1), complete.slice(0, 1)];
    check(
      canonicalJson(first) !== canonicalJson(all),
      `The first request of an increment from ${mark} is that of a complete walk, ${complete[0]?.method} ${complete[0]?.url}: the mark was not sent.`,
    );
  },

  'emits no row of an increment that is known from the walk before': async (walked) => {
    const { pages, mark } = await walkToMark(walked);
    const known = new Set(pages.flatMap(({ increment }) => increment?.rows.map(([row]) => row) ?? []));
    const again = await walked.pages({ since: { from: mark, isKnown: (row) => known.has(row) } });
    checkRows(listRows(again), [], 'From the mark on, where all rows are known');
  },

  'ends an increment before a value, and emits all rows that are before it': async (walked) => {
    const { increment, pages } = await walkToMark(walked);
    if (increment.canEnd !== true) throw new Skipped('a source whose increments can end at a value (canEnd)');
    const values = listValues(pages);
    const before = values.toSorted((a, b) => increment.compare(a, b))[Math.floor(values.length / 2)] ?? '';
    const rows = listRows(pages).filter((_, nth) => increment.compare(values[nth] ?? '', before) < 0);
    const inOrder = (of: readonly unknown[]): readonly unknown[] =>
      of.toSorted((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
    checkRows(inOrder(listRows(await walked.pages({ since: { before } }))), inOrder(rows), `Before ${before}`);
  },

  'leaves out rows from before the mark where its API does not filter by it': async (walked) => {
    const { increment, mark } = await walkToMark(walked);
    await walked.firstPage(walked.recorded({ prefetch: 0 }));
    // Its first page has the earliest rows.
    walked.answer('same-page');
    const failure = await catchFailure(async () => {
      for await (const page of walked.source.pages({ since: { from: mark }, prefetch: 0 }))
        for (const value of listValues([page]))
          check(
            increment.compare(value, mark) >= 0,
            `If the API ignores the mark ${mark} that it is sent, a row of ${value} is emitted again: an increment must leave out what is from before it.`,
          );
    });
    walked.answer('well');
    if (failure && !SluiceError.is(failure.error)) throw failure.error;
  },
};

/** A complete walk, and the mark from which the next one starts. */
async function walkToMark(walked: WalkedSource): Promise<{
  readonly increment: Increment;
  readonly pages: readonly Page<unknown>[];
  readonly mark: string;
}> {
  walked.mustEnd();
  const { increment } = walked.source.info;
  if (!increment) throw new Skipped('a source with increments');
  const pages = await walked.manyPages();
  for (const { items, index, increment: said } of pages)
    check(
      said?.rows.length === items.length,
      `Page ${index} has ${items.length} rows, but tells the values of ${said?.rows.length ?? 'none'} (increment).`,
    );
  // One mark for all parents is that of the parent whose rows end first.
  const marks = [...(walked.discovers ? groupByPartition(pages).values() : [pages])]
    .filter(hasRows)
    .map((own) => computeMark(own, increment));
  const [mark = ''] = marks.toSorted((a, b) => increment.compare(a, b));
  return { increment, pages, mark };
}

function groupByPartition(pages: readonly Page<unknown>[]): ReadonlyMap<number, Page<unknown>[]> {
  const partitions = new Map<number, Page<unknown>[]>();
  for (const page of pages) partitions.set(page.partition, [...(partitions.get(page.partition) ?? []), page]);
  return partitions;
}

const hasRows = (pages: readonly Page<unknown>[]): boolean => pages.some(({ items }) => items.length > 0);

/** The mark that a walk leaves, by the rules of its source. */
function computeMark(pages: readonly Page<unknown>[], increment: Increment): string {
  const began = Math.min(...pages.flatMap(({ increment: said }) => said?.at ?? []));
  const [latest = ''] = listValues(pages).toSorted((a, b) => increment.compare(b, a));
  const mark = increment.mark(latest, began);
  check(
    increment.read(mark) !== undefined && increment.compare(mark, latest) <= 0,
    `The mark must be ${increment.wanted}, and not after the latest value, ${latest}: it is ${show(mark)}.`,
  );
  return mark;
}

/** One for each row. */
function listValues(pages: readonly Page<unknown>[]): string[] {
  return pages.flatMap(({ increment }) => increment?.rows.map(([, value]) => value) ?? []);
}
