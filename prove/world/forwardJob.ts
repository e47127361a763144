import { type Change, exportTo, watch } from '@sluice/core';
import { fileState, type FileSystem } from '@sluice/core/node';
import { replay, webhook, type WebhookReplayOptions } from '@sluice/exporters/webhook';
import { lastChange, letChange } from './changing.js';
import { FoldedChanges } from './foldedChanges.js';
import type { JobOf, RunningJob } from './jobs.js';
import { Receiver } from './receiver.js';
import type { Apis } from './services.js';

const host = 'hooks.world';

/** An export whose checkpoint is removed is over, whether its process lives to say so or not. */
function endNoticed(fileSystem: FileSystem, onEnd: () => void): FileSystem {
  return {
    ...fileSystem,
    unlink(path) {
      if (path === '/data/state/checkpoint') onEnd();
      return fileSystem.unlink(path);
    },
  };
}

/** Posts all holdings, or each change of the streams, to a service. */
export function forwardJob(job: JobOf<'forward'>, apis: Apis): RunningJob {
  const { of, pageSize, deliveries, batch, refused, every, changes } = job;
  const receiver = new Receiver(refused);
  const deadLetter = '/data/dead.jsonl';
  let isForwarded = false;
  const ownerAddresses = apis.holdings.owners.addresses;
  return {
    ...{ services: new Map([[host, receiver.answer]]), mostUnderWay: deliveries },
    ...(of === 'changes' && { begin: letChange(apis, changes) }),
    async run({ client, fileSystem, processes, clock, random, adapter, signal }, { isLast }) {
      const noticed = of === 'rows' ? endNoticed(fileSystem, () => receiver.startOver()) : fileSystem;
      const state = fileState('/data/state', { fileSystem: noticed, processes, clock });
      const endpoint: WebhookReplayOptions = {
        ...{ url: `https://${host}/`, secret: `whsec_${Buffer.alloc(24, 7).toString('base64')}`, deliveries },
        ...{ clock, random, adapter, resolve: () => Promise.resolve([{ address: '203.0.113.7', family: 4 }]) },
        ...{ fileSystem, processes },
      };
      const sinkOf = <T extends object>() =>
        webhook<T>({
          ...endpoint,
          ...(batch !== undefined && { batch }),
          ...(refused > 0 && { deadLetter, maxDeadLetters: 1_000_000 }),
        });
      if (of === 'rows') {
        const rows = client.aptos.walletNfts({ ownerAddresses, pageSize });
        if (!isForwarded) await exportTo(rows, sinkOf(), { state, clock }).run({ signal });
        isForwarded = true;
        receiver.mend();
        if ((await fileSystem.kind(deadLetter).catch(() => 'file')) === 'absent') return true;
        return (await replay(deadLetter, { ...endpoint, signal })).left === 0;
      }
      const isStill = clock.monotonic() > lastChange;
      const polls = isStill ? 8 : Math.ceil(lastChange / every / 2) + 1;
      const watched = watch(client.streams.list({ pageSize }), { every, clock, random, state, polls });
      await exportTo(watched, sinkOf(), { state, clock }).run({ signal });
      return isStill && isLast;
    },
    judge() {
      if (of === 'rows') {
        const rows = [...apis.holdings.of(ownerAddresses)].map((row) => JSON.stringify(row));
        const got = new Set(receiver.data.map((row) => JSON.stringify(row)));
        const missing = rows.filter((row) => !got.has(row));
        return missing.length === 0
          ? receiver.wrong
          : [...receiver.wrong, `${missing.length} of ${rows.length} rows were not delivered.`];
      }
      const folded = new FoldedChanges();
      for (const change of receiver.data) folded.add(change as Change<unknown>);
      return [...receiver.wrong, ...folded.judge(apis)];
    },
  };
}
