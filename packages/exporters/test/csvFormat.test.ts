import papaparse from 'papaparse';
import { ConfigError, SinkError, type RowSchema } from '@sluice/core';
import fc from 'fast-check';
import spectrum from 'csv-spectrum';
import { describe, expect, test } from 'vitest';
import { csvFormat, type CsvFormatOptions } from '../src/csv.js';
import { cellFor, fieldOf, readCsv } from './readCsv.js';

/** A whole file: the header and the rows of one page. */
function csvOf(rows: readonly object[], options: CsvFormatOptions, schema?: RowSchema<object>): string {
  const { header, encode } = csvFormat(options).encoder(schema);
  return header + encode(rows);
}

const schema: RowSchema<object> = { columns: ['id', 'name'] };

describe('E11 a CSV', () => {
  test('begins with a header, and ends each record with CRLF', () => {
    expect(
      csvOf(
        [
          { id: '1', name: 'a' },
          { id: '2', name: 'b' },
        ],
        {},
        schema,
      ),
    ).toBe('id,name\r\n1,a\r\n2,b\r\n');
  });

  test.each([
    ['a comma', 'a,b', '"a,b"'],
    ['a quote', 'a"b', '"a""b"'],
    ['only a quote', '"', '""""'],
    ['a line feed', 'a\nb', '"a\nb"'],
    ['a carriage return', 'a\rb', '"a\rb"'],
    ['CRLF', 'a\r\nb', '"a\r\nb"'],
    ['a space at its ends', ' a ', '" a "'],
    ['nothing awkward', "a;b\t'c'", "a;b\t'c'"],
    ['a line separator', 'a\u2028b\u2029c', 'a\u2028b\u2029c'],
    ['a zero', 'a\0b', 'a\0b'],
    ['emoji', '🦊🏳️‍🌈', '🦊🏳️‍🌈'],
  ])('quotes a field with %s as RFC 4180 says', (_what, value, cell) => {
    expect(csvOf([{ id: value, name: 'x' }], {}, schema)).toBe(`id,name\r\n${cell},x\r\n`);
  });

  test('begins with a byte order mark only if told to', () => {
    expect(csvOf([], {}, schema)).toBe('id,name\r\n');
    expect(csvOf([], { bom: true }, schema)).toBe('\ufeffid,name\r\n');
  });

  test('keeps its columns when the first row lacks fields or has others', () => {
    const rows = [{ surprise: 'x' }, { name: 'b', id: '2', more: 'y' }, {}];
    expect(csvOf(rows, {}, schema)).toBe('id,name\r\n,\r\n2,b\r\n,\r\n');
  });

  test('has the columns that the user names, in that order', () => {
    expect(csvOf([{ id: '1', name: 'a' }], { columns: ['name', 'id'] }, schema)).toBe('name,id\r\na,1\r\n');
    expect(csvOf([{ id: '1', any: 'a' }], { columns: ['any'] })).toBe('any\r\na\r\n');
  });

  test('puts fields that nobody knows into a last column as JSON, if told to', () => {
    const rows = [
      { id: '1', name: 'a', royalty: { points: 5 }, new: null },
      { id: '2', name: 'b' },
    ];
    expect(readCsv(csvOf(rows, { extra: true }, schema))).toEqual([
      ['id', 'name', 'extra'],
      ['1', 'a', '{"royalty":{"points":5},"new":null}'],
      ['2', 'b', ''],
    ]);
  });

  test('does not repeat in the extra column what was left out by name', () => {
    const csv = csvOf([{ id: '1', name: 'a', new: true }], { columns: ['id'], extra: true }, schema);
    expect(readCsv(csv)).toEqual([
      ['id', 'extra'],
      ['1', '{"new":true}'],
    ]);
  });

  test.each([
    ['null', null, ''],
    ['an absent value', undefined, ''],
    ['empty text', '', ''],
    ['true', true, 'true'],
    ['a number', -1.5e21, '-1.5e+21'],
    ['a BigInt', 2n ** 70n, '1180591620717411303424'],
    ['an object', { a: [1, { b: null }] }, '{"a":[1,{"b":null}]}'],
    ['a list', ['x', 'y'], '["x","y"]'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a date that is none', new Date(NaN), ''],
  ])('writes %s so that it can be read', (_what, value, cell) => {
    expect(readCsv(csvOf([{ id: value, name: 'x' }], {}, schema))[1]).toEqual([cell, 'x']);
  });

  test('with one column keeps rows whose only value is empty', () => {
    const csv = csvOf([{ a: '' }, { a: null }, {}, { a: 'x' }, { a: '' }], { columns: ['a'] });
    expect(csv).toBe('a\r\n""\r\n""\r\n""\r\nx\r\n""\r\n');
    expect(readCsv(csv)).toEqual([['a'], [''], [''], [''], ['x'], ['']]);
  });

  test('without rows has its header only', () => {
    expect(csvOf([], {}, schema)).toBe('id,name\r\n');
    expect(csvOf([], { columns: ['a'] })).toBe('a\r\n');
  });

  test('takes __proto__ for a field like any other', () => {
    const row: object = JSON.parse('{"id":"1","__proto__":{"polluted":"yes"},"constructor":"c","toString":"t"}');
    const columns = ['id', '__proto__', 'constructor', 'hasOwnProperty'];
    expect(readCsv(csvOf([row, { id: '2' }], { columns, extra: true }))).toEqual([
      [...columns, 'extra'],
      ['1', '{"polluted":"yes"}', 'c', '', '{"toString":"t"}'],
      ['2', '', '', '', ''],
    ]);
    expect(readCsv(csvOf([row], { columns: ['id'], extra: true }))[1]?.[1]).toBe(
      '{"__proto__":{"polluted":"yes"},"constructor":"c","toString":"t"}',
    );
    expect({}).not.toHaveProperty('polluted');
  });

  test('takes what every object has for a field only where a row has one', () => {
    const columns = ['constructor', 'toString'];
    expect(csvOf([{}, { constructor: 'x' }], { columns })).toBe('constructor,toString\r\n,\r\nx,\r\n');
  });

  test('says so when a row is none', () => {
    expect(() => csvOf([null as unknown as object], {}, schema)).toThrow(/A row is null, and a CSV needs objects/);
    expect(() => csvOf(['x' as unknown as object], {}, schema)).toThrow(/A row is string/);
  });

  test('has the bytes that papaparse gives', () => {
    const cell = fc.string({ unit: fc.constantFrom(...'",\r\n \ta;\ufeff🦊') });
    fc.assert(
      fc.property(fc.array(fc.record({ id: cell, name: cell }), { minLength: 1 }), (rows) => {
        const theirs = papaparse.unparse(rows, { columns: ['id', 'name'], newline: '\r\n' });
        expect(csvOf(rows, {}, schema)).toBe(`${theirs}\r\n`);
      }),
    );
  });

  test('carries a cell of ten million characters', { tags: ['slow'] }, () => {
    const huge = '"a,\r\n'.repeat(2_000_000);
    expect(readCsv(csvOf([{ id: '1', name: huge }], {}, schema))[1]?.[1]).toHaveLength(huge.length);
  });

  test('writes half of a surrogate pair as U+FFFD, since UTF-8 has no other way', () => {
    const bytes = Buffer.from(csvOf([{ id: '\ud83e', name: '\udd8a' }], {}, schema));
    expect(bytes.toString()).toBe('id,name\r\n\ufffd,\ufffd\r\n');
  });

  test('guards headers and text, and neither numbers nor nested values', () => {
    const rows = [{ '=a': '=1+1', b: -5, c: -Infinity, d: { '=x': '=1' }, e: '-5', f: '@x' }];
    const csv = csvOf(rows, { columns: ['=a', 'b', 'c', 'd', 'e', 'f'], guardFormulas: true });
    expect(readCsv(csv)).toEqual([
      ["'=a", 'b', 'c', 'd', 'e', 'f'],
      ["'=1+1", '-5', '-Infinity', '{"=x":"=1"}', '-5', "'@x"],
    ]);
  });

  test.each<[string, CsvFormatOptions, RowSchema<object> | undefined, RegExp]>([
    ['there are none', {}, undefined, /needs columns.*Name them/],
    ['the list of them is empty', { columns: [] }, schema, /is empty/],
    ['one is unknown', { columns: ['id', 'nmae'] }, schema, /no column "nmae"\. Did you mean name\?/],
    ['one is named twice', { columns: ['id', 'id'] }, schema, /"id" is named twice/],
    ['one is called extra already', { columns: ['extra'], extra: true }, undefined, /called extra already/],
  ])('refuses columns where %s', (_what, options, known, message) => {
    const encoder = (): unknown => csvFormat(options).encoder(known);
    expect(encoder).toThrow(ConfigError);
    expect(encoder).toThrow(message);
  });

  test('says so when a nested value is no JSON', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const value of [{ big: 1n }, circle, { toJSON: () => undefined }])
      expect(() => csvOf([{ id: value }], {}, schema)).toThrow(SinkError);
  });

  test('is read back as it was written, whatever the values are', { tags: ['slow'] }, () => {
    const awkward = fc.string({ unit: fc.constantFrom(...'",\r\n \t=+-@\'a1;\0\u2028\ufeff🦊') });
    const value = fc.oneof(awkward, fc.string({ unit: 'binary' }), fc.jsonValue(), fc.constant(undefined));
    const columns = fc.uniqueArray(fc.oneof(awkward, fc.constant('__proto__')), { minLength: 1, maxLength: 5 });
    const file = columns.chain((names) => {
      const row = fc
        .array(value, { minLength: names.length, maxLength: names.length })
        .map((values): object => Object.fromEntries(names.map((name, index) => [name, values[index]])));
      return fc.tuple(fc.constant(names), fc.array(row));
    });
    fc.assert(
      fc.property(file, ([names, rows]) => {
        const expected = rows.map((row) => names.map((name) => cellFor(fieldOf(row, name))));
        expect(readCsv(csvOf(rows, { columns: names }))).toEqual([names, ...expected]);
      }),
      { numRuns: 1000 },
    );
  });

  test('is read back as it was written for the whole csv-spectrum', async () => {
    const items = await new Promise<readonly { name: string; json: Buffer }[]>((resolve, reject) => {
      spectrum((error, found) => {
        if (error) reject(error);
        else resolve(found);
      });
    });
    expect(items).toHaveLength(12);
    for (const { json } of items) {
      const document: Record<string, string> | Record<string, string>[] = JSON.parse(json.toString());
      const rows = [document].flat();
      const columns = Object.keys(rows[0] ?? {});
      expect(readCsv(csvOf(rows, { columns }))).toEqual([
        columns,
        ...rows.map((row) => columns.map((name) => row[name])),
      ]);
    }
  });
});

test('D4 the formula guard changes no value of the type that its column declares', () => {
  const types = { size: 'integer', price: 'number', listed: 'boolean', at: 'timestamp', name: 'text' } as const;
  const typed: RowSchema<object> = { columns: Object.keys(types), types };
  const right = { size: '+1', price: '-1.5e3', listed: true, at: '+012345-01-01T00:00:00Z', name: '+012345' };
  const wrong = { size: '-1+1', price: '=1', listed: '@x', at: '+012345-01-01', name: '+012345-01-01T00:00:00Z' };
  const [, first, second] = csvOf([right, wrong], { guardFormulas: true }, typed).split('\r\n');
  expect(first).toBe('+1,-1.5e3,true,+012345-01-01T00:00:00Z,+012345');
  expect(second).toBe("'-1+1,'=1,'@x,'+012345-01-01,'+012345-01-01T00:00:00Z");
});
