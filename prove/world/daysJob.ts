import { exportTo } from '@sluice/core';
import { byOffset, bySince, defineApi, listing, noAuth, onePage, type DocumentReader } from '@sluice/core/define';
import type { PageSource } from '@sluice/core/kit';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { sleep } from '../../packages/core/src/clock.js';
import { simulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import { tableSink } from '../../packages/tables/src/sql/tableSink.js';
import { Account, accountAddress, type AccountEntry, daysBefore } from './account.js';
import type { JobOf, RunningJob } from './job.js';
import { epoch } from './platform.js';
import { saidOf } from './saidOf.js';
import type { Process } from './processes.js';
import type { Store } from './store.js';

const columns = ['id', 'changed', 'version'] as const;

function pagingOf({ times, walk, write, overlap, windows }: JobOf<'days'>) {
  const from = new Date(epoch - daysBefore).toISOString();
  const begin = times === 'instant' ? from : from.slice(0, times === 'date' ? 10 : 19);
  const by = {
    param: 'from',
    field: 'changed',
    type: times,
    overlap,
    begin,
    ...(write !== undefined && { write: `{${write}}` as const }),
    ...(windows !== undefined && { windows: { to: 'to', step: windows } }),
  } as const;
  if (walk === 'one page') return bySince({ ...by, order: 'any', paging: onePage() });
  return bySince({ ...by, ...(walk === 'offsets' && { paging: byOffset({ param: 'offset' }) }) });
}

/** Exports what is new in an account that has its own days, every few hours or days, as a line of cron would. */
export function daysJob(job: JobOf<'days'>, now: () => number, storeOf: () => Store): RunningJob {
  const { target, changes, gaps, pageSize } = job;
  const account = new Account(job, changes, now);
  const store = target === 'jsonl' ? undefined : storeOf();
  const api = defineApi({
    name: 'account',
    auth: noAuth,
    sources: {
      entries: listing<AccountEntry>({
        path: '/entries',
        rows: 'items',
        ...(job.walk !== 'one page' && { pageSize: { param: 'n', default: pageSize, max: pageSize + 1 } }),
        paging: pagingOf(job),
        columns,
        types: { id: 'integer', version: 'integer' },
        key: 'id',
        version: '1',
        decode: (row: unknown, path: string, read: DocumentReader) => {
          const { id, changed, version } = read.record(row, path);
          return { id: Number(id), changed: String(changed), version: Number(version) };
        },
      }),
    },
  });
  const wrong: string[] = [];
  let disk = simulatedDisk();
  let runs = 0;
  let files = 1;
  const path = (): string => `/data/new-${String(files).padStart(3, '0')}.jsonl`;
  const kept = (): ReadonlyMap<number, number> => {
    const versions = new Map<number, number>();
    const found = store
      ? store.read('SELECT id, version FROM rows')
      : disk
          .paths()
          .filter((each) => each.endsWith('.jsonl'))
          .flatMap((each) => (disk.text(each) ?? '').split('\n').slice(0, -1))
          .map((line): AccountEntry => JSON.parse(line));
    for (const { id, version } of found)
      versions.set(Number(id), Math.max(Number(version), versions.get(Number(id)) ?? 0));
    return versions;
  };
  /** Of an entry that requests saw before the run, its target must have what they saw, or what came later. */
  const judgeRun = (seen: readonly (AccountEntry & { readonly at: number })[], began: number): void => {
    const versions = kept();
    const missing = seen.filter(({ id, version }) => (versions.get(id) ?? 0) < version);
    const [first] = missing;
    if (first)
      wrong.push(
        `Run ${runs}: ${missing.length} of ${seen.length} entries are missing, e.g. that of ${first.changed}, ${Math.round((began - first.at) / 60_000)} min old.`,
      );
  };
  const exportOnce = async (source: PageSource<AccountEntry>, process: Process): Promise<void> => {
    const { client, life, fileSystem, claims, clock, signal } = process;
    const warnings: string[] = [];
    const heard = client.eventsOf('warning').subscribe(({ message }) => warnings.push(message));
    // Whoever is called again with the same name completes what a kill left.
    if (!store && (await fileSystem.kind(path()).catch(() => 'file')) !== 'absent') files += 1;
    const began = now();
    const seen = account.entries;
    try {
      const sink =
        store && target !== 'jsonl'
          ? tableSink<AccountEntry>(store.databaseOf(life), 'rows', {
              table: 'rows',
              mode: target,
              ...(target !== 'append' && { key: ['id'] }),
            })
          : jsonl<AccountEntry>({ path: path(), fileSystem });
      const report = await exportTo(source, sink, {
        ...(!store && { state: fileState('/data/state', { fileSystem, claims, clock }) }),
        ...(target !== 'replace' && { incremental: true as const }),
        clock,
        onWarning: (message) => warnings.push(message),
      }).run({ signal });
      runs += 1;
      if (saidOf(report).length === 0) judgeRun(seen, began);
    } finally {
      heard.unsubscribe();
    }
  };
  return {
    services: new Map([[new URL(accountAddress).host, account.answer]]),
    onStart: (mounted) => (disk = mounted),
    async run(process, { isLast }) {
      const { client, clock, random, signal } = process;
      const source = client.use(api({ baseUrl: accountAddress })).account.entries();
      for (let left = isLast ? Infinity : 1 + Math.floor(random() * 3); left > 0; left -= 1) {
        await exportOnce(source, process);
        if (runs > gaps.length) return true;
        await sleep(clock, gaps[runs - 1] ?? 0, signal);
      }
      return false;
    },
    judge: () => wrong,
    get wrongSoFar() {
      return wrong;
    },
  };
}
