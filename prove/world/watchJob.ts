import { type Change, exportTo, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import type { EvmStream } from '@sluice/streams';
import { lastChange, letChange } from './changing.js';
import { ChangeOracle } from './changeOracle.js';
import type { JobOf, RunningJob } from './job.js';
import { FetchedInFull } from './fetchedInFull.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';

/** Watches the streams, and appends each change to a file. */
export function watchJob({ pageSize, every, changes }: JobOf<'watch'>, { api }: Scenario, apis: Apis): RunningJob {
  const path = '/data/changes.jsonl';
  const full = new FetchedInFull();
  return {
    onAnswer: (url, { status }) => full.got(url, status),
    begin: letChange(apis, changes),
    async run({ client, fileSystem, claims, clock, random, signal }, { isLast }) {
      const state = fileState('/data/state', { fileSystem, claims, clock });
      const isStill = clock.monotonic() > lastChange;
      const polls = isStill ? 8 : Math.ceil(lastChange / every / 2) + 1;
      const watched = watch(client.streams.list({ pageSize }), { every, clock, random, state, polls });
      const sink = jsonl<Change<EvmStream>>({ path, fileSystem, ifExists: 'overwrite' });
      if (isStill && isLast && api.tags) full.begin();
      await exportTo(watched, sink, { state, clock }).run({ signal });
      return isStill && isLast;
    },
    judge(disk) {
      const folded = new ChangeOracle();
      const lines = (disk.restart('dropped').text(path) ?? '').split('\n').slice(0, -1);
      for (const line of lines) folded.add(JSON.parse(line));
      return [...folded.judge(apis), ...full.wrong];
    },
  };
}
