import { exportTo, type ColumnType, type RowSchema } from '@sluice/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { timestampMicros } from '@sluice/core/kit';
import { databaseKinds, type TestDatabase } from './databases.js';
import { itemSource } from './items.js';
import { readByProgram } from './readByProgram.js';

type Row = Readonly<Record<ColumnType, unknown>>;
/** Has each type, or does not compile. */
const types: { readonly [Type in ColumnType]: Type } = {
  text: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  timestamp: 'timestamp',
  json: 'json',
};

/** A row that is read back in its place: PostgreSQL fills the gaps that removed rows leave. */
type PlacedRow = Row & { readonly nth: number };
const schema: RowSchema<PlacedRow> = {
  columns: ['nth', ...Object.keys(types)],
  types: { ...types, nth: 'integer' },
};

const put = (database: TestDatabase, rows: readonly Row[]) =>
  exportTo(
    itemSource<PlacedRow>([rows.map((row, nth) => ({ ...row, nth }))], { pageSize: 1_000 }, schema),
    database.sink<PlacedRow>({ table: 'v', mode: 'replace' }),
    { restart: true },
  ).run();

interface Inherited {
  readonly id: number;
  readonly constructor: string;
}

const digits = fc.stringMatching(/^-?[1-9]\d{0,60}$/);
const year = fc.oneof(
  fc.integer({ min: 1_000, max: 9_999 }).map(String),
  fc.constantFrom('0000', '0001', '-004000', '+012345'),
);
const two = (max: number, min = 0) => fc.integer({ min, max }).map((value) => String(value).padStart(2, '0'));
const timestamp = fc
  .tuple(year, two(12, 1), two(28, 1), two(23), two(59), two(59))
  .chain(([y, month, day, ...time]) =>
    fc
      .tuple(
        fc.constantFrom('T', 't', ' '),
        fc.constantFrom('', '.5', ',5', '.123456', '.1234560', '.000001'),
        fc.constantFrom('Z', 'z', '+05:30', '-0330', '+14', '-23:59'),
      )
      .map(([t, fraction, zone]) => `${y}-${month}-${day}${t}${time.join(':')}${fraction}${zone}`),
  );
const row: fc.Arbitrary<Row> = fc.record({
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '\\N', '\\.', '\t\r\n\\', '\0x', '\ud800', ' a ')),
  integer: fc.oneof(fc.bigInt(), fc.maxSafeInteger(), digits, fc.constantFrom(-0, '1.5e1', '1e400', '007')),
  number: fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.tuple(digits, fc.stringMatching(/^\d{1,40}$/)).map(([whole, part]) => `${whole}.${part}`),
    fc.constantFrom(-0, 1e21, '1e400', '-1E-300', '.5', '5.'),
  ),
  boolean: fc.oneof(fc.boolean(), fc.constantFrom('true', 'false')),
  timestamp,
  json: fc.oneof(
    fc.jsonValue(),
    fc
      .constantFrom<unknown>('', '\0', '\ud800', { '\0': ['\udc00\\u0000'] }, 1e308, -0)
      .filter((value) => value !== null),
  ),
});

/** A number as its digits and its exponent, so that equal ones are equal. */
function canonical(value: unknown): string {
  const [, sign, whole = '', part = '', exponent = '0'] =
    /^(-?)\+?(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(String(value)) ?? [];
  const all = `${whole}${part}`.replace(/^0+/, '');
  const kept = all.replace(/0+$/, '');
  return kept === '' ? '0' : `${sign ?? ''}${kept}e${Number(exponent) - part.length + all.length - kept.length}`;
}

describe.each(databaseKinds)('D4 the values of $name', ({ open, name: kind }) => {
  const timestamp = kind === 'SQLite' ? 'timestamp' : 'extract(epoch FROM timestamp) * 1000000';
  const micros = (text: string | null | undefined): bigint | undefined =>
    kind === 'SQLite' ? timestampMicros(text) : BigInt(String(text).replace(/\.0+$/, ''));

  test('are those of the rows, for another reader', { tags: ['slow'] }, async () => {
    const database = await open();
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 60 }), async (rows) => {
        await put(database, rows);
        const found = await readByProgram(kind, database, { ...types, timestamp }, 'v ORDER BY CAST(nth AS integer)');
        expect(
          found.map<Row>((read) => ({
            text: read['text'],
            boolean: /^(1|t|true)$/.test(read['boolean'] ?? ''),
            integer: canonical(read['integer']),
            number: canonical(read['number']),
            timestamp: micros(read['timestamp']),
            json: read['json'] === null ? null : (JSON.parse(String(read['json'])) as unknown),
          })),
        ).toEqual(
          rows.map<Row>((given) => ({
            text: String(given.text).replace(/[\0\p{Surrogate}]/gu, '\uFFFD'),
            boolean: String(given.boolean) === 'true',
            integer: canonical(given.integer),
            number: canonical(given.number),
            timestamp: timestampMicros(given.timestamp),
            json: JSON.parse(JSON.stringify(given.json)) as unknown,
          })),
        );
      }),
      { numRuns: casesOf(60) },
    );
  });

  test.each([
    ['integer', 2 ** 53, 'integer'],
    ['integer', '1.5', 'integer'],
    ['integer', '1e999999', 'integer'],
    ['number', NaN, 'number'],
    ['number', '12 €', 'number'],
    ['boolean', 1, 'boolean'],
    ['timestamp', '2024-01-01T00:00:00', 'timestamp'],
    ['timestamp', '2016-12-31T23:59:60Z', 'timestamp'],
    ['timestamp', '2024-02-30T00:00:00Z', 'timestamp'],
    ['timestamp', '2024-01-01T00:00:00.1234567Z', 'timestamp'],
    ['json', 1n, 'json'],
  ])('are refused if %s is %s', async (column, value, type) => {
    const database = await open();
    const given = { text: 'a', integer: 1, number: 1, boolean: true, timestamp: '2024-01-01T00:00:00Z', json: {} };
    await expect(put(database, [given, { ...given, [column]: value }])).rejects.toThrow(
      new RegExp(`^Row 2: ${column} is .*, which is not an? ${type}`),
    );
  });

  test('are text in a column whose name objects inherit, if the source declares no type', async () => {
    const database = await open();
    const schema: RowSchema<Inherited> = { columns: ['id', 'constructor'], types: { id: 'integer' } };
    const source = itemSource<Inherited>([[{ id: 1, constructor: 'a' }]], {}, schema);
    await exportTo(source, database.sink<Inherited>({ table: 'inherited' })).run();
    expect(await database.query('SELECT * FROM inherited')).toEqual([{ id: '1', constructor: 'a' }]);
  });
});
