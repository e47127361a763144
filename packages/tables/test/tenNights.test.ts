// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { createSource, exportTo, memoryState, systemClock, type Sink, type Source } from '@sluice/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { csv } from '../../exporters/src/csv.js';
import { jsonl } from '../../exporters/src/jsonl.js';
import { sqlite } from '../src/sqlite.js';

interface Row {
  readonly id: number;
  readonly owner: number;
}

const hour = 3_600_000;
const owners = 4;
const pageSize = 2;
const ids = 14;

/** A run of a night. */
interface Attempt {
  /** Hours after the run before. */
  readonly after: number;
  /** It ends at this page: the API fails, or the process is killed. `undefined`: it goes on to its end. */
  readonly endsAt: number | undefined;
  readonly isKilled: boolean;
  /** What happens to rows before it: a row goes to another owner, vanishes, or comes back. */
  readonly moves: readonly { readonly id: number; readonly owner: number | null }[];
}

const attempts = fc.record<Attempt>({
  // A supervisor that tries again, or the next night, which may be early or late.
  after: fc.oneof(fc.constantFrom(0.02, 1, 6), fc.integer({ min: 13, max: 24 }), fc.constant(24)),
  endsAt: fc.option(fc.integer({ min: 1, max: owners * 4 }), { nil: undefined }),
  isKilled: fc.boolean(),
  moves: fc.array(
    fc.record({ id: fc.integer({ min: 1, max: ids }), owner: fc.option(fc.integer({ min: 0, max: owners - 1 })) }),
    { maxLength: 3 },
  ),
});

interface Scenario {
  readonly nights: readonly Attempt[];
  readonly concurrency: number;
  readonly resumeWithin: number | undefined;
}

/** Rows move between nights only: what moves between two runs of one night may be in neither of its halves. */
function scenarios(): fc.Arbitrary<Scenario> {
  return fc
    .record({
      nights: fc.array(attempts, { minLength: 10, maxLength: 10 }),
      concurrency: fc.constantFrom(1, 3),
      resumeWithin: fc.constantFrom(undefined, 24.5 * hour, Infinity),
    })
    .map(({ nights, ...rest }) => ({
      ...rest,
      nights: nights.map((night) => (night.after > 12 ? night : { ...night, moves: [] })),
    }));
}

/** What lists the rows of each owner, page by page. */
class Api {
  readonly owners = new Map<number, number | null>();
  requests = 0;

  constructor() {
    for (let id = 1; id <= ids; id += 1) this.owners.set(id, id % owners);
  }

  get rows(): readonly Row[] {
    return [...this.owners].flatMap(([id, owner]) => (owner === null ? [] : [{ id, owner }]));
  }

  source(onPage: (nth: number) => void): Source<Row> {
    this.requests = 0;
    return createSource<Row>({
      name: 'rows',
      identity: null,
      partitions: owners,
      schema: { columns: ['id', 'owner'], types: { id: 'integer', owner: 'integer' }, key: ({ id }) => id },
      fetch: async ({ partition, at }) => {
        this.requests += 1;
        onPage(this.requests);
        const first = at && 'cursor' in at ? Number(at.cursor) : 0;
        const rows = this.rows.filter(({ owner }) => owner === partition);
        const last = first + pageSize;
        return Promise.resolve({
          rows: rows.slice(first, last),
          next: last < rows.length ? { cursor: String(last) } : ('end' as const),
        });
      },
    });
  }
}

/** A target that each night brings up to date. */
interface Target {
  readonly sink: Sink<Row>;
  readonly hasOwnState: boolean;
  /** Removes rows only if the walk that did not find them was in one piece. */
  readonly isTable: boolean;
  readonly read: () => readonly number[];
}

const targets: Readonly<Record<string, () => Target>> = {
  'a table that replace keeps up to date': () => {
    const file = join(temporaryFolder(), 'rows.sqlite');
    const read = (): number[] => {
      const database = new DatabaseSync(file);
      try {
        return database
          .prepare('SELECT id FROM rows')
          .all()
          .map(({ id }) => Number(id));
      } finally {
        database.close();
      }
    };
    const sink = sqlite<Row>({ path: file, table: 'rows', mode: 'replace', key: ['id'] });
    return { sink, hasOwnState: true, isTable: true, read };
  },
  'a CSV file that is overwritten': () => {
    const path = join(temporaryFolder(), 'rows.csv');
    const read = (): number[] => readFileSync(path, 'utf8').trimEnd().split('\r\n').slice(1).map(parseFloat);
    return { sink: csv<Row>({ path, ifExists: 'overwrite' }), hasOwnState: false, isTable: false, read };
  },
  'a JSON Lines file that is overwritten': () => {
    const path = join(temporaryFolder(), 'rows.jsonl');
    const read = (): number[] =>
      readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as Row).id);
    return { sink: jsonl<Row>({ path, ifExists: 'overwrite' }), hasOwnState: false, isTable: false, read };
  },
};

/** Ten nights, each judged by what the API listed from the begin of its oldest rows to its end. */
async function live({ nights, concurrency, resumeWithin }: Scenario, target: Target): Promise<void> {
  const api = new Api();
  const state = memoryState();
  let now = Date.UTC(2030, 0, 1);
  const run = async ({ endsAt, isKilled }: Omit<Attempt, 'moves' | 'after'>) => {
    const killed = new AbortController();
    const source = api.source((nth) => {
      if (nth !== endsAt) return;
      if (isKilled) killed.abort(new Error('killed'));
      throw new Error('503');
    });
    const flow = exportTo(source, target.sink, {
      ...(!target.hasOwnState && { state }),
      commitEvery: 1,
      stopWithin: 0,
      concurrency,
      resumeWithin,
      clock: { ...systemClock, now: () => now },
    });
    return flow.run({ signal: killed.signal }).catch(() => undefined);
  };
  await run({ endsAt: undefined, isKilled: false });
  let inTarget = new Set(target.read());
  for (const { after, moves, ...end } of [...nights, { after: 24, moves: [], endsAt: undefined, isKilled: false }]) {
    now += after * hour;
    const before = new Set(api.rows.map(({ id }) => id));
    for (const { id, owner } of moves) api.owners.set(id, owner);
    const listed = api.rows.map(({ id }) => id);
    const report = await run(end);
    const found = new Set(target.read());
    const throughout = listed.filter((id) => before.has(id));
    if (report === undefined) expect(found).toEqual(inTarget);
    // Nothing is removed that was listed before the night and in it.
    else if (target.isTable) expect(throughout.filter((id) => inTarget.has(id) && !found.has(id))).toEqual([]);
    // A night in one piece has what the API lists; one that went on with old rows says so.
    if (report && !report.oldRows?.removesNone) expect([...found].sort()).toEqual([...listed].sort());
    inTarget = found;
  }
}

test.each(Object.entries(targets))(
  'D2 D3 ten nights of which some fail half-way, while rows move, lose nothing of %s',
  async (_, open) => {
    await fc.assert(
      fc.asyncProperty(scenarios(), async (scenario) => live(scenario, open())),
      { numRuns: casesOf(18), timeout: 120_000 },
    );
  },
);
