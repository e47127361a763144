import { exportTo, SluiceError } from '@sluice/core';
import {
  bearer,
  byCursor,
  byOffset,
  byPage,
  bySince,
  defineApi,
  header,
  listing,
  login,
  rateLimitHeaders,
  rowOf,
  type DocumentReader,
} from '@sluice/core/define';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { sleep } from '../../packages/core/src/clock.js';
import { lastChange } from './changing.js';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './job.js';
import { epoch } from './platform.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';
import { addresses, apiKey, sinceOf, unmoved } from './services.js';
import { type Entry, kindOf, tableOverlap } from './table.js';

const columns = ['id', 'text', 'changed'] as const;

/** An entry of one of several tables. */
interface TableEntry extends Entry {
  readonly table?: number;
}

const key = header('X-API-Key', { id: 'key of this world', get: () => apiKey });

function tableLogin(life: number | 'unknown') {
  return login({
    request: { path: '/login', auth: key },
    token: 'token',
    ...(life !== 'unknown' && { lifetime: ({ at }) => Number(at('life')) }),
  });
}

/** Where the windows of a table begin. */
const firstWindow = new Date(epoch - 7_000).toISOString();

/** The ways of finding what is new. */
function pagingOf({ order, place }: JobOf<'increment'>, windowStep: number | undefined) {
  const by = { field: 'changed', type: 'instant', overlap: tableOverlap } as const;
  const at = place === 'header' ? { header: 'X-Since' } : place === 'form' ? { into: 'since' } : { param: 'since' };
  const windows = { to: 'to', step: windowStep ?? 0 };
  if (windowStep !== undefined) return bySince({ ...by, param: 'since', begin: firstWindow, windows });
  if (order === undefined) return bySince({ ...by, ...at });
  if (order === 'offsets') return bySince({ ...by, ...at, paging: byOffset({ param: 'offset' }) });
  return bySince({ ...by, order, paging: byPage({ param: 'page' }) });
}

const ofOne = {
  path: '/entries',
  columns,
  key: ({ id }: Entry) => id,
  decode: (row: unknown, path: string, read: DocumentReader): Entry => {
    const { id, text, changed } = read.record(row, path);
    return { id: Number(id), text: String(text), changed: String(changed) };
  },
} as const;

const ofEach = {
  columns: [...columns, 'table'],
  key: ({ table, id }: TableEntry) => `${String(table)}/${id}`,
  each: rowOf({
    source: 'tables',
    params: ({ id }: { id: number }) => ({ table: id }),
  }),
  fields: { table: '{table}' },
  path: '/rows/{table}',
  responses: { 404: 'skip', 410: 'skip' },
  decode: (row: unknown, path: string, read: DocumentReader): TableEntry => {
    const { id, text, changed, table } = read.record(row, path);
    return { id: Number(id), text: String(text), changed: String(changed), table: Number(table) };
  },
} as const;

/** What a request lists: a table, or one of its kinds of rows. */
function listedIn({ pathname, searchParams }: URL): string {
  const kind = searchParams.get('kind');
  return kind === null ? unmoved(pathname) : `${unmoved(pathname)} ${kind}`;
}

/** Exports what is new in a table, or in each of several, into a file per run, as a line of cron would. */
export function incrementJob(job: JobOf<'increment'>, { api, clockSteps, network }: Scenario, apis: Apis): RunningJob {
  const { pageSize, changes, renames, tables, concurrency = 1, commitEvery = 1, order, place } = job;
  const isPlain = order === undefined && place === undefined;
  const windows = isPlain ? job.windows : undefined;
  const hasKinds = isPlain && job.hasKinds === true;
  // Where requests take long, the next run would have ever more windows.
  const listings = (tables?.length ?? 1) * (hasKinds ? 2 : 1) * (network.broken > 0 || network.parts > 0 ? 4 : 1);
  // A clock that is wrong by more than half a step hides rows until it is right.
  const isWide = clockSteps.length > 0 || api.quota !== undefined || api.tokenLife !== undefined;
  const step = windows && (isWide ? 3 * 3_600_000 : windows.step * listings);
  const query = { ...(order && { order }), ...(windows?.isInclusive && { end: 'inclusive' }) };
  const byKind = { query: { ...query, kind: '{kind}' }, partitions: { kind: ['odd', 'even'] } } as const;
  const rows = {
    rows: 'items',
    version: '1',
    pageSize: { param: 'n', default: pageSize, max: pageSize },
    paging: pagingOf(job, step),
    ...(place === 'form' && ({ method: 'POST', bodyType: 'form', body: {} } as const)),
  } as const;
  // Whether a request says from where on it asks for rows.
  const isShown = order === undefined || order === 'offsets';
  const tableApi = defineApi({
    name: 'table',
    ...(api.tokenLife !== undefined && { auth: [key, bearer(tableLogin(api.tokenLife))] }),
    ...(api.quota && { quota: rateLimitHeaders() }),
    sources: {
      tables: listing({
        path: '/all',
        rows: 'items',
        columns: ['id'],
        key: ({ id }) => Number(id),
        pageSize: { param: 'n', default: 2, max: 2 },
        paging: byCursor({ param: 'cursor', at: 'next?' }),
      }),
      entries: listing<Entry>({ ...rows, ...ofOne, query }),
      entriesByKind: listing<Entry, object, never, { kind: string }>({ ...rows, ...ofOne, ...byKind }),
      entriesOfEach: listing<TableEntry, { table: number }, object>({ ...rows, ...ofEach, query }),
      entriesOfEachByKind: listing<TableEntry, { table: number }, object, { kind: string }>({
        ...rows,
        ...ofEach,
        ...byKind,
      }),
    },
  });
  apis.tables.hold(tables ?? []);
  let name = '';
  let runs = 0;
  /** Whether the last run has ended with the advice to start over. */
  let isAdvised = false;
  const wrong: string[] = [];
  /** Pages of rows that were answered, by what they list. */
  const answered = new Map<string, number>();
  /** Tables that are always listed, and have had rows: after an increment, each has a mark. */
  const withRows = new Set<string>();
  const steady = tables?.filter((table) => Object.keys(table).length === 1).map(({ id }) => `/tables/rows/${id}`);
  /** Tables that an increment has requested without a mark. */
  const requestedInFull = new Set<string>();
  /** From where an increment has requested each, by what is listed (wall time in ms). */
  const requestedFrom = new Map<string, number>();
  const pagesOf = (count: number): number =>
    order === 'any' ? Math.ceil(count / pageSize) + 1 : order === undefined ? 1 : 2;
  /** A5: an unchanged table is requested from the overlap before its latest row, or before the clock if that is behind. */
  const checkUnchanged = (began: number): void => {
    for (const [listed, pages] of answered) {
      const [path = '', kind] = listed.split(' ');
      const table = path === '/table/entries' ? apis.table : apis.tables.of(Number(path.split('/').at(-1)));
      const isOfKind = ({ id }: Entry): boolean => (kind ?? kindOf(id)) === kindOf(id);
      const times = table?.all.filter(isOfKind).map(({ changed }) => Date.parse(changed)) ?? [];
      const from = requestedFrom.get(listed) ?? -Infinity;
      const again = times.filter((time) => time >= from).length;
      // Each window since the mark has a page.
      // A page of one row may be all that an API sends for an offset: then one more is requested.
      const one = order === 'offsets' && again === 1 ? 1 : 0;
      const usual = step === undefined ? pagesOf(times.length) + one : 3 + Math.floor((began - from) / step);
      if (pages > usual && (again < pageSize || order === 'any'))
        wrong.push(`Nothing has changed, and ${path} took ${pages} pages.`);
      // Marks have whole seconds.
      const early = Math.min(began, Math.max(...times)) - tableOverlap - 1_000 - from;
      if (from > -Infinity && early > 0) wrong.push(`${path} was requested from ${early} ms before its mark on.`);
    }
  };
  return {
    isPage: ({ pathname }) => pathname !== '/tables/all',
    onSend(url, { headers, body = '' }) {
      if (!isShown) return;
      const listed = listedIn(url);
      const since = sinceOf({ url, headers, body });
      if ((since === null || since === firstWindow) && withRows.has(listed)) requestedInFull.add(listed);
      if (since !== null && !requestedFrom.has(listed)) requestedFrom.set(listed, Date.parse(since));
    },
    onAnswer(url, { status, body }) {
      const pathname = unmoved(url.pathname);
      const listed = listedIn(url);
      if (status !== 200 || pathname.endsWith('/login')) return;
      answered.set(listed, (answered.get(listed) ?? 0) + 1);
      const { items }: { items: readonly unknown[] } = JSON.parse(body);
      if (items.length > 0 && steady?.includes(pathname)) withRows.add(listed);
    },
    begin(schedule) {
      for (const change of changes) {
        const table = change.table === undefined ? apis.table : apis.tables.of(change.table);
        const what = `the table ${change.table ?? ''} changes: ${change.id}`;
        schedule.after(change.at, what, () => table?.change(change, schedule.now), null);
      }
    },
    async run({ client, fileSystem, claims, clock, random, signal }, { isLast }) {
      const toWait = lastChange + tableOverlap - clock.monotonic();
      if (isLast && toWait > 0) await sleep(clock, toWait, signal);
      const state = fileState('/data/state', { fileSystem, claims, clock });
      const open = client.use(tableApi({ baseUrl: tables ? addresses.tables : addresses.table })).table;
      const ofTables = hasKinds ? open.entriesOfEachByKind : open.entriesOfEach;
      const source = tables ? ofTables() : hasKinds ? open.entriesByKind() : open.entries();
      // The first one may only complete what a kill left, as of then. The last one finds nothing new.
      const began = clock.now();
      for (let left = isLast ? 3 : 1; left > 0; left -= 1) {
        const isTaken = name !== '' && (await fileSystem.kind(name).catch(() => 'file')) !== 'absent';
        // Whoever is called again with the same name completes what a kill left; a file per hour has another name.
        if (name === '' || isTaken || (renames && random() < 0.5))
          name = `/data/new-${String((runs += 1)).padStart(3, '0')}.jsonl`;
        const sink = jsonl<TableEntry>({ path: name, fileSystem });
        answered.clear();
        requestedInFull.clear();
        requestedFrom.clear();
        const options = { state, clock, incremental: true, concurrency, commitEvery, restart: isAdvised } as const;
        const { rows } = await exportTo<TableEntry>(source, sink, options)
          .run({ signal })
          .catch((error: unknown) => {
            // Rows have moved since the checkpoint: by offsets it is found after three walks, and by pages if one comes again.
            isAdvised ||= SluiceError.is(error, 'rows-moved') || SluiceError.is(error, 'no-progress');
            throw error;
          });
        isAdvised = false;
        // Until its token has to be replaced.
        if (isLast && api.tokenLife !== undefined) await sleep(clock, random() * 200_000, signal);
        if (isLast && left < 3)
          wrong.push(...Array.from(requestedInFull, (path) => `${path} was requested without its mark.`));
        if (!isLast || left > 1) continue;
        if (rows > 0) wrong.push(`Nothing has changed, and an increment has ${rows} rows.`);
        answered.delete('/tables/all');
        checkUnchanged(began);
      }
      await sleep(clock, random() * 10_000, signal);
      return isLast;
    },
    judge(disk) {
      const durable = disk.restart('dropped');
      const kept = new Map<string, { readonly line: string; readonly table: number | undefined }>();
      const paths = durable.paths().filter((path) => /new-\d+\.jsonl$/.test(path));
      for (const path of paths.toSorted())
        for (const line of (durable.text(path) ?? '').split('\n').slice(0, -1)) {
          const { id, table }: TableEntry = JSON.parse(line);
          kept.set(`${table ?? ''}/${id}`, { line, table });
        }
      // Of a table that is not listed any more, nobody has asked for the last changes.
      const judged = tables?.flatMap(({ id, until }) => (until === undefined ? [id] : [])) ?? [undefined];
      const wrongTables = judged.flatMap((table) => {
        const ofTable = table === undefined ? apis.table : apis.tables.of(table);
        const lines = (ofTable?.all ?? []).map((entry) =>
          JSON.stringify({ ...entry, ...(table !== undefined && { table }) }),
        );
        const keptLines = [...kept.values()].flatMap((each) => (each.table === table ? [each.line] : []));
        const [actual, expected] = [keptLines, lines].map((all) => all.toSorted().join('\n'));
        return actual === expected
          ? []
          : [`What is kept by key is not the table ${table ?? ''}: ${difference(actual ?? '', expected ?? '')}`];
      });
      return [...wrong, ...apis.wrong, ...wrongTables];
    },
  };
}
