import { type Change, exportTo, watch } from '@sluice/core';
import { isChange } from '@sluice/core/kit';
import type { EvmStream } from '@sluice/streams';
import { mirrorSink } from '../../packages/tables/src/sql/mirror.js';
import { sqlReader } from '../../packages/tables/src/sql/sqlValue.js';
import { lastChange, letChange } from './changing.js';
import { difference } from './difference.js';
import { ChangeOracle } from './changeOracle.js';
import type { JobOf, RunningJob } from './job.js';
import type { Apis } from './services.js';
import type { Store } from './store.js';
import { telling } from './telling.js';

const columns = ['id', 'status', 'tag'] as const;

/** Watches the streams, and mirrors them in a table, or writes each of their versions into it. */
export function mirrorJob(job: JobOf<'mirror'>, apis: Apis, store: Store): RunningJob {
  const { pageSize, every, changes, hasKey, deletedAt, isHistory = false } = job;
  const wrong: string[] = [];
  const say = (what: string): void => {
    // The first sentences say enough.
    if (wrong.length < 5) wrong.push(what);
  };
  /** The changes of each generation. */
  const generations = new Map<number, readonly Change<EvmStream>[]>();
  const snapshotAt = (generation: number): readonly string[] => {
    const rows = new Map<string, EvmStream>();
    for (let nth = 1; nth <= generation; nth += 1)
      for (const { key, after } of generations.get(nth) ?? [])
        if (after === null) rows.delete(key);
        else rows.set(key, after);
    return [...rows.values()].map(textOf);
  };
  const given = (generation: number | undefined, items: readonly Change<EvmStream>[]): void => {
    if (generation === undefined) return;
    const known = generations.get(generation);
    if (known && JSON.stringify(known) !== JSON.stringify(items))
      say(`Generation ${generation} came again with other changes.`);
    generations.set(generation, items);
  };
  /** The snapshot at each poll of a history. */
  const polled = new Map<number, string>();
  const judgeVersions = (): void => {
    const versions = store.read(`SELECT ${columns.join()}, _valid_from, _valid_to FROM streams`);
    for (const { generation, at } of store.read('SELECT generation, at FROM streams_polls ORDER BY generation')) {
      const isThen = ({ _valid_from: from, _valid_to: to }: (typeof versions)[number]): boolean =>
        String(from) <= String(at) && (to === null || String(to) > String(at));
      const actual = versions.filter(isThen).map(textOf).toSorted().join('\n');
      const expected = polled.get(Number(generation));
      if (expected === undefined) say(`The history has a poll ${String(generation)} that no transaction has written.`);
      else if (actual !== expected)
        say(`At poll ${String(generation)} the history is not what was seen: ${difference(actual, expected)}`);
    }
  };
  let judged = '';
  const judgeTable = (statements?: readonly string[]): void => {
    const [record] = store.read("SELECT record FROM _sluice WHERE target = 'streams' AND name = 'record/mirror'");
    const { generation, poll }: MirrorRecord = record ? JSON.parse(String(record['record'])) : { generation: 0 };
    const now = `${generation} ${poll?.generation ?? 0}`;
    if (now === judged && statements?.every((sql) => !sql.includes('"streams"'))) return;
    judged = now;
    const where = deletedAt ? ' WHERE _deleted_at IS NULL' : isHistory ? ' WHERE _valid_to IS NULL' : '';
    const rows = store.read(`SELECT ${columns.join()} FROM streams${where}`);
    const [actual, expected = ''] = [rows.map(textOf), snapshotAt(generation)].map((all) => all.toSorted().join('\n'));
    if (actual !== expected) say(`The table is not generation ${generation}: ${difference(actual ?? '', expected)}`);
    if (!poll) return;
    polled.set(poll.generation, expected);
    judgeVersions();
  };
  return {
    begin: letChange(apis, changes),
    onCommit: judgeTable,
    async run({ client, life, clock, random, signal }, { isLast }) {
      const mirror = mirrorSink<EvmStream>(store.databaseOf(life), 'streams', {
        table: 'streams',
        columns,
        deletedAt,
        ...(isHistory && { mode: 'history' }),
        ...(hasKey && { key: ['id'] }),
      });
      const isStill = clock.monotonic() > lastChange;
      const polls = isStill ? 8 : Math.ceil(lastChange / every / 2) + 1;
      const watched = watch(client.streams.list({ pageSize }), { every, clock, random, state: mirror.state, polls });
      const told = telling(mirror, ({ generation, items }) =>
        given(
          generation,
          items.flatMap((item) => (isChange(item) ? [item] : [])),
        ),
      );
      await exportTo(watched, told, { clock }).run({ signal });
      return isStill && isLast;
    },
    judge() {
      judgeTable();
      const folded = new ChangeOracle();
      for (const [, items] of [...generations].toSorted(([a], [b]) => a - b))
        for (const change of items) folded.add(change);
      return [...wrong, ...folded.judge(apis)];
    },
    get wrongSoFar() {
      return wrong;
    },
  };
}

interface MirrorRecord {
  readonly generation: number;
  /** Of a history. */
  readonly poll?: { readonly generation: number };
}

const readText = sqlReader('text');

/** A row as both the API and the table have it. */
function textOf({ id, status, tag }: Readonly<Record<string, unknown>> | EvmStream): string {
  return JSON.stringify(
    [id, status, tag].map((value) => (value === null || value === undefined ? null : readText(String(value)))),
  );
}
