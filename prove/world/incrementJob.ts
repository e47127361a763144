import { bySince, defineApi, exportTo, listing, rateLimitHeaders } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { sleep } from '../../packages/core/src/clock.js';
import { lastChange } from './changing.js';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './jobs.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';
import { addresses } from './services.js';
import { type Entry, tableOverlap } from './table.js';

const columns = ['id', 'text', 'changed'] as const;

/** Exports what is new in a table into a file per run, as a line of cron would. */
export function incrementJob(
  { pageSize, changes, renames }: JobOf<'increment'>,
  { api }: Scenario,
  apis: Apis,
): RunningJob {
  const { table } = apis;
  const entries = listing<Entry>({
    ...{ path: '/entries', rows: 'items', columns, version: '1', key: ({ id }) => id },
    pageSize: { param: 'n', default: pageSize, max: pageSize },
    paging: bySince({ param: 'since', field: 'changed', type: 'instant', overlap: tableOverlap }),
    decode: (row, path, read) => {
      const { id, text, changed } = read.record(row, path);
      return { id: Number(id), text: String(text), changed: String(changed) };
    },
  });
  const tableApi = defineApi({
    ...{ name: 'table', sources: { entries } },
    ...(api.quota && { quota: rateLimitHeaders() }),
  });
  let name = '';
  let runs = 0;
  return {
    begin(schedule) {
      for (const change of changes)
        schedule.after(change.at, `the table changes: ${change.id}`, () => table.change(change, schedule.now), null);
    },
    async run({ client, fileSystem, processes, clock, random, signal }, { isLast }) {
      const toWait = lastChange + tableOverlap - clock.monotonic();
      if (isLast && toWait > 0) await sleep(clock, toWait, signal);
      const state = fileState('/data/state', { fileSystem, processes, clock });
      const source = client.use(tableApi({ baseUrl: addresses.table })).table.entries();
      // The first one may only complete what a kill left, as of then.
      for (let left = isLast ? 2 : 1; left > 0; left -= 1) {
        const isTaken = name !== '' && (await fileSystem.kind(name).catch(() => 'file')) !== 'absent';
        // Whoever is called again with the same name completes what a kill left; a file per hour has another name.
        if (name === '' || isTaken || (renames && random() < 0.5))
          name = `/data/new-${String((runs += 1)).padStart(3, '0')}.jsonl`;
        const sink = jsonl<Entry>({ path: name, fileSystem });
        await exportTo(source, sink, { state, clock, incremental: true, commitEvery: 1 }).run({ signal });
      }
      await sleep(clock, random() * 10_000, signal);
      return isLast;
    },
    judge(disk) {
      const durable = disk.restart('dropped');
      const kept = new Map<number, string>();
      const paths = durable.paths().filter((path) => /new-\d+\.jsonl$/.test(path));
      for (const path of paths.toSorted())
        for (const line of (durable.text(path) ?? '').split('\n').slice(0, -1)) {
          const entry: Entry = JSON.parse(line);
          kept.set(entry.id, line);
        }
      const [actual, expected] = [[...kept.values()], table.all.map((entry) => JSON.stringify(entry))].map((lines) =>
        lines.toSorted().join('\n'),
      );
      return actual === expected ? [] : [`What is kept by key is not the table: ${difference(actual, expected ?? '')}`];
    },
  };
}
