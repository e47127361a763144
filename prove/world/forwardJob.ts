import type { NftHolding } from '@sluice/aptos';
import { type Change, exportTo, type Sink, watch } from '@sluice/core';
import { fileState, type FileSystem } from '@sluice/core/node';
import { readDeadLetters, replay, webhook, type WebhookOptions } from '@sluice/exporters/webhook';
import { isLock } from './isLock.js';
import { lastChange, letChange } from './changing.js';
import { ChangeOracle } from './changeOracle.js';
import type { JobOf, RunningJob } from './job.js';
import { endpointOf, Receiver, receiverHost } from './receiver.js';
import type { Scenario } from './scenario.js';
import { telling } from './telling.js';
import type { Apis } from './services.js';

/** The ids in a file of dead letters; `undefined` if it is not there, or the disk refuses to read it. */
async function lettersIn(path: string, fileSystem: FileSystem): Promise<readonly string[] | undefined> {
  const ids: string[] = [];
  try {
    for await (const { letter } of readDeadLetters(path, { fileSystem })) ids.push(letter.id);
    return ids;
  } catch {
    return undefined;
  }
}

/** Posts all holdings, or each change of the streams, to a service. */
export function forwardJob(job: JobOf<'forward'>, { disk: { io } }: Scenario, apis: Apis): RunningJob {
  const { of, pageSize, deliveries, batch, refused, byOwner = false, every, changes } = job;
  const receiver = new Receiver({ refused, orderedBy: byOwner ? 'owner_address' : undefined });
  const deadLetter = '/data/dead.jsonl';
  const wrong: string[] = [];
  let isForwarded = false;
  /** Rows that were given to a sink, as texts. */
  const given = new Set<string>();
  /** Records that may be on their way, besides two pages of any size. */
  const enough = 2 * deliveries * (batch ?? 1);
  /** The writer of rows takes a page when no more than that is on its way, or all that it got before the last two has arrived. */
  const bounded = <T>(sink: Sink<T>): Sink<T> => {
    const pages: (readonly string[])[] = [];
    return telling(sink, ({ items }) => {
      const isOpen = (row: string): boolean => !receiver.hasMet(row);
      if (pages.at(-3)?.some(isOpen) && pages.flat().filter(isOpen).length > enough)
        wrong.push(`A page was written while three before it were under way, with more than ${enough} records.`);
      // One that was interrupted knows its rows, and does not wait.
      const fresh = items.map((row) => JSON.stringify(row)).filter((row) => !given.has(row));
      for (const row of fresh) given.add(row);
      if (fresh.length > 0) pages.push(fresh);
    });
  };
  /** W9 */
  const checkLetters = (ids: readonly string[]): void => {
    const known = new Set(ids);
    if (known.size < ids.length) wrong.push(`${ids.length - known.size} dead letters are there twice.`);
    const missing = [...receiver.refused].filter((id) => !known.delete(id));
    if (missing.length > 0) wrong.push(`${missing.join(' ')} was refused, and is no dead letter.`);
    if (known.size > 0) wrong.push(`${[...known].join(' ')} is a dead letter, and was not refused.`);
  };
  const ownerAddresses = apis.holdings.owners.addresses;
  return {
    services: new Map([[receiverHost, receiver.answer]]),
    mostUnderWay: deliveries,
    ...(of === 'changes' && { begin: letChange(apis, changes) }),
    async run(process, { isLast }) {
      const { client, fileSystem, claims, clock, random, signal } = process;
      const state = fileState('/data/state', { fileSystem, claims, clock });
      const endpoint = endpointOf(process, deliveries);
      const sinkOf = <T extends object>(options: Pick<WebhookOptions<T>, 'key'> = {}) =>
        webhook<T>({
          ...endpoint,
          ...(batch !== undefined && { batch }),
          ...options,
          ...(refused > 0 && { deadLetter, maxDeadLetters: 1_000_000 }),
        });
      if (of === 'rows') {
        const rows = client.aptos.nfts({ ownerAddresses, pageSize });
        const order = byOwner ? { key: (row: NftHolding) => row.owner_address ?? '' } : {};
        if (!isForwarded) {
          await exportTo(rows, bounded(sinkOf(order)), { state, clock }).run({ signal });
          isForwarded = true;
          const letters = refused > 0 ? await lettersIn(deadLetter, fileSystem) : undefined;
          if (letters) checkLetters(letters);
        }
        receiver.mend();
        // A replay that is killed at its end can leave the folder without the file: the next one clears it away.
        const isAbsent = async (path: string): Promise<boolean> =>
          (await fileSystem.kind(path).catch(() => 'file')) === 'absent';
        if ((await isAbsent(deadLetter)) && (await isAbsent(`${deadLetter}.sluice`))) return true;
        return (await replay(deadLetter, { ...endpoint, signal })).left === 0;
      }
      const isStill = clock.monotonic() > lastChange;
      const polls = isStill ? 8 : Math.ceil(lastChange / every / 2) + 1;
      const watched = watch(client.streams.list({ pageSize }), { every, clock, random, state, polls });
      await exportTo(watched, sinkOf(), { state, clock }).run({ signal });
      return isStill && isLast;
    },
    judge(disk) {
      if (of === 'rows') {
        const rows = [...apis.holdings.of(ownerAddresses)].map((row) => JSON.stringify(row));
        const got = new Set(receiver.data.map((row) => JSON.stringify(row)));
        const missing = rows.filter((row) => !got.has(row));
        if (missing.length > 0) wrong.push(`${missing.length} of ${rows.length} rows were not delivered.`);
        // The checkpoint says that all is sent. A lock does no harm, nor does its folder.
        const kept = /^\/data\/(state\/checkpoint|(state|dead\.jsonl\.sluice)\/)?$/;
        const left = disk.paths().filter((name) => !kept.test(name) && !isLock(name));
        // A disk that refuses to clear away keeps what it has.
        if (left.length > 0 && io === 0) wrong.push(`Left behind: ${left.join(' ')}`);
        return [...receiver.wrong, ...wrong];
      }
      const folded = new ChangeOracle();
      for (const change of receiver.data) folded.add(change as Change<unknown>);
      return [...receiver.wrong, ...wrong, ...folded.judge(apis)];
    },
  };
}
