import { type Change, exportTo, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import type { EvmStream } from '@sluice/streams';
import { map } from 'rxjs';
import { simulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import { lastChange, letChange } from './changing.js';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './job.js';
import type { Process } from './processes.js';
import { endpointOf, Receiver, receiverHost } from './receiver.js';
import type { LifeEvent } from './scenario.js';
import type { Apis } from './services.js';
import { telling } from './telling.js';

/** What the receiver gets of a change: itself, or what an operator makes of it. */
type Sent = Pick<Change<EvmStream>, 'key' | 'after'>;

/** A state of the watch: its folder, and what is still to be done for its receiver, as the guide says. */
interface Machine {
  readonly folder: string;
  /** A state that was restored has to, once, or a row that is again as the backup has it is no change for it. */
  startsOver: 'no' | 'in the end' | 'now';
  /** Changes that the sink was given, and that only this state can send, as texts. */
  readonly owed: Set<string>;
}

/**
 * Forwards the changes of the streams, from a state that is backed up and restored, copied to a second machine, lost, and started
 * over. The receiver does what the guide says: it drops equal ids, applies all else, and takes `after` by key.
 */
export function livesJob(job: JobOf<'lives'>, apis: Apis): RunningJob {
  const { pageSize, deliveries, every, changes, life, hasOperator } = job;
  const receiver = new Receiver({ refused: 0, orderedBy: undefined, areMachines: true });
  let disk = simulatedDisk();
  let run = 0;
  let folders = 0;
  const newFolder = (): string => `/data/state-${(folders += 1)}`;
  const created = (startsOver: Machine['startsOver'] = 'no'): Machine => ({
    folder: newFolder(),
    startsOver,
    owed: new Set(),
  });
  const machines: Machine[] = [created()];
  let at = 0;
  let backup: readonly (readonly [path: string, bytes: Uint8Array])[] | undefined;
  /** So many records came before a state was last replaced: nobody says of their rows that they are gone. */
  let forgotten = 0;
  const current = (): Machine => machines[at] ?? created();

  const filesOf = ({ folder }: Machine): NonNullable<typeof backup> =>
    disk
      .paths()
      .filter((path) => path.startsWith(`${folder}/`) && !path.endsWith('/'))
      .map((path) => [path.slice(folder.length), disk.bytes(path) ?? new Uint8Array()]);
  const copied = (files: NonNullable<typeof backup>, startsOver: Machine['startsOver']): Machine => {
    const machine = created(startsOver);
    for (const [path, bytes] of files) disk.put(`${machine.folder}${path}`, bytes);
    return machine;
  };
  const live = (event: LifeEvent): void => {
    if (event === 'restores' || event === 'loses') forgotten = receiver.data.length;
    switch (event) {
      case 'backs up':
        backup = filesOf(current());
        return;
      case 'restores':
        if (backup) machines[at] = copied(backup, 'in the end');
        return;
      case 'copies':
        if (machines.length < 3) machines.push(copied(filesOf(current()), current().startsOver));
        return;
      case 'switches':
        at = (at + 1) % machines.length;
        return;
      case 'loses':
        machines[at] = created();
        return;
      case 'starts over':
        current().startsOver = 'now';
        return;
      case 'goes on':
    }
  };

  const forward = async (machine: Machine, process: Process, how: { polls: number; restart: boolean }) => {
    const { client, fileSystem, claims, clock, random, signal } = process;
    const state = fileState(machine.folder, { fileSystem, claims, clock });
    const watched = watch(client.streams.list({ pageSize }), { every, clock, random, state, polls: how.polls });
    const sink = telling(
      webhook<Sent>({ ...endpointOf(process, deliveries), key: (change) => change.key }),
      ({ items }) => {
        for (const item of items) machine.owed.add(JSON.stringify(item));
      },
    );
    const asSent = map(({ key: row, after }: Change<EvmStream>): Sent => ({ key: row, after }));
    if (how.restart) {
      machine.owed.clear();
      forgotten = receiver.data.length;
    }
    const options = { state, clock, restart: how.restart };
    await (
      hasOperator
        ? exportTo(watched.pipePages(asSent, { version: '1' }), sink, options)
        : exportTo(watched, sink, options)
    ).run({ signal });
    if (how.restart) machine.startsOver = 'no';
  };

  return {
    services: new Map([[receiverHost, receiver.answer]]),
    mostUnderWay: deliveries,
    begin: letChange(apis, changes),
    onStart(mounted) {
      disk = mounted;
      live(life[run] ?? 'goes on');
      run += 1;
    },
    async run(process, { isLast }) {
      if (!isLast || process.clock.monotonic() <= lastChange) {
        const polls = isLast ? Math.ceil(lastChange / every) + 1 : 1 + (run % 4);
        await forward(current(), process, { polls, restart: current().startsOver === 'now' });
        return false;
      }
      // Two that have one state differ until both have polled.
      for (const machine of machines)
        await forward(machine, process, { polls: 8, restart: machine.startsOver !== 'no' });
      return true;
    },
    judge() {
      const wrong = [...receiver.wrong];
      const got = receiver.data as readonly Sent[];
      const arrived = new Set(got.map((change) => JSON.stringify(change)));
      const missing = machines.flatMap(({ owed }) => [...owed].filter((change) => !arrived.has(change)));
      if (missing.length > 0) wrong.push(`${missing.length} changes were never delivered, e.g. ${missing[0] ?? ''}`);
      const held = new Map<string, readonly [after: EvmStream | null, nth: number]>();
      for (const [nth, { key: id, after }] of got.entries()) held.set(id, [after, nth]);
      const listed = apis.streams.read(0, apis.streams.size).rows;
      const ids = new Set(listed.map(({ id }) => id));
      const kept = [...held].flatMap(([id, [after, nth]]) =>
        after !== null && (ids.has(id) || nth >= forgotten) ? [after] : [],
      );
      const [actual, expected] = [kept, listed].map((each) =>
        each
          .map((row) => JSON.stringify(row))
          .toSorted()
          .join('\n'),
      );
      if (actual !== expected)
        wrong.push(`The receiver does not have what the API lists: ${difference(actual ?? '', expected ?? '')}`);
      return wrong;
    },
  };
}
