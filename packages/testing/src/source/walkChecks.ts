import { poll } from '@sluice/core';
import { check, checkPlainJson, checkRows, checkSame, show } from '../check.js';
import { canonicalJson } from '../plainJson.js';
import { Skipped, type Checks } from '../suite.js';
import { pull, reload, listRows, type WalkedSource } from './walkedSource.js';

/** What a source emits without failures. */
export const walkChecks: Checks<WalkedSource> = {
  'emits the same rows by page, by row and pushed, on every walk': async (walked) => {
    const rows = listRows(await walked.manyPages());
    const pulledRows = [];
    for await (const row of walked.source) pulledRows.push(row);
    checkRows(pulledRows, rows, 'Pulled row by row');
    checkRows(await walked.pushedRows(), rows, 'Pushed');
    checkRows(await walked.pushedRows(), rows, 'Pushed a second time');
    checkRows(listRows(await walked.pages()), rows, 'Walked a second time');
    checkRows(listRows(await walked.pages({ prefetch: 3 })), rows, 'Walked with pages fetched ahead');
  },

  'emits the same rows on every poll, also where its API says that pages have not changed': async (walked) => {
    const rows = listRows(await walked.manyPages());
    for (const conditional of [true, false]) {
      const polls = pull(poll(walked.source, { every: 1, conditional }));
      for (const nth of [1, 2, 3]) {
        const next = await walked.next(polls);
        check(next.done !== true, 'A poll ended by itself.');
        checkRows(next.value.rows, rows, `Poll ${nth}, ${conditional ? 'with' : 'without'} stored pages`);
      }
      await polls.return?.();
    }
  },

  'serves two walks at the same time': async (walked) => {
    const rows = listRows(await walked.manyPages());
    const walks = [0, 1].map(() => {
      const found: unknown[] = [];
      return { walk: pull(walked.source.pages({ prefetch: 0 })), found };
    });
    // The first walk is a page ahead.
    for (let open = walks.slice(0, 1), round = 0; open.length > 0; round += 1) {
      if (round === 1) open = walks;
      for (const each of open) {
        const next = await walked.next(each.walk);
        if (next.done) open = open.filter((other) => other !== each);
        else each.found.push(...next.value.items);
      }
    }
    for (const each of walks) checkRows(each.found, rows, 'Walked at the same time as another walk');
  },

  'gives each page its index, and marks where its partition ends': async (walked) => {
    const { partitions } = walked.source.info;
    const pages = await walked.manyPages();
    const ended = new Set<number>();
    for (const [at, { items, index, partition, endsPartition, total }] of pages.entries()) {
      checkSame(index, at, 'The index of a page');
      check(Array.isArray(items), `A page's items must be an array, not ${show(items)}.`);
      check(
        Number.isInteger(partition) && partition >= 0 && partition < partitions,
        `Page ${at} is of partition ${partition}, but the partitions go from 0 to ${partitions - 1}.`,
      );
      check(!ended.has(partition), `Page ${at} is of partition ${partition}, which has ended before.`);
      check(
        total === undefined || (Number.isSafeInteger(total) && total >= 0),
        `The total of page ${at} must be a number of rows, not ${show(total)}.`,
      );
      if (endsPartition) ended.add(partition);
    }
    // `maxRows` may end the walk inside a partition.
    const isBounded = walked.source.info.maxRows !== undefined;
    const all = walked.discovers ? new Set(pages.map(({ partition }) => partition)).size : partitions;
    check(isBounded || ended.size === all, `${ended.size} of ${all} partitions end (endsPartition).`);
  },

  'gives each page a position that never changes': async (walked) => {
    walked.mustEnd();
    const atOnce: string[] = [];
    const pages = [];
    const walk = pull(walked.source.pages());
    for (let next = await walked.next(walk); !next.done; next = await walked.next(walk)) {
      checkPlainJson(next.value.position, `The position of page ${pages.length}`);
      atOnce.push(canonicalJson(next.value.position));
      pages.push(next.value);
    }
    for (const [at, page] of pages.entries())
      check(canonicalJson(page.position) === atOnce[at], `The position of page ${at} changed when the walk continued.`);
    // An export may read a position after the walk went on: it must be the same.
    const late = await walked.pages();
    for (const [at, page] of late.entries())
      check(
        canonicalJson(page.position) === atOnce[at],
        `The position of page ${at} is different when it is read later.`,
      );
  },

  'resumes after any page with exactly the remaining rows': async (walked) => {
    const pages = await walked.manyPages();
    const rows = listRows(pages);
    let before = 0;
    for (const [at, { items, position }] of pages.entries()) {
      before += items.length;
      checkRows(await walked.rowsBehind(position), rows.slice(before), `Resumed after page ${at}`);
    }
  },

  'can be walked one page at a time, each from the position before': async (walked) => {
    walked.mustResume();
    const pages = await walked.manyPages();
    const found: unknown[] = [];
    let startAt = pages[0]?.position;
    for (let count = 1; startAt && count < pages.length; count += 1) {
      const page = await walked.firstPage(walked.recorded({ startAt: reload(startAt), prefetch: 0 }));
      check(
        page !== undefined,
        `The position of page ${count - 1} leads to no further page, but the source has ${pages.length}.`,
      );
      found.push(...page.items);
      startAt = page.position;
    }
    checkRows(found, listRows(pages.slice(1)), 'Walked one page at a time');
  },

  'emits the same rows with a concurrency above 1, and resumes after any page': async (walked) => {
    walked.mustEnd();
    if (walked.source.info.partitions < 2) throw new Skipped('a source of several partitions');
    if (walked.source.info.maxRows !== undefined) throw new Skipped('a source without maxRows');
    const inOrder = await walked.manyPages();
    const pages = await walked.pages({ concurrency: 2 });
    for (const partition of new Set([...inOrder, ...pages].map((page) => page.partition))) {
      const [one, other] = [inOrder, pages].map((all) => listRows(all.filter((page) => page.partition === partition)));
      checkRows(other ?? [], one ?? [], `Partition ${partition}, walked with a concurrency of 2`);
    }
    for (const [at, { position }] of pages.entries()) {
      const rest = await walked.rowsBehind(position, { concurrency: 2 });
      const all = [...listRows(pages.slice(0, at + 1)), ...rest];
      checkRows(
        sortRows(all),
        sortRows(listRows(inOrder)),
        `Up to page ${at} of a walk with a concurrency of 2, and resumed there (rows in another order)`,
      );
    }
  },

  'walks one partition by itself': async (walked) => {
    const { partitions, maxRows } = walked.source.info;
    if (walked.discovers) throw new Skipped('partitions that are known before a walk');
    if (maxRows !== undefined && partitions > 1) throw new Skipped('a source without maxRows');
    const whole = await walked.manyPages();
    for (let partition = 0; partition < partitions; partition += 1) {
      const rows = listRows(whole.filter((page) => page.partition === partition));
      const made = walked.countsRequests ? walked.requests.made : 0;
      const pages = await walked.pages({ partition, concurrency: maxRows === undefined ? 2 : 1 });
      if (walked.countsRequests)
        checkSame(walked.requests.made - made, pages.length, `The requests of a walk of partition ${partition} alone`);
      for (const page of pages) checkSame(page.partition, partition, 'The partition of a page of a walk of one');
      checkRows(listRows(pages), rows, `Partition ${partition}, walked by itself`);
      if (walked.source.info.isRepeatable === false) continue;
      for (const [at, { position }] of pages.entries()) {
        const rest = await walked.pages({ partition, startAt: reload(position) });
        const where = `Partition ${partition}, walked by itself and resumed after its page ${at}`;
        checkRows([...listRows(pages.slice(0, at + 1)), ...listRows(rest)], rows, where);
      }
    }
  },

  'identifies its rows by their keys': async (walked) => {
    const { schema } = walked.source.info;
    if (!schema?.key) throw new Skipped('a `key` in the schema');
    const known = new Map<string, unknown>();
    for (const row of listRows(await walked.manyPages())) {
      const key = schema.key(row);
      check(
        typeof key === 'string' || Number.isSafeInteger(key),
        `The key of ${show(row)} must be a string or a whole number, not ${show(key)}.`,
      );
      check(schema.key(row) === key, `The key of ${show(row)} is different each time.`);
      check(
        !known.has(String(key)),
        `Two rows have the key ${show(key)}: ${show(known.get(String(key)))} and ${show(row)}. Either a row came twice, or the key does not identify rows.`,
      );
      known.set(String(key), row);
    }
  },
};

function sortRows(rows: readonly unknown[]): unknown[] {
  return rows.map(canonicalJson).sort();
}
