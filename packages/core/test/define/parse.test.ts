import { describe, expect, test } from 'vitest';
import { isTransient, parseJson } from '../../src/index.js';
import { byLink, byOffset, listing } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';

const base = { path: '/rows', paging: byLink(), rows: '', columns: ['id'], version: '1' } as const;
const csv = (text: string): Record<string, string>[] => {
  const [head = '', ...lines] = text.trim().split('\n');
  return lines.map((line) =>
    Object.fromEntries(line.split(',').map((value, at) => [head.split(',')[at] ?? '', value])),
  );
};

async function rowsOf(source: AsyncIterable<object>): Promise<object[]> {
  const rows: object[] = [];
  for await (const row of source) rows.push(row);
  return rows;
}

test('R9 parse makes rows of CSV, and the request accepts anything', async () => {
  const { baseUrl, requests } = await serve(() => ({
    text: 'id,name\n1,a\n2,b\n',
    headers: { 'content-type': 'text/csv' },
  }));
  const source = openListing(listing({ ...base, parse: csv }), { baseUrl })();
  expect(await rowsOf(source)).toEqual([
    { id: '1', name: 'a' },
    { id: '2', name: 'b' },
  ]);
  expect(requests[0]?.headers['accept']).toBe('*/*');
});

test("R9 parse cuts a prefix off, as Gerrit's, and numbers stay exact for rows and paging", async () => {
  const all = ['12345678901234567890', '2', '3'];
  const { baseUrl, asked } = await serve((url) => {
    const from = Number(url.searchParams.get('S') ?? 0);
    const rows = all.slice(from, from + 2).map((id, nth) => {
      const more = nth === 1 && from + 2 < all.length ? ',"_more_changes":true' : '';
      return `{"id":${id}${more}}`;
    });
    return { text: `)]}'\n[${rows.join()}]\n` };
  });
  const changes = listing({
    ...base,
    pageSize: { param: 'n', default: 2, max: 2 },
    paging: byOffset({ param: 'S' }),
    parse(text) {
      const rows = parseJson(text.slice(text.indexOf('\n'))) as Record<string, unknown>[];
      for (const row of rows) delete row['_more_changes'];
      return rows;
    },
  });
  const rows = await rowsOf(openListing(changes, { baseUrl })());
  expect(rows).toEqual([{ id: '12345678901234567890' }, { id: 2 }, { id: 3 }]);
  expect(asked.length).toBeGreaterThan(1);
});

test('R9 parse gets the headers of the response', async () => {
  const { baseUrl } = await serve(() => ({ text: 'x', headers: { 'x-total': '7' } }));
  const source = listing({ ...base, parse: (_text, headers) => [{ id: headers['x-total'] }] });
  expect(await rowsOf(openListing(source, { baseUrl })())).toEqual([{ id: '7' }]);
});

describe('R9 what parse may not do', () => {
  const secret = 'a-private-value';
  const refused = async (parse: (text: string) => unknown): Promise<{ error: unknown; requests: number }> => {
    const { baseUrl, asked } = await serve(() => ({ text: secret }));
    const open = openListing(listing({ ...base, parse }), { baseUrl, retry: { retries: 1, baseDelay: 1 } });
    const error: unknown = await rowsOf(open()).catch((thrown: unknown) => thrown);
    expect(String(error)).not.toContain(secret);
    expect(JSON.stringify(error)).not.toContain(secret);
    return { error, requests: asked.length };
  };

  test('a body that it refuses is retried, and never quoted', async () => {
    const { error, requests } = await refused((text) => {
      throw new Error(`unexpected ${text}`);
    });
    expect(error).toMatchObject({ code: 'decode', message: expect.stringContaining('refuses') });
    expect(isTransient(error)).toBe(true);
    expect(requests).toBe(2);
  });

  test.each([
    ['a promise', (text: string) => Promise.reject(new Error(text)), 'a promise'],
    ['a Date', () => [{ at: new Date(0) }], 'an object of a class'],
    ['NaN', () => [{ value: NaN }], 'the number NaN'],
    ['nothing', () => undefined, 'undefined'],
    ['a hole', () => [, 1], 'undefined'],
    ['a function', () => [() => 1], 'a function'],
    ['a bigint', () => [1n], 'a bigint'],
    [
      'a getter that throws',
      (text: string) => [
        {
          get at() {
            throw new Error(text);
          },
        },
      ],
      'can not be read',
    ],
  ])('%s is not JSON', async (_what, parse, says) => {
    const { error, requests } = await refused(parse);
    expect(error).toMatchObject({ code: 'decode', message: expect.stringContaining(says) });
    expect(requests).toBe(1);
  });

  test('a document may be no deeper than one of JSON', async () => {
    const { error } = await refused(() => {
      const list: unknown[] = [];
      list.push(list);
      return list;
    });
    expect(error).toMatchObject({ code: 'decode', message: expect.stringContaining('500 levels') });
  });

  test('a document may be no larger than one of JSON, whatever it shares', async () => {
    const { error } = await refused(() => {
      let shared: unknown = 'lol';
      for (let level = 0; level < 60; level += 1) shared = [shared, shared];
      return shared;
    });
    expect(error).toMatchObject({ code: 'response-too-large' });
  });

  test('an empty body is refused before', async () => {
    const { baseUrl } = await serve(() => ({ text: '' }));
    const open = openListing(listing({ ...base, parse: csv }), { baseUrl });
    await expect(rowsOf(open())).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('empty body'),
    });
  });

  test('it needs a version, and excludes format', () => {
    expect(() => listing({ ...base, version: undefined as never, parse: csv })).toThrow(
      /at version: give one.*change it when parse changes/,
    );
    expect(() => listing({ ...base, parse: csv, format: 'jsonLines' })).toThrow(/at parse: it excludes format/);
  });
});

test('R9 a definition is tested with the text of a body', () => {
  expect(listing({ ...base, parse: csv }).read({ body: 'id\n1' }).rows).toEqual([{ id: '1' }]);
});
