import { isTransient, poll } from '@sluice/core';
import type { EvmStream } from '@sluice/streams';
import { lastChange, letChange } from './changing.js';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './job.js';
import { FetchedInFull } from './fetchedInFull.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';

/** Snapshots of a run. */
const snapshots = 6;

/** Polls the streams, with a consumer that takes its time, until nothing disturbs it. */
export function pollJob({ pageSize, every, pause, changes }: JobOf<'poll'>, { api }: Scenario, apis: Apis): RunningJob {
  const wrong: string[] = [];
  const check = (rows: readonly EvmStream[]): void => {
    const listed = apis.streams.read(0, apis.streams.size).rows;
    const [actual, expected = ''] = [rows, listed].map((all) => all.map((row) => JSON.stringify(row)).join('\n'));
    if (actual !== expected) wrong.push(`A snapshot is not the listing: ${difference(actual, expected)}`);
  };
  const full = new FetchedInFull();
  const conditional = api.tags !== undefined;
  return {
    onAnswer: (url, { status }) => full.got(url, status),
    begin: letChange(apis, changes),
    async run({ client, clock, random }, { isLast }) {
      const wasStill = clock.monotonic() > lastChange;
      const began = clock.monotonic();
      let taken = 0;
      if (wasStill && isLast && conditional) full.begin();
      const onFailure = (error: unknown): void => {
        if (!isTransient(error)) wrong.push(`It went on after an error that stays: ${String(error)}`);
      };
      for await (const { rows } of poll(client.streams.list({ pageSize }), {
        every,
        clock,
        random,
        onFailure,
        conditional,
      })) {
        taken += 1;
        if (wasStill) check(rows);
        const ticks = 1 + Math.floor((clock.monotonic() - began) / every);
        if (taken > ticks) wrong.push(`${taken} polls in the time of ${ticks}.`);
        if (taken === snapshots) break;
        await new Promise<void>((resolve) => clock.after(random() * pause, resolve));
      }
      return wasStill && isLast;
    },
    judge: () => [...wrong, ...full.wrong],
  };
}
