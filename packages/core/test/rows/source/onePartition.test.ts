import type { SandboxOptions } from '@sluice/sandbox';
import { lastValueFrom, map, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { ConfigError, createSource, SluiceError, type Page, type Position, type Source } from '../../../src/index.js';
import { createPlannedSource } from '../../../src/rows/source/source.js';
import { startHoldings, type Row } from '../../sandboxSource.js';

/** Four partitions of the sandbox's wallets, and the requests that it has received. */
async function startFour(options: SandboxOptions = {}) {
  const { list, sandbox } = await startHoldings({ holdings: 700, owners: 8, ...options });
  const { owners } = sandbox;
  const endOf = (nth: number) => Math.floor((nth * owners.length) / 4);
  const partitions = [0, 1, 2, 3].map((nth) => owners.slice(endOf(nth), endOf(nth + 1)));
  return { source: list({ pageSize: 30, partitions }), list, partitions, sandbox };
}

async function pagesOf(source: Source<Row>, options: Parameters<Source<Row>['pages']>[0]): Promise<Page<Row>[]> {
  return lastValueFrom(source.pages(options).pipe(toArray()), { defaultValue: [] });
}

const rowsOf = (pages: readonly Page<Row>[]): Row[] => pages.flatMap(({ items }) => items);

/** A source of three partitions in memory that must not be asked for anything. */
const untouched = {
  name: 'test.untouched',
  identity: null,
  schema: { columns: ['id'] },
  fetch: () => expect.unreachable(),
};

describe('a walk of one partition', () => {
  test('K3 emits the rows of that partition, and requests nothing beyond it', async () => {
    const { source, partitions, sandbox } = await startFour();
    for (const [partition, owners] of partitions.entries()) {
      const before = sandbox.counts.requests;
      const pages = await pagesOf(source, { partition, concurrency: 3, prefetch: 3 });
      expect(rowsOf(pages)).toEqual([...sandbox.holdingsOf(owners)]);
      expect(sandbox.counts.requests - before).toBe(pages.length);
      expect(new Set(pages.map((page) => page.partition))).toEqual(new Set([partition]));
      expect(pages.map(({ index }) => index)).toEqual(pages.map((_, at) => at));
      expect(pages.map(({ endsPartition }) => endsPartition)).toEqual(pages.map((_, at) => at === pages.length - 1));
    }
  });

  test('K3 resumes after any of its pages with the rest of the partition', async () => {
    const { source } = await startFour();
    const named = source.pipePages(
      map((row) => ({ name: row['name'] })),
      { version: '1' },
    );
    for (const walked of [source, named]) {
      const pages = await pagesOf(walked, { partition: 2 });
      expect(pages.length).toBeGreaterThanOrEqual(3);
      for (const [at, { position }] of pages.entries()) {
        const rest = await pagesOf(walked, { partition: 2, startAt: JSON.parse(JSON.stringify(position)) as Position });
        expect(rowsOf(rest)).toEqual(rowsOf(pages.slice(at + 1)));
        expect(rest.at(-1)?.position ?? position).toEqual(pages.at(-1)?.position);
      }
    }
  });

  test('K3 starts at a cursor within its partition', async () => {
    const { source } = await startFour();
    const pages = await pagesOf(source, { partition: 1 });
    const at = pages[1]?.position.begun['1'];
    if (at === undefined || !('cursor' in at.next)) return expect.unreachable();
    const rest = await pagesOf(source, { partition: 1, startAt: at.next.cursor });
    expect(rowsOf(rest)).toEqual(rowsOf(pages.slice(2)));
  });

  test('K3 gives a failure the position of its partition, from which it resumes', async () => {
    let isRefusing = false;
    const { source } = await startFour({ script: () => (isRefusing ? { kind: 'status', status: 403 } : undefined) });
    const whole = rowsOf(await pagesOf(source, { partition: 3 }));
    const rows: Row[] = [];
    let position: Position | undefined;
    try {
      for await (const page of source.pages({ partition: 3, prefetch: 0 })) {
        rows.push(...page.items);
        isRefusing = page.index === 1;
      }
    } catch (error) {
      position = SluiceError.is(error) ? error.position : undefined;
    }
    isRefusing = false;
    expect(position).toMatchObject({ before: 3, partition: 3, rows: rows.length });
    rows.push(...rowsOf(await pagesOf(source, { partition: 3, ...(position && { startAt: position }) })));
    expect(rows).toEqual(whole);
  });

  test('K3 is the whole walk where the plan has one partition', async () => {
    const { list } = await startHoldings({ holdings: 250 });
    const whole = await pagesOf(list(), {});
    expect(await pagesOf(list(), { partition: 0 })).toEqual(whole);
    const startAt = whole[0]?.position;
    expect(startAt).not.toHaveProperty('partition');
    expect(await pagesOf(list(), { partition: 0, ...(startAt && { startAt }) })).toHaveLength(whole.length - 1);
  });

  test('K3 refuses positions of other walks, before any request', async () => {
    const { source, sandbox } = await startFour();
    const [ofOne, ofAll] = await Promise.all([
      pagesOf(source, { partition: 1 }).then((pages) => pages[0]?.position),
      pagesOf(source, {}).then((pages) => pages.find(({ partition }) => partition === 1)?.position),
    ]);
    if (!ofOne || !ofAll) return expect.unreachable();
    const before = sandbox.counts.requests;
    const given = [
      { partition: 2, startAt: ofOne },
      { startAt: ofOne },
      { partition: 1, startAt: ofAll },
      { partition: 1, startAt: { ...ofOne, before: 0 } },
      { partition: 1, startAt: { ...ofOne, before: 2 } },
      { partition: 1, startAt: { ...ofOne, done: [[2, 2, 0] as const] } },
    ];
    for (const options of given) expect(() => source.pages(options)).toThrow(ConfigError);
    expect(() => source.pages({ startAt: ofOne })).toThrow(
      'startAt is not a position of this plan, which has 4 partition(s). It is one of partition 1 by itself.',
    );
    expect(sandbox.counts.requests).toBe(before);
  });

  test.each([
    [4, 'partition is 4, but the plan has 4 partition(s), from 0.'],
    [-1, 'partition is -1: it must be a whole number of at least 0.'],
    [1.5, 'partition is 1.5: it must be a whole number of at least 0.'],
  ])('K3 refuses partition %d of four', (partition, message) => {
    const source = createSource({ ...untouched, partitions: 4 });
    expect(() => source.pages({ partition })).toThrow(message);
  });

  test('K3 refuses maxRows, and partitions that are discovered', () => {
    const bounded = createSource({ ...untouched, partitions: 2, maxRows: 10 });
    expect(() => bounded.pages({ partition: 0 })).toThrow('maxRows and partition exclude each other');
    const discovering = createPlannedSource({ ...untouched, levels: 1 }, () => expect.unreachable());
    expect(() => discovering.pages({ partition: 0 })).toThrow('discovers its partitions while it is walked');
  });
});
