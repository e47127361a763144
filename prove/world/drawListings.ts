import type { TableMode } from '../../packages/tables/src/sql/tableShape.js';
import type { Random } from '../../test/kit/random.js';
import { type AccountChange, type AccountModel, accountTimes, daysBefore } from './account.js';
import type { CatalogChange, CatalogModel, ListingFault, Night } from './catalog.js';

/** A job whose API lists its rows in ways that nobody expects. */
export type OddListing =
  | (CatalogModel & {
      readonly kind: 'nights';
      readonly target: 'csv' | 'jsonl' | TableMode | 'history' | 'mirror';
      readonly nights: readonly Night[];
      readonly pageSize: number;
      readonly concurrency: number;
      readonly commitEvery?: number;
      /** Whether a run that fails is followed by another one in the same night. */
      readonly rerun: boolean;
      readonly requireTotal?: boolean;
      /** Whether the listing says what identifies a row. */
      readonly hasKey: boolean;
      /** The key column of the table. */
      readonly tableKey?: 'id' | 'label';
    })
  | (AccountModel & {
      readonly kind: 'days';
      /** `replace` exports all entries each time. */
      readonly target: 'jsonl' | 'append' | 'merge' | 'replace';
      /** How a request has a time, if not as the entries have it. */
      readonly write?: 'date' | 'datetime' | 'minute';
      readonly walk: 'value' | 'offsets' | 'one page';
      /** In ms. */
      readonly overlap: number;
      readonly windows?: number;
      readonly pageSize: number;
      readonly changes: readonly AccountChange[];
      /** Ms from one run to the next. */
      readonly gaps: readonly number[];
    });

const hour = 3_600_000;

/** Ten nights of a catalog, of which some have wrong pages, and some fail half-way. */
export function drawNights(random: Random): OddListing {
  const target = random.pick([
    'csv',
    'jsonl',
    'fail',
    'append',
    'merge',
    'replace',
    'replace',
    'history',
    'mirror',
  ] as const);
  const shelves = Array.from({ length: random.int(1, 3) }, () => random.int(0, 25));
  const paging = random.pick<CatalogModel['paging']>(['cursor', 'link', 'page', 'page count', 'offset']);
  const counts = random.pick<CatalogModel['counts']>(['rows', 'rows', 'listed', 'nothing']);
  const isKeyed = target === 'merge' || target === 'replace' || target === 'history';
  // Without a key of the listing, rows can only be counted, and merged by the columns that identify them.
  const hasKey = target === 'mirror' || random.chance(0.85);
  const keys = hasKey ? (['id', 'id', 'label'] as const) : (['id'] as const);
  const tableKey = isKeyed && !(hasKey && random.chance(0.3)) ? random.pick(keys) : undefined;
  const rows = shelves.reduce((sum, count) => sum + count, 0);
  const totals = random.pick<boolean | undefined>([undefined, undefined, false, true]);
  const requireTotal = target === 'mirror' || (totals && counts === 'nothing') ? undefined : totals;
  return {
    kind: 'nights',
    target,
    shelves,
    paging,
    counts,
    pageSize: random.int(3, 10),
    concurrency: random.int(1, 3),
    ...(random.chance(0.7) && { commitEvery: random.pick([1, 2, 5]) }),
    ...(tableKey === 'label' && random.chance(0.3) && { labels: random.int(1, rows + 1) }),
    ...(tableKey !== undefined && { tableKey }),
    ...(requireTotal !== undefined && { requireTotal }),
    hasKey,
    rerun: random.chance(0.5),
    nights: Array.from({ length: target === 'fail' ? 3 : 10 }, () => drawNight(random, shelves)),
  };
}

function drawNight(random: Random, shelves: readonly number[]): Night {
  const shelf = (): number => random.int(0, shelves.length - 1);
  const change = (): CatalogChange => {
    const nth = random.int(0, 999);
    const what = random.pick(['add', 'remove', 'edit', 'move', 'move'] as const);
    if (what === 'add') return { what, shelf: shelf() };
    return what === 'move' ? { what, nth, shelf: shelf() } : { what, nth };
  };
  return {
    changes: Array.from({ length: random.int(0, 5) }, change),
    faults: random.chance(0.35) ? Array.from({ length: random.int(1, 2) }, () => drawFault(random, shelf())) : [],
    ...(random.chance(0.3) && { failsAfter: random.int(1, random.pick([5, 20])) }),
  };
}

function drawFault(random: Random, shelf: number): ListingFault {
  const rows = random.int(1, 3);
  const page = random.int(1, 4);
  const by = random.int(1, 5) * (random.chance(0.5) ? 1 : -1);
  return random.pick<ListingFault>([
    { shelf, what: 'is empty' },
    { shelf, what: 'repeats', page, rows },
    { shelf, what: 'repeats', page, rows },
    { shelf, what: 'overlaps', page, rows: random.chance(0.5) ? 1 : rows },
    { shelf, what: 'leaves out', nth: random.int(0, 20), rows },
    { shelf, what: 'miscounts', page: random.int(0, 2), by },
  ]);
}

/** Some days of an account somewhere on earth, with windows and an overlap of any proportion. */
export function drawDays(random: Random): OddListing {
  const times = random.pick(accountTimes);
  const unit = times === 'date' ? 24 * hour : hour;
  const step = unit * random.int(1, random.pick(times === 'date' ? [2, 10] : [24, 240]));
  const windows = random.chance(0.6) ? Math.max(step, 6 * hour) : undefined;
  const overlap = Math.round((windows ?? step) * random.pick([0, 0.1, 0.5, 0.75, 1, 1, 1.5, 3]));
  const formats = ['date', 'date', 'minute', 'datetime'] as const;
  const write = times !== 'date' && random.chance(0.5) ? random.pick(formats) : undefined;
  // Otherwise many rows may have the same value, which fills a page.
  const isByValue = times !== 'date' && write === undefined && random.chance(0.3);
  const walk = isByValue ? 'value' : random.pick(['one page', 'offsets'] as const);
  const gaps = Array.from({ length: random.int(2, 6) }, () => hour * random.int(1, random.pick([6, 24, 72])));
  const last = gaps.reduce((sum, gap) => sum + gap, 0);
  const change = (at: number): AccountChange => ({
    at,
    id: random.int(1, 40),
    late: random.chance(0.3) ? Math.floor(random.next() * 0.9 * overlap) : 0,
  });
  const first = Array.from({ length: random.int(0, 25) }, () => change(-random.int(0, daysBefore * 0.6)));
  const later = Array.from({ length: random.int(5, 40) }, () => change(random.int(0, last)));
  return {
    kind: 'days',
    target: random.pick(['jsonl', 'append', 'merge', 'replace'] as const),
    times,
    zone: 30 * random.int(-24, 28),
    isInclusive: random.chance(0.5),
    walk,
    overlap,
    ...(write !== undefined && { write }),
    ...(windows !== undefined && { windows }),
    pageSize: random.int(5, 20),
    gaps,
    changes: [...first, ...later],
  };
}
