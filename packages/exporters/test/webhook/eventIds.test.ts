import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSource, exportTo, memoryState, watch, writeTo } from '@sluice/core';
import type { Change, ExportOptions, Sink, Source } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { from, lastValueFrom, mergeMap } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { Random } from '../../../../test/kit/random.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { ChangingForge } from '../../../core/test/define/changingForge.js';
import { ChangingTable, entriesOf, overlap } from '../../../core/test/define/changingTable.js';
import { openReceiver, webhookTo } from './forwarding.js';
import { thingSource, type Thing } from './thingSource.js';

interface Row {
  readonly id: string;
  readonly status: string;
}

interface Envelope<T> {
  readonly id: string;
  readonly data: T;
}

/** A receiver that keeps what arrives, in its order. */
async function openService<T>(): Promise<{ readonly url: string; readonly sent: Envelope<T>[] }> {
  const sent: Envelope<T>[] = [];
  const { url } = await openReceiver({
    script: ({ records }) => {
      for (const { body } of records) sent.push(JSON.parse(body) as Envelope<T>);
      return 'ok';
    },
  });
  return { url, sent };
}

const idsOf = (sent: readonly Envelope<unknown>[]): string[] => sent.map(({ id }) => id);

/** What a service has that is built as the guide says: it drops equal ids, and takes `after` by key. */
function heldBy(sent: readonly Envelope<Change<Row>>[]): Record<string, string> {
  const seen = new Set<string>();
  const held = new Map<string, string>();
  for (const { id, data } of sent) {
    if (seen.has(id)) continue;
    seen.add(id);
    if (data.after) held.set(data.key, data.after.status);
    else held.delete(data.key);
  }
  return Object.fromEntries(held);
}

/** Rows that the test sets, watched with state in a folder. */
class Watched {
  statuses: Record<string, string> = { a: 'active', b: 'active' };

  /** One poll. */
  poll<T extends object>(
    folder: string,
    sink: Sink<T>,
    toSource: (changes: Source<Change<Row>>) => Source<T>,
    options: Pick<ExportOptions, 'restart'> = {},
  ) {
    const state = fileState(folder);
    const rows = createSource<Row>({
      name: 'streams',
      identity: null,
      schema: { columns: ['id', 'status'], key: ({ id }) => id },
      fetch: () =>
        Promise.resolve({ rows: Object.entries(this.statuses).map(([id, status]) => ({ id, status })), next: 'end' }),
    });
    const changes = watch(rows, { every: 1, polls: 1, state, confirmations: 1 });
    return exportTo(toSource(changes), sink, { state, ...options }).run();
  }
}

const asTheyAre = (changes: Source<Change<Row>>) => changes;

describe('W2 the changes of a watch', () => {
  test.each([
    ['has another status', { a: 'error', b: 'active' }, { a: 'paused', b: 'active' }],
    ['goes back', { a: 'error', b: 'error' }, { a: 'active', b: 'paused' }],
    ['was gone', { b: 'active' }, { a: 'paused', b: 'active' }],
    ['was added', { a: 'error', b: 'active', c: 'active' }, { a: 'paused', b: 'active', c: 'error' }],
  ])(
    'have ids of their own after an older state is restored, where a row %s',
    { tags: ['slow'] },
    async (_, lost, later) => {
      const folder = temporaryFolder();
      const [state, backup] = [join(folder, 'state'), join(folder, 'backup')];
      const { url, sent } = await openService<Change<Row>>();
      const watched = new Watched();
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre);
      cpSync(state, backup, { recursive: true });
      watched.statuses = lost;
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre);
      rmSync(state, { recursive: true });
      cpSync(backup, state, { recursive: true });
      watched.statuses = later;
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre);
      expect(new Set(idsOf(sent)).size).toBe(sent.length);
      const differing = Object.entries(later).filter(([, status]) => status !== 'active');
      expect(heldBy(sent)).toMatchObject(Object.fromEntries(differing));
    },
  );

  test(
    'tell a service all rows once a restored state starts over, also one that is again as the backup has it',
    { tags: ['slow'] },
    async () => {
      const folder = temporaryFolder();
      const [state, backup] = [join(folder, 'state'), join(folder, 'backup')];
      const { url, sent } = await openService<Change<Row>>();
      const watched = new Watched();
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre);
      cpSync(state, backup, { recursive: true });
      watched.statuses = { a: 'error', b: 'active' };
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre);
      rmSync(state, { recursive: true });
      cpSync(backup, state, { recursive: true });
      watched.statuses = { a: 'active', b: 'active' };
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre);
      expect(heldBy(sent)).toEqual({ a: 'error', b: 'active' });
      await watched.poll(state, webhookTo<Change<Row>>({ url }), asTheyAre, { restart: true });
      expect(heldBy(sent)).toEqual(watched.statuses);
    },
  );

  test(
    'have ids of their own on two machines that have one state, after a restart, and after its loss',
    { tags: ['slow'] },
    async () => {
      const folder = temporaryFolder();
      const [one, two, three] = [join(folder, 'one'), join(folder, 'two'), join(folder, 'three')];
      const { url, sent } = await openService<Change<Row>>();
      const watched = new Watched();
      await watched.poll(one, webhookTo<Change<Row>>({ url }), asTheyAre);
      cpSync(one, two, { recursive: true });
      for (const [machine, status] of [
        [one, 'error'],
        [two, 'paused'],
        [one, 'active'],
      ] as const) {
        watched.statuses = { a: status, b: 'active' };
        await watched.poll(machine, webhookTo<Change<Row>>({ url }), asTheyAre);
        expect(heldBy(sent)['a']).toBe(status);
      }
      await watched.poll(one, webhookTo<Change<Row>>({ url }), asTheyAre, { restart: true });
      await watched.poll(three, webhookTo<Change<Row>>({ url }), asTheyAre);
      expect(sent.filter(({ data }) => data.type === 'initial')).toHaveLength(6);
      expect(new Set(idsOf(sent)).size).toBe(sent.length);
      expect(heldBy(sent)).toEqual(watched.statuses);
    },
  );

  test.each([
    ['rows that have fewer fields', ({ after }: Change<Row>): object[] => [{ status: after?.status }]],
    ['two records each', (change: Change<Row>): object[] => [change, { ...change, fields: [] }]],
    ['the same text', (): object[] => [{ text: 'Something has changed.' }]],
  ])('arrive all, where an operator makes them into %s', { tags: ['slow'] }, async (_, make) => {
    const state = join(temporaryFolder(), 'state');
    const { url, sent } = await openService();
    const watched = new Watched();
    let made = 0;
    const operator = mergeMap((change: Change<Row>) => {
      const records = make(change);
      made += records.length;
      return records;
    });
    for (const status of ['active', 'error', 'active', 'error', 'active']) {
      watched.statuses = { a: status, b: status };
      const sink = webhookTo<object>({ url }, { key: () => 'one order' });
      await watched.poll(state, sink, (changes) => changes.pipePages(operator, { version: '1' }));
    }
    expect(made).toBeGreaterThanOrEqual(10);
    expect(sent).toHaveLength(made);
    expect(new Set(idsOf(sent)).size).toBe(made);
  });
});

describe('W2 the rows of a listing', () => {
  const forward = async (statuses: readonly string[], options: ExportOptions): Promise<Envelope<Thing>[]> => {
    const { url, sent } = await openService<Thing>();
    for (const group of statuses) {
      const source = thingSource({ count: 2, pageOf: (_, things) => things.map((thing) => ({ ...thing, group })) });
      await exportTo(source, webhookTo({ url }), options).run();
    }
    return sent;
  };

  test.each([
    ['without state', (): ExportOptions => ({})],
    ['started over', (): ExportOptions => ({ state: memoryState(), restart: true })],
  ])('have ids of their own in each run %s, so a row that goes back is applied', async (_, options) => {
    const sent = await forward(['active', 'error', 'active'], options());
    expect(sent).toHaveLength(6);
    expect(new Set(idsOf(sent)).size).toBe(6);
  });

  test('are events of their own in each partition, and once where a partition lists them again', async () => {
    const { url, sent } = await openService<Thing>();
    const source = thingSource(
      { count: 3, pageSize: 1, pageOf: (page, things) => things.slice(Math.max(0, page - 1), page + 1) },
      { partitions: 2 },
    );
    await exportTo(source, webhookTo({ url })).run();
    expect(sent.map(({ data }) => data.n).toSorted()).toEqual([0, 0, 1, 1, 2, 2]);
    expect(new Set(idsOf(sent)).size).toBe(6);
  });

  test(
    'that an increment lists again unchanged have their id, and `full` begins anew',
    { tags: ['slow'] },
    async () => {
      const random = new Random(5);
      const table = new ChangingTable(() => random.next());
      for (let nth = 0; nth < 40; nth += 1) table.change();
      await table.listen();
      const { url, sent } = await openService<{ readonly id: number; readonly updated_at: string }>();
      const state = memoryState();
      const forwarded = async (incremental: ExportOptions['incremental']) => {
        sent.length = 0;
        await exportTo(entriesOf(table), webhookTo({ url }), { state, incremental }).run();
        return new Map(sent.map(({ id, data }) => [`${data.id} ${data.updated_at}`, id]));
      };
      const first = await forwarded(true);
      table.now += 3 * overlap;
      for (let nth = 0; nth < 3; nth += 1) table.change();
      const again = await forwarded({ from: '2026-01-01T00:00:00Z' });
      const common = [...again].filter(([row]) => first.has(row));
      expect(common.length).toBeGreaterThan(5);
      for (const [row, id] of common) expect([row, id]).toEqual([row, first.get(row)]);
      expect(again.size).toBeGreaterThan(common.length);
      const ids = new Set([...first.values(), ...again.values()]);
      const all = await forwarded({ full: true });
      expect([...all.values()].filter((id) => ids.has(id))).toEqual([]);
      // From now on these are known.
      const later = await forwarded({ from: '2026-01-01T00:00:00Z' });
      expect([...later].filter(([row]) => all.has(row)).every(([row, id]) => all.get(row) === id)).toBe(true);
    },
  );

  test(
    'of a parent have their id in the next increment, though parents before it are new',
    { tags: ['slow'] },
    async () => {
      const forge = new ChangingForge(4);
      for (const name of ['m', 'n']) forge.add(name);
      await forge.listen();
      const { url, sent } = await openService<{ readonly table: string; readonly id: number; readonly text: string }>();
      const state = memoryState();
      const forwarded = async () => {
        sent.length = 0;
        const incremental = { from: '2020-01-01T00:00:00Z' };
        await exportTo(forge.source(), webhookTo({ url }), { state, incremental }).run();
        return new Map(sent.map(({ id, data }) => [`${data.table} ${data.id} ${data.text}`, id]));
      };
      const first = await forwarded();
      forge.add('a');
      const second = await forwarded();
      expect(second.size).toBeGreaterThan(first.size);
      for (const [row, id] of first) expect([row, second.get(row)]).toEqual([row, id]);
    },
  );
});

test.each([
  ['without a schema', undefined],
  ['with a key', { columns: ['status'], key: ({ id }: Row) => id }],
])('W2 rows of writeTo %s are all sent, and those of another subscription have other ids', async (_, schema) => {
  const { url, sent } = await openService<Row>();
  const rows = ['up', 'down', 'up', 'down', 'up'].map((status) => ({ id: 'a', status }));
  const writing = from(rows).pipe(writeTo(webhookTo<Row>({ url }, { key: ({ id }) => id }), { schema }));
  await lastValueFrom(writing);
  await lastValueFrom(writing);
  expect(sent.map(({ data }) => data.status)).toEqual([...rows, ...rows].map(({ status }) => status));
  expect(new Set(idsOf(sent)).size).toBe(10);
});
