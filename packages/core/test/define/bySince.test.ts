import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { ConfigError, createClient, exportTo, memoryState } from '../../src/index.js';
import { bySince, defineApi, listing, type SinceOptions } from '../../src/define/index.js';
import { sinceRule, type SinceType } from '../../src/define/since/sinceValue.js';
import { timeZone } from '../../src/define/since/timeZone.js';
import { entries, entriesOf, type Entry } from './changingTable.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { type Said, serve } from './servedApi.js';

const ruleOf = (type: SinceType) => sinceRule(type, timeZone('UTC'));

describe('A5 values', () => {
  test.each([
    [
      'instant',
      ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5Z', '2026-01-01T00:00:00.500001Z', '2026-01-01T00:00:01Z'],
    ],
    ['instant', ['2026-01-01T02:00:00+02:00', '2026-01-01 00:00:00.1Z', '2026-01-01T00:30-0030']],
    ['instant', ['2000-02-29T23:59:59+23:59', '2020-02-29T00:00:00Z', '2020-12-31T23:59-1200']],
    [
      'instant',
      [
        'Thu, 25 Dec 2025 23:00:00 GMT',
        '1 Jan 2026 01:30:00 +0200',
        '2025-12-31T23:45Z',
        'Thu, 1 Jan 2026 00:00:00 UTC',
      ],
    ],
    ['epoch-ms', ['/Date(-5)/', '/Date(1730892000123+0000)/', '1730892000124']],
    ['datetime', ['2024-11-06T12:00:00', '2024-11-06 12:00:00.5', '2024-11-06T12:00:01']],
    ['date', ['2024-02-29', '2024-11-06']],
    ['epoch-seconds', ['-1.5', '-1', '9', '1730892000.123456', '1730892000.5']],
    ['epoch-ms', ['-1', '1730892000123', '1730892000123.5']],
    ['integer', ['-3', '9', '10', '9007199254740993', '9007199254740994']],
    ['text', ['10', '9', 'B', 'a']],
  ] as const)('of type %s are compared by it: %j', (type, ascending) => {
    const rule = ruleOf(type);
    expect(ascending.map((value) => rule.read(value))).toEqual(ascending);
    expect([...ascending].reverse().sort((a, b) => rule.compare(a, b))).toEqual(ascending);
  });

  test('that are equal are equal, however they are written', () => {
    const { compare } = ruleOf('instant');
    expect(compare('2026-01-01T00:00:00Z', '2026-01-01T01:00:00.000+0100')).toBe(0);
    expect(compare('2026-01-01T00:00:00.120Z', '2026-01-01T00:00:00.12Z')).toBe(0);
  });

  test.each([
    ['instant', [null, undefined, 5, '', '2026-01-01', '2026-01-01T00:00:00', '2026-13-01T00:00:00Z', 'now']],
    [
      'instant',
      ['Tue, 30 Feb 2026 00:00:00 GMT', '1 Jab 2026 00:00:00 GMT', '1 anF 2026 00:00:00 GMT', '1 Jan 2026 00:00:00'],
    ],
    ['epoch-ms', ['/Date(now)/', 'Date(5)', '/Date(5)']],
    ['instant', ['2020-02-30T00:00:00Z', '2021-02-29T00:00:00Z', '2026-04-31 00:00Z', '2026-00-10T00:00:00Z']],
    ['instant', ['2026-01-01T24:00:00Z', '2016-12-31T23:59:60Z', '2026-01-01T00:60Z', '2026-01-01T00:00:00+25:00']],
    ['datetime', ['2024-11-06T12:00:00Z', '2024-11-06', 5, null]],
    ['date', ['2024-11-06T12:00:00', '2023-02-29', '11/06/2024', 20241106]],
    ['epoch-seconds', [null, '', '1e9', NaN, 253_402_300_800, '2024-11-06T12:00:00Z']],
    ['integer', [null, 1.5, 2 ** 53, '1.5', '', '0x10', Infinity]],
    ['text', [null, 5, '']],
  ] as const)('of type %s are none of %j', (type, values) => {
    expect(values.map((value) => ruleOf(type).read(value))).toEqual(values.map(() => undefined));
  });

  test('move back by the overlap', () => {
    const [instant, integer, text] = [ruleOf('instant'), ruleOf('integer'), ruleOf('text')];
    const began = Date.parse('2026-01-01T12:00:00.900Z');
    expect(instant.mark('2026-01-01T12:09:30Z', began, 60_000)).toBe('2026-01-01T11:59:00Z');
    expect(instant.mark('2026-01-01T11:00:00.123456Z', began, 60_000)).toBe('2026-01-01T10:59:00Z');
    expect(instant.mark('2026-01-01T13:00:00.123456+0200', began, 60_000)).toBe('2026-01-01T10:59:00Z');
    expect(instant.mark('2026-01-01T11:00:00.123456Z', began, 0)).toBe('2026-01-01T11:00:00.123456Z');
    expect(instant.mark('2026-01-01T12:09:30Z', began, 0)).toBe('2026-01-01T12:00:00Z');
    const [datetime, date] = [ruleOf('datetime'), ruleOf('date')];
    const [seconds, ms] = [ruleOf('epoch-seconds'), ruleOf('epoch-ms')];
    expect(datetime.mark('2026-01-01 11:00:00.5', began, 60_000)).toBe('2026-01-01T10:59:00');
    expect(date.mark('2026-01-01', began, 60_000)).toBe('2025-12-31');
    expect(seconds.mark('1767265200.75', began, 60_000)).toBe('1767265140');
    expect(ms.mark('1767265200750', began, 60_000)).toBe('1767265140000');
    expect(integer.mark('9007199254740993', began, 5)).toBe('9007199254740988');
    expect(text.mark('b', began, 0)).toBe('b');
  });
});

describe('A5 paging by a value', () => {
  const row = (id: number, at: unknown): unknown => ({ id, text: 't', updated_at: at });
  const walk = async (say: (since: string | null) => unknown[]): Promise<{ rows: unknown; asked: string[] }> => {
    const served = await serve((url): Said => ({ body: { items: say(url.searchParams.get('since')) } }));
    const rows: unknown = await entriesOf(served)
      .toArray()
      .catch((error: unknown) => error);
    return { rows, asked: served.asked };
  };
  const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;

  test('starts each page at the last value, drops what is known, and ends when nothing is new', async () => {
    const table = [1, 2, 3, 3, 3, 4, 5, 6, 6, 6, 7].map((second, id) => row(id, at(second)));
    const { rows, asked } = await walk((since) =>
      table.filter((each) => since === null || (each as { updated_at: string }).updated_at >= since).slice(0, 8),
    );
    expect(rows).toEqual(table);
    expect(asked.map((url) => new URLSearchParams(url.split('?')[1]).get('since'))).toEqual([null, at(6), at(7)]);
  });

  test('does not stop at a page that is shorter than asked for, if it has new rows', async () => {
    const table = [1, 2, 3, 4, 5, 6, 7].map((second, id) => row(id, at(second)));
    const { rows } = await walk((since) =>
      table.filter((each) => since === null || (each as { updated_at: string }).updated_at >= since).slice(0, 3),
    );
    expect(rows).toEqual(table);
  });

  test.each([
    ['a page of one value', () => Array.from({ length: 8 }, (_, id) => row(id, at(1))), 'the same in all 8 rows'],
    ['rows without order', () => [row(1, at(2)), row(2, at(1))], 'row 1 is before the one above it'],
    ['a row without a value', () => [row(1, null)], 'it is null, and not a date with a time and a zone'],
    ['a value without a zone', () => [row(1, '2026-01-01T00:00:00')], 'and not a date with a time and a zone'],
  ])('refuses %s, since rows could be missed', async (_, say, message) => {
    const { rows } = await walk(say);
    expect(String(rows)).toContain(message);
  });

  const table = [1, 2, 3, 3, 3, 4, 5, 6, 6, 6, 7].map((second, id) => ({ id, text: 't', updated_at: at(second) }));
  const warningsOf = async (say: (since: string | null) => unknown[], source = entries): Promise<string[]> => {
    const { baseUrl } = await serve((url): Said => ({ body: { items: say(url.searchParams.get('since')) } }));
    const warnings: string[] = [];
    await using client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } }).use(
      defineApi({ name: 'table', sources: { entries: source } })({ baseUrl }),
    );
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    await client.table.entries().toArray();
    return warnings;
  };

  test('warns if the API leaves out rows with the value itself, of which some are missed', async () => {
    const exclusive = (since: string | null): unknown[] =>
      table.filter(({ updated_at }) => since === null || updated_at > since).slice(0, 8);
    expect(await warningsOf(exclusive)).toEqual([expect.stringContaining('bySince needs an inclusive filter')]);
    const inclusive = (since: string | null): unknown[] =>
      table.filter(({ updated_at }) => since === null || updated_at >= since).slice(0, 8);
    expect(await warningsOf(inclusive)).toEqual([]);
    expect(await warningsOf(() => [])).toEqual([]);
  });

  test('warns in each run that may miss rows, also in one process, and where nothing comes after the mark', async () => {
    const listed = table.map((each) => ({ ...each }));
    const { baseUrl } = await serve(({ searchParams }): Said => {
      const since = searchParams.get('since');
      return { body: { items: listed.filter(({ updated_at }) => since === null || updated_at > since).slice(0, 8) } };
    });
    const source = (overlap: number) =>
      listing<Entry>({
        path: '/entries',
        pageSize: { param: 'limit', default: 8, max: 8 },
        paging: bySince({ param: 'since', field: 'updated_at', type: 'instant', overlap }),
        rows: 'items',
        columns: ['id'],
        key: ({ id }) => id,
      });
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } }).use(
      defineApi({ name: 'table', sources: { late: source(60_000), none: source(0) } })({ baseUrl }),
    );
    onTestEnd(() => client.close());
    const warnings: string[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    for (const [of, fresh] of [
      [client.table.late(), 1],
      [client.table.none(), 0],
    ] as const) {
      const state = memoryState();
      for (let run = 0; run < 3; run += 1) {
        warnings.length = 0;
        await exportTo(of, recordingSink<Entry>(), { state, incremental: true }).run();
        expect(warnings, `run ${String(run)}`).toEqual([expect.stringContaining('needs an inclusive filter')]);
        for (let added = 0; added < fresh; added += 1)
          listed.push({ id: 100 + listed.length, text: 't', updated_at: at(10 + run) });
      }
    }
  });

  test('warns once if the API lists earlier rows, and refuses a full page of them', async () => {
    expect(await warningsOf(() => table.slice(0, 5))).toEqual([
      expect.stringContaining('the API lists rows from before the updated_at that it was asked for'),
    ]);
    const { rows } = await walk(() => table.slice(0, 8));
    expect(String(rows)).toContain('full of rows that are not after the updated_at that it was asked for');
    expect(String(rows)).toContain('Does it filter by "since"?');
  });

  test('each kind of warning comes once, however many pages have both', async () => {
    const source = listing<Entry>({
      path: '/entries',
      pageSize: { param: 'limit', default: 8, max: 8 },
      paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' }),
      responses: () => ({ kind: 'partial', message: 'some are away' }),
      rows: 'items',
      columns: ['id'],
    });
    const fromBefore = (since: string | null): unknown[] => {
      const first = table.findIndex(({ updated_at }) => since === null || updated_at >= since);
      return table.slice(Math.max(0, first - 1), first + 4);
    };
    expect(await warningsOf(fromBefore, source)).toEqual([
      expect.stringContaining('an error beside the rows'),
      expect.stringContaining('the API lists rows from before'),
    ]);
  });

  test('is refused without a page size, with a wrong option, and at a cursor of another paging', async () => {
    const define = (
      options: Partial<SinceOptions>,
      pageSize?: { param: string; default: number; max?: number },
    ): unknown =>
      listing({
        path: '/rows',
        rows: '',
        columns: ['id'],
        ...(pageSize && { pageSize }),
        paging: bySince({ param: 'since', field: 'at', type: 'instant', ...options } as SinceOptions),
      });
    const size = { param: 'n', default: 10, max: 10 };
    expect(() => define({})).toThrow(/pageSize: its paging needs it/);
    expect(() => define({}, { param: 'n', default: 10 })).toThrow(/with the max of the API/);
    expect(() => define({ type: 'dates' as 'text' }, size)).toThrow(
      'The type of bySince is "dates". Did you mean date?',
    );
    expect(() => define({ overlap: -1 }, size)).toThrow(ConfigError);
    expect(() => define({ type: 'text', overlap: 1 }, size)).toThrow('takes no overlap for texts');
    expect(() => define({ param: 'n' }, size)).toThrow('"n" is set twice');
    const served = await serve(() => ({ body: { items: [] } }));
    const pages = entriesOf(served).pages({ startAt: 'abc' })[Symbol.asyncIterator]();
    await expect(pages.next()).rejects.toThrow('not a cursor of bySince');
  });
});
