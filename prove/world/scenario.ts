import type { TableMode } from '../../packages/tables/src/sql/tableShape.js';
import { powerCuts, type DiskFaults, type restarts } from './disk.js';
import { drawDays, drawNights, type OddListing } from './drawListings.js';
import type { NetworkFaults } from './network.js';
import type { QuotaModel } from './quota.js';
import type { RepeatsModel } from './repeats.js';
import { Random } from '../../test/kit/random.js';
import type { Alteration, ApiModel } from './services.js';
import type { StoreModel } from './store.js';
import type { ChangingRow, Parent, ShelfModel } from './shelf.js';
import { type TableChange, tableOrders, tableOverlap, type TableOrder } from './table.js';
import type { ListedTable } from './tables.js';

/** A whole world, drawn from its seed. Everything in it can be made smaller, so that a failing one can be shrunk. */
export interface Scenario {
  readonly seed: number;
  readonly job: Job;
  readonly api: ApiModel;
  readonly limit: {
    readonly requests: number;
    readonly per: number;
    readonly concurrency: number;
    readonly burst?: number;
  };
  readonly network: NetworkFaults;
  readonly disk: DiskFaults;
  /** Of the jobs that write tables. */
  readonly store?: StoreModel;
  /** When the wall clock is set, and by how many ms. */
  readonly clockSteps: readonly (readonly [at: number, by: number])[];
  readonly kills: readonly Kill[];
}

/** When a process is killed, and what is on the disk then; or when it is asked to stop, and ends by itself. */
export type Kill = { readonly leaves: (typeof restarts)[number] | 'stopped' } & (
  | { readonly events: number }
  | {
      /** A call of the disk and a part of a path, e.g. `unlink .part`; or a part of a statement, e.g. `db COMMIT`. */
      readonly at: string;
      /** Not as the call takes effect, but as the process hears of it. */
      readonly isDone: boolean;
      /** At which of those calls. */
      readonly nth: number;
      /** So many events after it. */
      readonly later: number;
    }
);

/** What runs. */
export type Job =
  | {
      readonly kind: 'export';
      readonly format: 'csv' | 'jsonl';
      readonly gzip: boolean;
      readonly pageSize: number;
      readonly ownersPerRequest: number;
      readonly concurrency: number;
      readonly commitEvery?: number;
      /** Where the checkpoint is: beside the file, or in a folder elsewhere. */
      readonly state: 'beside' | 'apart';
      /** A second process that wants the same file. */
      readonly rival: boolean;
    }
  | {
      readonly kind: 'watch';
      readonly pageSize: number;
      readonly every: number;
      /** How the listing changes while it is watched. */
      readonly changes: readonly Alteration[];
    }
  | {
      readonly kind: 'poll';
      readonly pageSize: number;
      readonly every: number;
      /** Ms that the consumer takes for a snapshot, at most. */
      readonly pause: number;
      readonly changes: readonly Alteration[];
    }
  | {
      readonly kind: 'forward';
      readonly of: 'rows' | 'changes';
      readonly pageSize: number;
      readonly deliveries: number;
      readonly batch?: number;
      /** The share of records that become dead letters, which are replayed at the end. 0: the first would end the export. */
      readonly refused: number;
      /** Rows of an owner are sent in order. */
      readonly byOwner?: boolean;
      readonly every: number;
      readonly changes: readonly Alteration[];
    }
  | (ShelfModel & {
      readonly kind: 'children';
      readonly format: 'csv' | 'jsonl';
      readonly pageSize: number;
      readonly parentsPerPage: number;
      readonly parents: readonly Parent[];
      /** Whether the export goes on when a parent's rows are gone. */
      readonly isSkipping: boolean;
      readonly concurrency: number;
      readonly commitEvery?: number;
      readonly state: 'beside' | 'apart';
    })
  | {
      readonly kind: 'table';
      readonly mode: TableMode;
      /** Whether a column is named as the key, where the mode has one. */
      readonly hasKey: boolean;
      /** Exports after each other. */
      readonly exports: number;
      readonly pageSize: number;
      readonly ownersPerRequest: number;
      readonly concurrency: number;
      readonly commitEvery?: number;
      readonly rival: boolean;
    }
  | {
      readonly kind: 'mirror';
      readonly pageSize: number;
      readonly every: number;
      readonly hasKey: boolean;
      readonly deletedAt: boolean;
      /** Whether each version of a row stays. Absent: it does not. */
      readonly isHistory?: boolean;
      readonly changes: readonly Alteration[];
      readonly rival: boolean;
    }
  | {
      readonly kind: 'increment';
      readonly pageSize: number;
      readonly changes: readonly TableChange[];
      /** Each run writes a file of its own, even if the last one did not finish. */
      readonly renames: boolean;
      /** The tables, each with a listing of its own. Absent: there is one. */
      readonly tables?: readonly ListedTable[];
      /** Of the export. Absent: 1, and each page is committed. */
      readonly concurrency?: number;
      readonly commitEvery?: number;
      /** How the table is listed. Absent: each page is requested with the value of the last row. */
      readonly order?: TableOrder;
      /** Where a request has the value. Absent: in the query. */
      readonly place?: 'header' | 'form';
      /** The length of windows in ms, and whether the API takes their ends to be inclusive. Absent: there are none. */
      readonly windows?: { readonly step: number; readonly isInclusive: boolean };
      /** Each table is listed by kinds of rows. */
      readonly hasKinds?: boolean;
    }
  | {
      /** A forward of changes, whose state is restored, copied and lost. */
      readonly kind: 'lives';
      readonly pageSize: number;
      readonly deliveries: number;
      readonly every: number;
      readonly hasOperator: boolean;
      /** What becomes of the state before each run. */
      readonly life: readonly LifeEvent[];
      readonly changes: readonly Alteration[];
    }
  | OddListing;

/** What somebody does with the state of a forward before a run. */
const lifeEvents = ['goes on', 'backs up', 'restores', 'copies', 'switches', 'loses', 'starts over'] as const;
export type LifeEvent = (typeof lifeEvents)[number];

/** Worlds that are drawn apart, and can be played alone. */
export type SpecialKind = OddListing['kind'] | 'lives';

/** How a service of tags says 304. */
const tagging = ['always', 'not with all 304s'] as const;

/** Ends that leave the machine running. */
const mildEnds = ['killed', 'killed', 'stopped'] as const;

/** The calls at which a kill is worth most: those that change names, sync, or cut. */
const tender = {
  all: [
    'rename checkpoint',
    'unlink checkpoint',
    'sync new-checkpoint',
    'open checkpoint',
    'syncFolder /data',
    'unlink new-',
    'list /data',
    'removeFolder /data',
    'makeFolder /data',
    'unlink lock',
    'rename lock',
  ],
  export: [
    'link .part',
    'unlink .part',
    'unlink .part',
    'truncate .part',
    'sync .part',
    'open .part',
    'isOurs .part',
    'open rows-',
    'sync rows-',
    'unlink rows-',
    'truncate rows-',
  ],
  watch: [
    'write changes',
    'sync changes',
    'truncate changes',
    'open changes',
    'write watch.log',
    'sync watch.log',
    'rename watch.log',
    'truncate watch.log',
  ],
  increment: [
    'link .part',
    'unlink .part',
    'sync .part',
    'rename mark-',
    'sync new-mark-',
    'unlink new-mark-',
    'rename checkpoint',
    'unlink checkpoint',
    'truncate .part',
    'write mark-',
    'sync mark-',
    'open mark-',
    'write partitions',
    'sync partitions',
    'rename partitions',
    'unlink partitions',
    'truncate mark-',
  ],
  children: [
    'write partitions',
    'sync partitions',
    'rename partitions',
    'unlink partitions',
    'truncate partitions',
    'open partitions',
    'write partitions',
    'sync partitions',
    'link .part',
    'unlink .part',
    'truncate .part',
    'sync .part',
    'open rows-',
    'sync rows-',
    'unlink rows-',
  ],
  table: [
    'db COMMIT',
    'db COMMIT',
    'db COMMIT',
    'db COMMIT',
    'db BEGIN',
    'db UPDATE',
    'db INSERT',
    'db DELETE',
    'db COPY',
    'db CREATE',
    'db DROP',
    'db ALTER',
    'db pg_',
    'db INSERT INTO "rows"',
    'db DELETE FROM "rows"',
    'db UPDATE "rows"',
  ],
  mirror: [
    'db COMMIT',
    'db COMMIT',
    'db COMMIT',
    'db BEGIN',
    'db INSERT',
    'db DELETE',
    'db UPDATE',
    'db COPY',
    'db CREATE',
    'db "streams"',
    'db DROP',
    'db pg_',
  ],
  nights: [
    'db COMMIT',
    'db COMMIT',
    'db "rows"',
    'link .part',
    'unlink .part',
    'sync .part',
    'truncate .part',
    'rename checkpoint',
    'unlink checkpoint',
  ],
  days: ['db COMMIT', 'db COMMIT', 'link .part', 'rename mark-', 'sync new-mark-', 'unlink checkpoint', 'open mark-'],
  forward: ['write spool.log', 'sync spool.log', 'rename spool.log', 'truncate spool.log', 'write dead', 'sync dead'],
  lives: [
    'write spool.log',
    'sync spool.log',
    'rename spool.log',
    'write watch.log',
    'rename watch.log',
    'rename checkpoint',
  ],
} as const;

/** The share of the worlds whose listing is odd: those of many nights take as long as several others. */
const listingShare = 0.15;
/** The share of the worlds in which the state of a forward has a life. */
const livesShare = 0.02;

/** The world of a seed. @param only what runs in it; default: anything */
export function scenarioOf(seed: number, only?: SpecialKind): Scenario {
  const random = new Random(`${seed} scenario`);
  const job = lives(seed, only) ?? oddListing(seed, only) ?? withKinds(seed, jobOf(random));
  const share = (max: number): number => (random.chance(0.5) ? random.next() * max : 0);
  const owners = random.int(1, 6);
  // Then a run fails before its first commit, and has to clear away what it began.
  const isDownAtStart = job.kind === 'export' && random.chance(0.1);
  return {
    seed,
    job,
    api: {
      seed,
      owners,
      holdings: random.int(owners, job.pageSize * 25),
      streams: random.int(0, job.pageSize * 3),
      // Only an export can walk a partition again whose cursor expired.
      cursorTtl:
        (job.kind === 'export' || job.kind === 'table') && random.chance(0.15) ? random.int(20_000, 60_000) : null,
      statusEvery: random.int(2_000, 30_000),
      ...((job.kind === 'watch' || job.kind === 'poll') && random.chance(0.5) && { tags: random.pick(tagging) }),
      ...(random.chance(job.kind === 'children' ? 0.5 : job.kind === 'increment' ? 0.3 : 0) && {
        quota: quotaOf(random),
      }),
      ...(['export', 'children', 'watch', 'table', 'mirror'].includes(job.kind) &&
        random.chance(0.15) && { repeats: repeatsOf(random) }),
      ...(job.kind === 'increment' && accessOf(seed)),
    },
    limit: {
      requests: random.int(2, 10),
      per: 1_000,
      concurrency: random.int(1, 4),
      ...(random.chance(0.3) && { burst: 2 }),
    },
    network: {
      ...networkOf(random, { limited: job.kind === 'forward' || job.kind === 'lives' ? 0.4 : 0.15, isDownAtStart }),
      ...connectionsOf(seed),
      ...busyProcessOf(seed),
    },
    ...(isStored(job) && { store: storeOf(random) }),
    disk: !isStored(job) && random.chance(0.25) ? { io: share(0.01), full: share(0.02) } : { io: 0, full: 0 },
    // A receiver tells by the time what is older than a new beginning.
    clockSteps:
      job.kind !== 'lives' && random.chance(0.2) ? [[random.int(0, 20_000), random.int(-3_600_000, 3_600_000)]] : [],
    kills: [
      ...(isDownAtStart || (job.kind === 'export' && random.chance(0.25)) ? [killAtUnlink(random)] : []),
      ...Array.from({ length: random.int(1, 5) }, () => killsOf(random, job)).flat(),
    ],
  };
}

/** A forward whose state has a life, drawn apart: all other worlds stay as they were. */
function lives(seed: number, only: SpecialKind | undefined): Job | undefined {
  const random = new Random(`${seed} lives`);
  if (only === undefined ? !random.chance(livesShare) : only !== 'lives') return undefined;
  return {
    kind: 'lives',
    pageSize: random.int(3, 20),
    deliveries: random.int(1, 4),
    every: random.int(1_000, 3_000),
    hasOperator: random.chance(0.3),
    life: Array.from({ length: random.int(3, 12) }, () => random.pick(lifeEvents)),
    changes: alterations(random),
  };
}

/** A job whose listing is odd, drawn apart: all other worlds stay as they were. */
function oddListing(seed: number, only: SpecialKind | undefined): OddListing | undefined {
  const random = new Random(`${seed} odd listing`);
  const isOdd = random.chance(listingShare);
  const kind = random.pick(['nights', 'days'] as const);
  if (!isOdd && only === undefined) return undefined;
  return (only ?? kind) === 'nights' ? drawNights(random) : drawDays(random);
}

/** The job with kinds of listings of their own, which are drawn apart: all else of a seed stays as it was. */
function withKinds(seed: number, job: Job): Job {
  const random = new Random(`${seed} kinds`);
  if (job.kind === 'children') {
    const roomSize = random.chance(0.4) ? { roomSize: random.int(1, 10) } : {};
    if (random.chance(0.5)) return { ...job, ...roomSize };
    // A page is judged by its size, or by its rows, so those that come and go would end a listing.
    const parents = job.parents.map(({ changing: _, ...parent }) => parent);
    return { ...job, ...roomSize, parents, end: random.pick(['short-page', 'no-rows', 'repeated-page', 'one-page']) };
  }
  if (job.kind !== 'increment' || random.chance(0.4)) return job;
  const order = random.chance(0.7) ? { order: random.pick(tableOrders) } : {};
  // Some pages then have only rows from before a mark.
  const small = order.order === 'any' ? { pageSize: random.int(1, 5) } : {};
  const isSent = order.order === undefined || order.order === 'offsets';
  return {
    ...job,
    ...order,
    ...small,
    ...(isSent && random.chance(0.5) && { place: random.pick(['header', 'form'] as const) }),
  };
}

/** What lies between a client and its rows. */
function accessOf(seed: number): Pick<ApiModel, 'isMoved' | 'tokenLife'> {
  const random = new Random(`${seed} access`);
  return {
    ...(random.chance(0.2) && { isMoved: true }),
    ...(random.chance(0.3) && { tokenLife: random.pick<number | 'unknown'>([5_000, 40_000, 'unknown']) }),
  };
}

/** A process that is often busy while its API refuses much: pauses begin before requests are written. */
function busyProcessOf(seed: number): Partial<NetworkFaults> {
  return new Random(`${seed} busy process`).chance(0.1) ? { opening: 600, busyWrites: 0.5, limited: 0.3 } : {};
}

/** How long it takes until a request can be written. */
export function connectionsOf(seed: number): Pick<NetworkFaults, 'opening' | 'busyWrites'> {
  const random = new Random(`${seed} connections`);
  if (random.chance(0.4)) return {};
  return { opening: random.pick([0, 40, 150, 600, 2_500]), busyWrites: random.chance(0.5) ? random.next() * 0.1 : 0 };
}

/** @param how the chance that many requests are refused, and whether nobody can be connected to at first */
export function networkOf(random: Random, how = { limited: 0.15, isDownAtStart: false }): NetworkFaults {
  const share = (max: number): number => (random.chance(0.5) ? random.next() * max : 0);
  return {
    lost: share(0.1),
    unanswered: share(0.1),
    cut: share(0.05),
    busy: share(0.1),
    // Pauses that overlap show most where many requests are under way at once.
    limited: random.chance(how.limited) ? 0.3 : share(0.05),
    slow: random.chance(0.1) ? 0.06 : 0,
    stale: share(0.3),
    parts: random.chance(0.15) ? random.pick([0.05, 0.3, 1]) : 0,
    broken: random.pick([0, 0.1, 0.5]),
    outages: how.isDownAtStart ? [[0, 90_000]] : random.chance(0.2) ? [outage(random)] : [],
  };
}

function jobOf(random: Random): Job {
  const kind = random.next();
  if (kind < 0.35) return exportJob(random);
  if (kind < 0.5) return watchJob(random);
  if (kind < 0.65) return forwardJob(random);
  if (kind < 0.72) return childrenJob(random);
  if (kind < 0.84) return tableJob(random);
  if (kind < 0.89) return mirrorJob(random);
  return kind < 0.97 ? incrementJob(random) : pollJob(random);
}

/** Whether a job writes into a database, and nothing on the disk. */
function isStored(job: Job): boolean {
  if (job.kind === 'nights' || job.kind === 'days') return job.target !== 'csv' && job.target !== 'jsonl';
  return job.kind === 'table' || job.kind === 'mirror';
}

function tableJob(random: Random): Job {
  const mode = random.pick<TableMode>(['fail', 'append', 'merge', 'replace']);
  return {
    kind: 'table',
    mode,
    hasKey: random.chance(0.5),
    exports: mode === 'fail' ? 1 : random.int(1, 3),
    pageSize: random.int(3, 20),
    ownersPerRequest: random.int(1, 3),
    concurrency: random.int(1, 4),
    ...(random.chance(0.6) && { commitEvery: random.pick([1, 2, 5]) }),
    rival: random.chance(0.2),
  };
}

function mirrorJob(random: Random): Job {
  const job = {
    kind: 'mirror',
    pageSize: random.int(3, 20),
    every: random.int(1_000, 6_000),
    hasKey: random.chance(0.5),
    deletedAt: random.chance(0.4),
    changes: alterations(random),
    rival: random.chance(0.2),
  } as const;
  return random.chance(0.5) ? { ...job, deletedAt: false, isHistory: true } : job;
}

function storeOf(random: Random): StoreModel {
  const share = (max: number): number => (random.chance(0.4) ? random.next() * max : 0);
  const crash = (): readonly [number, number] => [
    random.int(0, 40_000),
    random.int(50, random.pick([500, 5_000, 60_000])),
  ];
  return {
    cut: share(0.03),
    unanswered: share(0.03),
    late: share(0.02),
    lostCommits: share(0.3),
    conflicts: share(0.03),
    unnoticed: share(1),
    lockTimeout: random.chance(0.2) ? random.int(100, 5_000) : null,
    crashes: Array.from({ length: random.chance(0.4) ? random.int(1, 3) : 0 }, crash),
    hasPooler: random.chance(0.4),
    breakLock: random.chance(0.2),
  };
}

function forwardJob(random: Random): Job {
  const of = random.pick<'rows' | 'changes'>(['rows', 'changes']);
  const isBatched = random.chance(0.3);
  return {
    kind: 'forward',
    of,
    pageSize: random.int(3, 20),
    deliveries: random.int(1, 8),
    every: random.int(1_000, 6_000),
    changes: alterations(random),
    ...(isBatched && { batch: random.int(2, 10) }),
    refused: of === 'rows' && !isBatched && random.chance(0.5) ? random.next() * 0.2 : 0,
    byOwner: of === 'rows' && random.chance(0.5),
  };
}

function exportJob(random: Random): Job {
  return {
    kind: 'export',
    format: random.pick(['csv', 'jsonl']),
    gzip: random.chance(0.2),
    pageSize: random.int(3, 20),
    ownersPerRequest: random.int(1, 3),
    concurrency: random.int(1, 4),
    ...(random.chance(0.6) && { commitEvery: random.pick([1, 2, 5]) }),
    state: random.pick(['beside', 'apart']),
    rival: random.chance(0.1),
  };
}

function watchJob(random: Random): Job {
  return {
    kind: 'watch',
    pageSize: random.int(3, 20),
    every: random.int(1_000, 6_000),
    changes: alterations(random),
  };
}

function pollJob(random: Random): Job {
  const pageSize = random.int(3, 20);
  const every = random.int(500, 6_000);
  return { kind: 'poll', pageSize, every, pause: random.pick([1, 1_000, 20_000]), changes: alterations(random) };
}

function incrementJob(random: Random): Job {
  const rows = random.int(1, 40);
  const change = (at: number): TableChange => ({
    at,
    id: random.int(1, rows),
    late: random.chance(0.2) ? random.int(1, tableOverlap - 1_500) : 0,
  });
  const first = Array.from({ length: random.int(0, 60) }, () => change(random.int(0, 2_000)));
  const later = Array.from({ length: random.int(0, 60) }, () => change(random.int(0, 25_000)));
  const changes = [...first, ...later].sort((a, b) => a.at - b.at);
  const plain = { kind: 'increment', pageSize: random.int(6, 20), renames: random.chance(0.5), changes } as const;
  const isSingle = random.chance(0.4);
  const windows = { step: 1_000 * random.int(5, 20), isInclusive: random.chance(0.5) };
  const job = { ...plain, ...(random.chance(0.4) && { windows }), ...(random.chance(0.3) && { hasKinds: true }) };
  if (isSingle) return job;
  const tables = Array.from({ length: random.int(1, 6) }, (_, nth) => listedTable(random, nth + 1));
  return {
    ...job,
    tables,
    concurrency: random.int(1, 3),
    commitEvery: random.pick([1, 1, 2, 5]),
    changes: changes.map((each) => ({ ...each, table: random.int(1, tables.length) })),
  };
}

function listedTable(random: Random, id: number): ListedTable {
  const at = random.int(0, 20_000);
  return {
    id,
    ...(random.chance(0.3) && { from: random.int(0, 20_000) }),
    ...(random.chance(0.15) && { until: random.int(0, 25_000) }),
    ...(random.chance(0.3) && { refused: [at, at + random.int(500, 10_000)] as const }),
  };
}

function childrenJob(random: Random): Job {
  const isSkipping = random.chance(0.5);
  const areChanging = random.chance(0.5);
  const pageSize = random.int(2, 10);
  const count = random.int(1, 30);
  const parentOf = (id: number): Parent => {
    const isMoving = random.chance(0.3);
    const rows = random.chance(0.2) ? 0 : random.int(1, pageSize * 3);
    const changing = areChanging ? changingRows(random, rows) : [];
    return {
      id,
      rows,
      ...(changing.length > 0 && { changing }),
      ...(isSkipping && random.chance(0.2) && { goneAt: random.chance(0.5) ? 0 : random.int(1, 20_000) }),
      ...(isMoving && random.chance(0.6) && { from: random.int(0, 15_000) }),
      ...(isMoving && random.chance(0.6) && { until: random.int(0, 20_000) }),
    };
  };
  return {
    kind: 'children',
    format: random.pick(['csv', 'jsonl']),
    pageSize,
    isSkipping,
    parentsPerPage: random.int(2, 8),
    concurrency: random.int(1, 4),
    state: random.pick(['beside', 'apart']),
    ...(random.chance(0.6) && { commitEvery: random.pick([1, 2, 5]) }),
    parents: Array.from({ length: count }, (_, nth) => parentOf(nth + 1)),
  };
}

/** Rows that come, change or go together, in blocks: one that fills a page leaves it empty. */
function changingRows(random: Random, rows: number): readonly ChangingRow[] {
  const changing = new Map<number, ChangingRow>();
  for (let blocks = rows === 0 ? 0 : random.int(0, 2); blocks > 0; blocks -= 1) {
    const first = random.int(0, rows - 1);
    const end = Math.min(rows, first + random.int(1, random.pick([1, 3, rows])));
    const times = {
      ...(random.chance(0.5) && { from: random.int(0, 10_000) }),
      ...(random.chance(0.5) && { until: random.int(0, random.pick([500, 20_000])) }),
      ...(random.chance(0.5) && { changedAt: random.int(0, 15_000) }),
    };
    for (let n = first; n < end; n += 1) changing.set(n, { n, ...times });
  }
  return [...changing.values()];
}

function quotaOf(random: Random): QuotaModel {
  return {
    requests: random.int(2, 30),
    window: random.int(4, 40) * 1_000,
    status: random.pick<403 | 429>([403, 429]),
    reset: random.pick<'in' | 'at'>(['in', 'at']),
    rounds: random.pick<'up' | 'down'>(['up', 'down']),
  };
}

function repeatsOf(random: Random): RepeatsModel {
  const from = random.int(0, random.pick([0, 1_000, 20_000]));
  return {
    from,
    until: random.chance(0.3) ? null : from + random.int(500, 20_000),
    share: random.pick([1, 0.2, 0.05]),
    page: random.pick<'before' | 'first'>(['before', 'first']),
  };
}

function alterations(random: Random): readonly Alteration[] {
  const alteration = (): Alteration => {
    const at = random.int(0, 25_000);
    switch (random.int(0, 3)) {
      case 0:
        return { at, what: 'add' };
      case 1:
        return { at, what: 'remove', nth: random.int(0, 99) };
      case 2:
        return { at, what: 'rename', nth: random.int(0, 99) };
      default:
        return { at, what: 'move', by: random.int(1, 5) };
    }
  };
  return Array.from({ length: random.int(0, 12) }, alteration).sort((a, b) => a.at - b.at);
}

function outage(random: Random): readonly [number, number] {
  const from = random.int(0, 20_000);
  return [from, from + random.pick([2_000, 20_000, 90_000])];
}

/** A kill, or two in a row: what a killed process left unsynced is only lost when the power goes then. */
function killsOf(random: Random, job: Job): readonly Kill[] {
  const kill = killOf(random, job);
  if (!random.chance(0.25)) return [kill];
  const isRenamed = { at: 'rename checkpoint', isDone: random.chance(0.5), nth: random.int(1, 12), later: 0 };
  const first: Kill = random.chance(0.5) ? { leaves: 'killed', ...isRenamed } : { ...kill, leaves: 'killed' };
  return [first, { ...killOf(random, job), leaves: random.pick(powerCuts) }];
}

/** Around the moment at which `.part` is put in place, or cleared away: two names change, and both must last. */
function killAtUnlink(random: Random): Kill {
  const later = random.int(0, random.pick([1, 12]));
  return { leaves: random.pick(powerCuts), at: 'unlink .part', isDone: true, nth: 1, later };
}

function killOf(random: Random, { kind }: Job): Kill {
  const leaves = random.chance(0.3) ? random.pick(mildEnds) : random.pick(powerCuts);
  if (random.chance(0.3)) return { leaves, events: random.int(1, random.pick([30, 150, 500])) };
  return {
    leaves,
    at: random.pick(kind === 'poll' || random.chance(0.5) ? tender.all : tender[kind]),
    isDone: random.chance(0.5),
    nth: random.int(1, random.pick([1, 1, 3, 20])),
    later: random.chance(0.5) ? 0 : random.int(1, random.pick([3, 15, 60])),
  };
}
