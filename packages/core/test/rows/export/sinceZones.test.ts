import { expect, test } from 'vitest';
import { casesOf } from '../../../../../scripts/testEffort.js';
import { Random } from '../../../../../test/kit/random.js';
import { exportTo, memoryState } from '../../../src/index.js';
import { nameMark } from '../../../src/rows/export/increments/increments.js';
import { type ZonedCase, zonedCase, type ZonedRow, ZonedTable } from '../../define/zonedTable.js';
import { serve } from '../../define/servedApi.js';
import { killedAtPage } from './killedAtPage.js';
import { recordingSink } from '../sink/recordingSink.js';

const day = 86_400_000;
const nameOf = ({ id, version }: ZonedRow): string => `${String(id)} ${String(version)}`;

/** Two to four runs over a table that changes between them and during them; the rows that a run lacks, or has twice. */
async function play(seed: number, table: ZonedTable, each: ZonedCase, baseUrl: string): Promise<string[]> {
  const random = new Random(`${String(seed)} runs`);
  const source = table.open(baseUrl);
  const state = memoryState();
  const exported = new Set<string>();
  const wrong: string[] = [];
  // Windows of an hour over a year would be thousands of requests.
  const longest = Math.min(40 * day, 30 * (each.step ?? 2 * day));
  const live = (ms: number): void => {
    const until = table.now + ms;
    for (let changes = random.int(0, 25); changes > 0; changes -= 1) {
      table.now += random.int(0, Math.floor((until - table.now) / changes));
      table.change();
    }
    if (random.chance(0.5)) table.now = until;
  };
  table.change();
  live(longest);
  for (let run = random.int(2, 4); run > 0; run -= 1) {
    const sink = recordingSink<ZonedRow>();
    const before = table.visible.map(nameOf);
    // Page numbers do not notice rows that move, and offsets give up after three times.
    let changes = each.paging === 'value' || each.paging === 'any' ? random.int(0, 3) : 0;
    table.beforeResponse = () => {
      if (changes <= 0 || random.chance(0.5)) return;
      changes -= 1;
      table.now += random.int(0, 20_000);
      table.change();
    };
    const exportRows = (): Promise<unknown> =>
      exportTo(source, sink, { state, incremental: true, commitEvery: 1, concurrency: each.concurrency }).run();
    const isDone = random.chance(0.3) && !(await killedAtPage(sink, random.int(1, 4), exportRows));
    if (!isDone) await exportRows();
    const names = sink.rows.map(nameOf);
    const again = names.filter((name, nth) => exported.has(name) || names.indexOf(name) < nth);
    if (again.length > 0) wrong.push(`run ${String(run)} has again ${again.join(', ')}`);
    for (const name of names) exported.add(name);
    const now = new Set(table.visible.map(nameOf));
    const missing = before.filter((name) => now.has(name) && !exported.has(name));
    if (missing.length > 0) wrong.push(`run ${String(run)} lacks ${missing.join(', ')}`);
    live(random.int(0, longest / 4));
  }
  return [...wrong, ...table.tooLong.map((request) => `a request is too long: ${request}`)];
}

/** Each takes some seconds. */
const seedsOfTest = 25;

test.each(Array.from({ length: casesOf(12) }, (_, nth) => nth * seedsOfTest))(
  'R7 an account in any zone: each run has all rows that were listed when it began, and no row twice, seeds from %i',
  { tags: ['slow'] },
  async (first) => {
    let current: ZonedTable | undefined;
    const { baseUrl, asked, requests } = await serve((url) => current?.answer(url) ?? { status: 500 });
    const failed: string[] = [];
    for (let seed = first; seed < first + seedsOfTest; seed += 1) {
      const random = new Random(seed);
      const each = zonedCase(random);
      current = new ZonedTable(each, random);
      asked.length = 0;
      requests.length = 0;
      const wrong = await play(seed, current, each, baseUrl).catch((error: unknown) => [String(error)]);
      if (wrong.length > 0) failed.push(`seed ${String(seed)}, ${JSON.stringify(each)}: ${wrong.join('; ')}`);
    }
    expect(failed).toEqual([]);
  },
);

const plain: ZonedCase = {
  zone: -7 * 3_600_000,
  isZoneKnown: false,
  type: 'datetime',
  write: undefined,
  isFunction: false,
  step: 30 * day,
  overlap: 60_000,
  paging: 'offsets',
  concurrency: 1,
  isInclusive: false,
  skew: 0,
};

test.each<[string, Partial<ZonedCase>, string]>([
  ['west of Greenwich, twelve hours before it', {}, '2026-03-04T17:59:00'],
  ['of dates, on the day before it', { type: 'date' }, '2026-03-04'],
  ['of a known zone, at its own time', { isZoneKnown: true }, '2026-03-04T22:59:00'],
  ['of instants, where it is', { type: 'instant' }, '2026-03-05T05:59:00Z'],
])('R7 a mark that took local times for UTC begins %s', async (_, given, wanted) => {
  const table = new ZonedTable({ ...plain, ...given }, new Random(1));
  const { baseUrl, asked } = await serve((url) => table.answer(url));
  const source = table.open(baseUrl);
  const state = memoryState();
  const run = (): Promise<unknown> => exportTo(source, recordingSink<ZonedRow>(), { state, incremental: true }).run();
  table.change();
  await run();
  // As an earlier version left it at 06:00.
  const markName = nameMark(source.info);
  const [value, known] = [
    given.type === 'date' ? '2026-03-05' : `2026-03-05T05:59:00${given.type === 'instant' ? 'Z' : ''}`,
    [],
  ];
  const mark = (await state.load(markName)) as { readonly run: string };
  await state.save(markName, { ...mark, v: 1 });
  await state.log(markName).replace([{ run: mark.run, parents: [[[], { value, known }]] }]);
  asked.length = 0;
  await run();
  expect(new URLSearchParams(asked[0]?.split('?')[1]).get('from')).toBe(wanted);
});
