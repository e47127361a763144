import { exportTo, type Sink, watch } from '@sluice/core';
import {
  byCursor,
  byLink,
  byOffset,
  byPage,
  defineApi,
  listing,
  noAuth,
  type DocumentReader,
} from '@sluice/core/define';
import type { PageSource } from '@sluice/core/kit';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { sleep } from '../../packages/core/src/clock.js';
import { simulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import { mirrorSink } from '../../packages/tables/src/sql/mirror.js';
import { tableSink } from '../../packages/tables/src/sql/tableSink.js';
import { Catalog, catalogAddress, type CatalogModel, type CatalogRow, type Night, type Shelved } from './catalog.js';
import type { JobOf, RunningJob } from './job.js';
import type { Process } from './processes.js';
import { isRefusal, saidOf } from './saidOf.js';
import type { Store } from './store.js';

/** Ms between two nights, and from a run that failed to the one that follows it the same night, where there is one. */
const day = 86_400_000;
const hour = 3_600_000;

const columns = ['id', 'label', 'text'] as const;
const types = { id: 'integer' } as const;
/** No row is in the wrong place, and no request fails. */
const goodNight: Night = { changes: [], faults: [] };

function pagingOf({ paging }: CatalogModel) {
  if (paging === 'cursor') return byCursor({ param: 'cursor', at: 'next?' });
  if (paging === 'link') return byLink({ at: 'next?' });
  if (paging === 'offset') return byOffset({ param: 'offset' });
  return byPage({ param: 'page', ...(paging === 'page count' && { pages: 'pages' }) });
}

/** Exports a catalog whose pages may be wrong, once a night, as a line of cron would: some nights fail half-way. */
export function nightsJob(job: JobOf<'nights'>, now: () => number, storeOf: () => Store): RunningJob {
  const { target, nights, pageSize, concurrency, commitEvery, rerun, requireTotal, hasKey, tableKey } = job;
  const catalog = new Catalog(job, pageSize, now);
  const store = target === 'csv' || target === 'jsonl' ? undefined : storeOf();
  const api = defineApi({
    name: 'catalog',
    auth: noAuth,
    sources: {
      rows: listing<CatalogRow, object, never, { shelf: string }>({
        path: '/rows/{shelf}',
        partitions: { shelf: catalog.shelves.map((_, shelf) => String(shelf)) },
        rows: 'items',
        ...(job.counts !== 'nothing' && { total: 'total' }),
        pageSize: { param: 'n', default: pageSize, max: pageSize + 1 },
        paging: pagingOf(job),
        columns,
        types,
        ...(hasKey && { key: 'id' as const }),
        version: '1',
        decode: (row: unknown, path: string, read: DocumentReader) => {
          const { id, label, text } = read.record(row, path);
          return { id: Number(id), label: String(label), text: String(text) };
        },
      }),
    },
  });
  /** Of the others, removed rows stay for a while, or for good. */
  const isExact = target !== 'merge' && target !== 'history';
  const wrong: string[] = [];
  const say = (what: string): void => {
    // The first sentences say enough.
    if (wrong.length < 5) wrong.push(`Night ${night + 1}, ${target}: ${what}`);
  };
  let disk = simulatedDisk();
  let night = -1;
  /** When the night's run begins, and whether it is still to come. */
  let due = 0;
  let isDue = false;
  /** Whether a run has begun, and not ended by itself. */
  let isUnderWay = false;
  let name = 1;
  /** What each run since the last success would have led to: one that requests nothing says that it was complete before. */
  let attempted: string[] = [];
  let isRestarted = false;
  const path = (): string => `/data/night-${name}.${target}`;
  const live = target === 'history' ? ' WHERE _valid_to IS NULL' : '';
  const stored = (): readonly CatalogRow[] => store?.read(`SELECT ${columns.join()} FROM rows${live}`).map(rowOf) ?? [];
  let table: readonly CatalogRow[] = [];
  /** What the night before listed: a mirror may still have changes of its polls to write. */
  let presentBefore: ReadonlySet<number> | undefined;

  const begin = (): void => {
    if (target === 'mirror' && night >= 0) presentBefore = presentNow();
    night += 1;
    due = Math.ceil((now() + 1) / day) * day;
    isDue = true;
    catalog.begin(nights[night] ?? goodNight);
  };
  /** After a run that has failed: once more the same night, or not before the next one. */
  const postpone = (): void => {
    isUnderWay = false;
    isDue = rerun && due % day === 0;
    if (isDue) due = now() + hour;
  };
  const miscountsNow = (): readonly string[] => catalog.shelves.flatMap((shelf) => miscountOf(shelf, hasKey));
  const flawsNow = (): readonly string[] => [...miscountsNow(), ...(hasKey ? catalog.shelves.flatMap(repeatsOf) : [])];
  const listedNow = (): readonly CatalogRow[] => {
    const rows = catalog.shelves.flatMap(({ listed }) => listed);
    if (hasKey || tableKey === undefined) return rows;
    // Only the table has a key: the last one of each stays.
    return [...new Map(rows.map((row) => [row[tableKey], row])).values()];
  };
  /**
   * Rows that the API lists throughout this night; also those that it has, where its pages show that some are missing. Rows that
   * come again show that only without totals: one that falls to what is listed hides it. A mirror believes such pages after
   * three polls that agree (C3), and has four a night.
   */
  const presentNow = (): ReadonlySet<number> => {
    const isFlawed = (shelf: Shelved): boolean =>
      target !== 'mirror' &&
      requireTotal !== false &&
      (miscountOf(shelf, hasKey).length > 0 || (hasKey && shelf.totals.length === 0 && repeatsOf(shelf).length > 0));
    const rows = catalog.shelves.flatMap((shelf) => (isFlawed(shelf) ? shelf.rows : shelf.listed));
    return new Set(rows.map(({ id }) => id));
  };

  /** Whether there is a reason to refuse what is listed, or what a run before it has left. */
  const isOdd = (): boolean => {
    const listed = listedNow();
    const ids = new Set(listed.map(({ id }) => id));
    const isGuarded = target === 'replace' || target === 'history';
    const isShrunk = isGuarded && table.filter(({ id }) => !ids.has(id)).length * 2 > table.length;
    const areTwins = tableKey === 'label' && new Set(listed.map(({ label }) => label)).size < listed.length;
    return isShrunk || areTwins || flawsNow().length > 0 || attempted.length > 1;
  };
  /** What a reader of the table must never see: a row that is gone, although the API lists it. */
  const judgeTable = (): void => {
    const before = new Set(table.map(({ id }) => id));
    table = stored();
    const after = new Set(table.map(({ id }) => id));
    const present = presentNow();
    const gone = [...before].filter((id) => !after.has(id));
    const lost = gone.filter((id) => present.has(id) && presentBefore?.has(id) !== false);
    if (lost.length > 0) say(`${lost.length} rows were removed that the API lists, e.g. ${String(lost[0])}.`);
    // Without a key column, nobody knows which rows are new.
    const fewer = tableKey === undefined ? before.size - after.size : gone.length;
    if (target === 'replace' && fewer * 2 > before.size) say(`${fewer} of ${before.size} rows were removed at once.`);
  };

  const judgeSuccess = (actual: readonly CatalogRow[], before: readonly CatalogRow[], pages: number): void => {
    const texts = textsOf(actual);
    const listed = listedNow();
    if (pages === 0 && (attempted.includes(texts) || texts === textsOf(before))) return;
    const [flaw] = flawsNow();
    if (flaw !== undefined) {
      say(`${flaw} The export said nothing.`);
      return;
    }
    const isRight = isExact ? texts === textsOf(outcomeOf(before, listed, target)) : hasAll(actual, listed);
    if (!isRight) say(`It has ${actual.length} rows, and not the ${listed.length} that the API lists.`);
  };
  /** One export. Answers whether it has succeeded, as far as it says. */
  const exportOnce = async (source: PageSource<CatalogRow>, process: Process): Promise<boolean> => {
    const { client, life, fileSystem, claims, clock, random, signal } = process;
    const warnings: string[] = [];
    const heard = client.eventsOf('warning').subscribe(({ message }) => warnings.push(message));
    const before = table;
    const pagesBefore = catalog.pages;
    // To append more than once is said so; a run that completes another one, or finds it complete, is not.
    const restart = isRestarted || (target === 'append' && attempted.length === 0);
    attempted.push(textsOf(outcomeOf(before, listedNow(), target)));
    try {
      if (store && target === 'mirror') {
        const mirror = mirrorSink<CatalogRow>(store.databaseOf(life), 'rows', { table: 'rows', columns });
        const watched = watch(source, { every: 5_000, clock, random, state: mirror.state, polls: 4 });
        await exportTo(watched, mirror, { clock }).run({ signal });
        return true;
      }
      const report = await exportTo(source, sinkFor({ life, fileSystem }), {
        ...(!store && { state: fileState(`${path()}.sluice`, { fileSystem, claims, clock }) }),
        concurrency,
        prefetch: 1,
        clock,
        restart,
        onWarning: (message) => warnings.push(message),
        ...(commitEvery !== undefined && { commitEvery }),
        ...(requireTotal !== undefined && { requireTotal }),
      }).run({ signal });
      const pages = catalog.pages - pagesBefore;
      const [miscount] = requireTotal && pages > 0 ? miscountsNow() : [];
      if (miscount !== undefined) say(`${miscount} It was not refused.`);
      if (saidOf(report).length + warnings.length === 0)
        judgeSuccess(store ? stored() : rowsIn(disk.text(path())), before, pages);
      return true;
    } catch (error) {
      if (!isOdd() || !isRefusal(error)) throw error;
      return false;
    } finally {
      heard.unsubscribe();
    }
  };
  const sinkFor = ({ life, fileSystem }: Pick<Process, 'life' | 'fileSystem'>): Sink<CatalogRow> => {
    if (target === 'csv') return csv({ path: path(), fileSystem });
    if (!store || target === 'jsonl' || target === 'mirror') return jsonl({ path: path(), fileSystem });
    const key = tableKey === undefined ? {} : { key: [tableKey] };
    return tableSink(store.databaseOf(life), 'rows', { table: 'rows', mode: target, ...key });
  };

  return {
    services: new Map([[new URL(catalogAddress).host, catalog.answer]]),
    onStart: (now) => (disk = now),
    ...(store && {
      onCommit: (statements: readonly string[]) => {
        if (statements.some((sql) => sql.includes('"rows"'))) judgeTable();
      },
    }),
    async run(process, { isLast }) {
      const { client, clock, random, signal } = process;
      const source = client.use(api({ baseUrl: catalogAddress })).catalog.rows();
      if (isLast) catalog.quieten();
      if (isUnderWay) postpone();
      // Several nights, so that a kill meets one of the later ones.
      for (let left = isLast ? Infinity : 1 + Math.floor(random() * 3); left > 0; left -= 1) {
        if (!isDue) begin();
        if (due > now()) await sleep(clock, due - now(), signal);
        isUnderWay = true;
        const isDone = await exportOnce(source, process);
        isUnderWay = false;
        isDue = false;
        // The next night may be a better one, and what it resumes may not be right ever.
        isRestarted = !isDone && attempted.length > 1;
        if (isDone) {
          attempted = [];
          name += 1;
        }
        if (night + 1 >= nights.length + (isDone ? 0 : 2) || (isDone && target === 'fail')) return true;
      }
      return false;
    },
    judge: () => wrong,
    get wrongSoFar() {
      return wrong;
    },
  };
}

/** What is wrong with the rows of a shelf for everybody who counts them, by their keys if they have any. */
function miscountOf({ listed, totals }: Shelved, hasKey: boolean): readonly string[] {
  const different = hasKey ? differentIn(listed) : listed.length;
  const isCounted = totals.length === 0 || (different >= Math.min(...totals) && different <= Math.max(...totals));
  return isCounted ? [] : [`The API counts ${totals.join()} rows of a shelf, and lists ${different} different ones.`];
}

function repeatsOf({ listed }: Shelved): readonly string[] {
  const again = listed.length - differentIn(listed);
  return again > 0 ? [`The API lists ${again} rows of a shelf again.`] : [];
}

function differentIn(rows: readonly CatalogRow[]): number {
  return new Set(rows.map(({ id }) => id)).size;
}

/** The rows of a target after an export of these. */
function outcomeOf(
  before: readonly CatalogRow[],
  listed: readonly CatalogRow[],
  target: JobOf<'nights'>['target'],
): readonly CatalogRow[] {
  return target === 'append' ? [...before, ...listed] : listed;
}

function hasAll(actual: readonly CatalogRow[], listed: readonly CatalogRow[]): boolean {
  const texts = new Set(actual.map(textOf));
  return listed.every((row) => texts.has(textOf(row)));
}

function textOf({ id, label, text }: CatalogRow): string {
  return `${id} ${label} ${text}`;
}

function textsOf(rows: readonly CatalogRow[]): string {
  return rows.map(textOf).toSorted().join('\n');
}

function rowOf({ id, label, text }: Readonly<Record<string, unknown>>): CatalogRow {
  return { id: Number(id), label: String(label), text: String(text) };
}

/** The rows of a file, none of which needs quotes. */
function rowsIn(text = ''): readonly CatalogRow[] {
  const lines = text.split(/\r?\n/).filter((line) => line !== '' && line !== columns.join());
  return lines.map((line) => {
    if (line.startsWith('{')) return rowOf(JSON.parse(line));
    const [id, label, named] = line.split(',');
    return rowOf({ id, label, text: named });
  });
}
