import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { PollGaps, unseenTime } from '../src/watch/pollGaps.js';
import { historySql, type MadeHistory, makeHistory, timeAt, type Version } from './histories.js';
import { sluice } from './runSluice.js';

/** A poll every ten minutes for ten hours, without those from 200 to 300. */
const polls = Array.from({ length: 61 }, (_, nth) => nth * 10).filter((at) => at <= 200 || at >= 300);

function versionsOf(id: string, ...parts: readonly (readonly [status: string, from: number, message?: string])[]) {
  return parts.map(([status, from, statusMessage], nth): Version => {
    const next = parts[nth + 1];
    return {
      id,
      status,
      from,
      generation: nth + 1,
      ...(next && { to: next[1], ended: 'changed' }),
      fields: { tag: `tag ${id}`, ...(statusMessage !== undefined && { statusMessage }) },
    };
  });
}

const [, ...goneAfter] = versionsOf('5', ['active', 0], ['error', 100]);
const made: MadeHistory = {
  polls,
  versions: [
    ...versionsOf('1', ['active', 0]),
    // One outage with two statuses, and a gap of the polls in it.
    ...versionsOf('2', ['active', 0], ['error', 180, 'HTTP 503'], ['terminated', 190], ['active', 310]),
    ...versionsOf('3', ['active', 0], ['error', 500, '<b>late</b>']),
    ...versionsOf('4', ['paused', 0], ['failed', 20], ['paused', 50]),
    ...goneAfter.map((version): Version => ({ ...version, to: 130, ended: 'removed' })),
  ],
};

/** The cells of a table of the page, by its heading. */
function rowsUnder(page: string, heading: string): string[][] {
  const [, content = ''] = new RegExp(`<h2>${heading}</h2>([^]*?)</section>`).exec(page) ?? [];
  return [...content.matchAll(/<tr>(.*)<\/tr>/g)].map(([, row = '']) =>
    row
      .replaceAll(/<(?:t[hd]|small)[^>]*>/g, '\n')
      .replaceAll(/<[^>]*>/g, '')
      .split('\n')
      .filter((cell) => cell !== ''),
  );
}

function linesUnder(
  page: string,
  heading: string,
): { readonly label: string; readonly chart: string; readonly end: string }[] {
  const [, content = ''] = new RegExp(`<h2>${heading}</h2>([^]*?)</section>`).exec(page) ?? [];
  return [
    ...content.matchAll(
      /<div class="line">(<[bs][^>]*>.*?)(<div class="(?:chart|strip)[ "].*?)<div class="now">(.*)<\/div><\/div>/g,
    ),
  ].map(([, label = '', chart = '', end = '']) => ({
    label: label.replaceAll(/<[^>]*>/g, ''),
    chart,
    end: end.replaceAll(/<[^>]*>/g, ''),
  }));
}

async function reportOf(target: string, cwd: string): Promise<string> {
  const { code, stderr } = await sluice(['report', target, '--to', 'report.html', '--if-exists', 'overwrite'], { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return readFile(join(cwd, 'report.html'), 'utf8');
}

function checkReport(page: string): void {
  expect(page).toContain('<title>History of 5 streams in ');
  expect(page).toContain('Rows of streams.list from 2026-03-01 12:00 to 2026-03-01 22:00, read at ');
  const figures = [...page.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)<\/dd>/g)].map(([, label, value]) => [label, value]);
  expect(figures).toEqual([
    ['Streams now', '4'],
    ['Failing now', '1'],
    ['Outages', '4'],
    ['Longest outage', '1 h 40 min'],
    ['Polls', '52'],
    ['Gaps', '1'],
  ]);
  const at = (minutes: number): string => timeAt(minutes).slice(11, 16);
  const period = (from: number, to: number): string => `from 2026-03-01 ${at(from)} to ${at(to)}`;
  const late = ['tag 3', `error · ${period(500, 600)}, and goes on · &lt;b&gt;late&lt;/b&gt;`, '1 h 40 min'];
  const gap = [
    'tag 2',
    `error -&gt; terminated · ${period(180, 310)} · nobody looked for 1 h 40 min more · HTTP 503`,
    '30 min',
  ];
  const failed = ['tag 4', `failed · ${period(20, 50)}`, '30 min'];
  const gone = ['tag 5', `error · ${period(100, 130)}, when it was removed`, '30 min'];
  expect(rowsUnder(page, 'The longest outages')).toEqual([late, gap, gone, failed]);
  expect(rowsUnder(page, 'The latest outages')).toEqual([late, gap, gone, failed]);
  const counts = linesUnder(page, 'Streams by status over time').map(({ label, end }) => [label, end]);
  expect(counts).toEqual([
    ['error', '1 (1)'],
    ['failed', '0 (1)'],
    ['terminated', '0 (1)'],
    ['active', '2 (3)'],
    ['paused', '1 (1)'],
  ]);
  const strips = linesUnder(page, 'Streams one by one');
  expect(strips.map(({ label, end }) => [label, end])).toEqual([
    ['tag 3', 'error'],
    ['tag 2', 'active'],
    ['tag 5', 'gone'],
    ['tag 4', 'paused'],
    ['tag 1', 'active'],
  ]);
  const segments = [...(strips[1]?.chart ?? '').matchAll(/class="([\w-]*)" style="left:([\d.]*)%;width:([\d.]*)%/g)];
  expect(segments.map(([, ...parts]) => parts)).toEqual([
    ['tone-good', '0.00', '30.00'],
    ['tone-bad', '30.00', '1.67'],
    ['tone-bad', '31.67', '20.00'],
    ['tone-good', '51.67', '48.33'],
  ]);
  // From 200 to 300 of 600 minutes, over all strips and charts.
  expect(page).toContain(
    'mask-image: linear-gradient(90deg, transparent 33.33%, #000 33.33% 50.00%, transparent 50.00%)',
  );
}

describe('U5 the report of a history', () => {
  test('U5 has the status of each row over time, and outages as far as somebody looked', async () => {
    const cwd = temporaryFolder();
    makeHistory(join(cwd, 'a.sqlite'), 'streams', made);
    const page = await reportOf('a.sqlite#streams', cwd);
    checkReport(page);
    expect(page).not.toMatch(/<script|<b>late|https?:|url\(/);
    expect(page).toContain("default-src 'none'; style-src 'unsafe-inline'");
  });

  test.runIf(postgresPrograms !== undefined)('U5 is the same for PostgreSQL', { tags: ['slow'] }, async () => {
    const { url, query } = await openDatabase();
    await query(historySql('postgres', 'streams', made));
    checkReport(await reportOf(`${url}?table=streams`, temporaryFolder()));
  });

  test('U5 is drawn for one poll, and for rows without a status', async () => {
    const cwd = temporaryFolder();
    makeHistory(join(cwd, 'a.sqlite'), 'streams', {
      polls: [0],
      versions: [...versionsOf('1', ['active', 0]), ...versionsOf('2', ['active', 0])],
    });
    const once = await reportOf('a.sqlite#streams', cwd);
    expect(once).not.toContain('NaN');
    expect(linesUnder(once, 'Streams by status over time').map(({ end }) => end)).toEqual(['2 (2)']);
    const db = new DatabaseSync(join(cwd, 'a.sqlite'));
    db.exec(`
      CREATE TABLE coins (coin TEXT, price TEXT, _valid_from TEXT, _valid_to TEXT, _ended TEXT, _generation INTEGER, UNIQUE (coin, _valid_from));
      CREATE TABLE coins_polls (generation INTEGER PRIMARY KEY, at TEXT, complete INTEGER);
      INSERT INTO coins_polls VALUES (1, '${timeAt(0)}', 1), (2, '${timeAt(10)}', 0), (3, '${timeAt(20)}', 1);
      INSERT INTO coins VALUES ('btc', '1', '${timeAt(0)}', '${timeAt(10)}', 'changed', 1), ('btc', '2', '${timeAt(10)}', NULL, NULL, 2), ('eth', '1', '${timeAt(10)}', NULL, NULL, 2)`);
    db.close();
    const page = await reportOf('a.sqlite#coins', cwd);
    expect(page).toContain('In 1 of 3 polls, the API left rows out.');
    expect(page).not.toContain('outages</h2>');
    expect(linesUnder(page, 'Rows over time').map(({ label, end }) => [label, end])).toEqual([['rows', '2 (2)']]);
    const [btc] = linesUnder(page, 'Rows one by one');
    expect(btc?.chart.match(/<i /g)).toHaveLength(2);
    expect(btc?.end).toBe('2 versions');
  });

  test('U5 counts no time before the oldest poll that a compaction has left', async () => {
    const cwd = temporaryFolder();
    const left = polls.filter((at) => at >= 500);
    makeHistory(join(cwd, 'a.sqlite'), 'streams', { polls: left, versions: versionsOf('1', ['error', 0]) });
    const page = await reportOf('a.sqlite#streams', cwd);
    expect(rowsUnder(page, 'The longest outages').map((cells) => cells.at(-1))).toEqual(['1 h 40 min']);
  });

  test('U5 is refused before the first poll', async () => {
    const cwd = temporaryFolder();
    makeHistory(join(cwd, 'a.sqlite'), 'streams', { polls: [], versions: [] });
    expect(await sluice(['report', 'a.sqlite#streams'], { cwd })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sluice: The history has no poll yet: nothing is known of its rows.\n',
    });
  });

  test(
    'U5 shows an outage that is shorter than a part of the strip, and how often a row flapped',
    { tags: ['slow'] },
    async () => {
      const cwd = temporaryFolder();
      const flaps = Array.from({ length: 2_000 }, (_, nth) => [nth % 2 === 0 ? 'active' : 'error', nth] as const);
      makeHistory(join(cwd, 'a.sqlite'), 'streams', {
        polls: Array.from({ length: 1_001 }, (_, nth) => nth * 10),
        versions: [
          ...versionsOf('1', ['active', 0], ['error', 5_000], ['active', 5_001]),
          ...versionsOf('2', ...flaps, ['active', 2_000]),
        ],
      });
      const page = await reportOf('a.sqlite#streams', cwd);
      const [flapping, short] = linesUnder(page, 'Streams one by one');
      expect(short?.chart).toContain('title="error from 2026-03-04 23:20 to 23:21"');
      expect(flapping?.chart).toContain('aria-label="tag 2: 1,000 outages, 16 h 40 min in all"');
      expect(flapping?.chart.match(/<i /g)?.length).toBeLessThanOrEqual(300);
    },
  );
});

describe('gaps between polls', () => {
  function gapsOf(times: readonly number[]) {
    const gaps = new PollGaps();
    for (const at of times) gaps.add(at);
    return gaps.list();
  }

  test.each([
    ['no poll', [], []],
    ['one interval, which is the usual one', [0, 1_000], []],
    ['intervals that differ little', [0, 10, 20, 45, 55, 65], []],
    ['one that is much longer', [0, 10, 20, 60, 70, 80], [{ from: 20, to: 60 }]],
    [
      'several, in the order of time',
      [0, 10, 20, 60, 70, 80, 90, 200],
      [
        { from: 20, to: 60 },
        { from: 90, to: 200 },
      ],
    ],
    ['a clock that was set back', [100, 50, 60, 70], []],
  ])('are found in %s', (_, times, gaps) => {
    expect(gapsOf(times)).toEqual(gaps);
  });

  test('keep the longest ones, in bounded memory', () => {
    const times: number[] = [];
    for (let at = 0, nth = 0; nth < 20_000; nth += 1) times.push((at += nth % 4 === 3 ? 100 + nth : 1));
    const gaps = gapsOf(times);
    expect(gaps).toHaveLength(500);
    expect(Math.min(...gaps.map(({ from, to }) => to - from))).toBe(100 + 19_999 - 4 * 499);
  });

  test('are not a part of what was seen', () => {
    const gaps = [
      { from: 10, to: 20 },
      { from: 50, to: 90 },
    ];
    expect(unseenTime({ from: 15, to: 60 }, gaps)).toBe(15);
    expect(unseenTime({ from: 20, to: 50 }, gaps)).toBe(0);
  });
});
