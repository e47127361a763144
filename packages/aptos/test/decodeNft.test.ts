import { describe, expect, test } from 'vitest';
import { brokenResults, faultOf, resultShapes } from '../../core/test/define/resultShapes.js';
import { nfts } from '../src/nfts.js';

/** A holding is told by its key. */
const key = { owner_address: '0x1' };
const ofKey = (fields: string): string => `{"owner_address":"0x1",${fields}}`;
const decode = (text: string) => nfts.read({ body: JSON.parse(text) }, 'aptos.nfts');
const refusalOf = (text: string) => faultOf(() => decode(text));

describe('the result of a page of holdings', () => {
  test.each(resultShapes)('may be %s', (_shape, text, rows) => {
    expect(decode(text).rows).toEqual(rows);
  });

  test.each<(typeof brokenResults)[number]>([
    ...brokenResults,
    ['a nested answer', '{"result":{"result":[{"name":"a"}]}}', 'result[0]'],
  ])('may not be %s', (_shape, text, path) => {
    expect(refusalOf(text)).toMatchObject({ code: 'decode', details: { route: 'aptos.nfts', path } });
  });
});

describe('after a page of holdings the walk', () => {
  // What hasNextPage says, what the cursor says, and how the walk goes on.
  test.each([
    ['true', '"c"', { cursor: 'c' }],
    ['true', '""', 'by-offset'],
    ['true', 'null', 'by-offset'],
    ['true', undefined, 'by-offset'],
    ['true', '7', 'fault at cursor'],
    ['true', '{}', 'fault at cursor'],
    ['false', '"c"', 'end'],
    ['false', '""', 'end'],
    ['false', 'null', 'end'],
    ['false', undefined, 'end'],
    ['false', '7', 'end'],
    [undefined, '"c"', { cursor: 'c' }],
    [undefined, '" "', { cursor: ' ' }],
    [undefined, '""', 'end'],
    [undefined, 'null', 'end'],
    [undefined, undefined, 'end'],
    [undefined, '7', 'fault at cursor'],
    ['null', '"c"', { cursor: 'c' }],
    ['null', 'null', 'end'],
    ['"false"', '"c"', 'fault at hasNextPage'],
    ['"true"', undefined, 'fault at hasNextPage'],
    ['0', 'null', 'fault at hasNextPage'],
    ['1', '"c"', 'fault at hasNextPage'],
  ])('with hasNextPage %s and cursor %s goes on: %j', (hasNextPage, cursor, next) => {
    const fields = Object.entries({ hasNextPage, cursor }).filter(([, value]) => value !== undefined);
    const text =
      `{"result":[{"owner_address":"0x1"}],${fields.map(([name, value]) => `"${name}":${value ?? ''}`).join(',')}`.replace(
        /,?$/,
        '}',
      );
    if (typeof next === 'string' && next.startsWith('fault at '))
      expect(refusalOf(text)).toMatchObject({ details: { path: next.slice('fault at '.length) } });
    else expect(decode(text).next).toEqual(next);
  });
});

describe('a field of a holding', () => {
  test('that is text stays as it is', () => {
    const row = { amount: '9007199254740993', name: '', owner_address: ' 0X1 ', property_version: '-0' };
    expect(decode(JSON.stringify({ result: row })).rows).toEqual([row]);
  });

  test.each(['{}', '{"amount":"1"}', '{"owner_address":null,"name":"a"}', '{"error":"busy","name":""}'])(
    'that has no part of its key makes %s something else than a holding',
    (row) => {
      expect(refusalOf(`{"result":[${ofKey('"name":""')},${row}]}`)).toMatchObject({ details: { path: 'result[1]' } });
    },
  );

  test('that is null or absent stays so', () => {
    expect(decode(`{"result":${ofKey('"amount":null')}}`).rows).toEqual([{ ...key, amount: null }]);
  });

  test.each([
    ['0', '0'],
    ['-7', '-7'],
    ['1e3', '1000'],
    ['9007199254740991', '9007199254740991'],
  ])('that is the number %s becomes the text it was meant to be', (number, text) => {
    expect(decode(`{"result":${ofKey(`"amount":${number}`)}}`).rows).toEqual([{ ...key, amount: text }]);
  });

  test.each(['9007199254740993', '-9007199254740992', '1.5', '1e400', 'true', '{}', '[]', '["1"]'])(
    'that is %s is refused, since it can not have arrived whole',
    (value) => {
      const text = `{"result":[${ofKey('"name":""')},{"amount":${value}}]}`;
      expect(refusalOf(text)).toMatchObject({ details: { path: 'result[1].amount' } });
    },
  );

  test.each(['"{\\"a\\":1}"', '{"a":1}', '"not json"', 'null', '7', '[1]', 'false'])(
    'that holds token properties may be %s, and is kept as it came',
    (value) => {
      const properties: unknown = JSON.parse(value);
      expect(decode(`{"result":${ofKey(`"token_properties":${value}`)}}`).rows).toEqual([
        { ...key, token_properties: properties },
      ]);
    },
  );

  test('that nobody knows is kept, whatever its name', () => {
    const text = '{"owner_address":"0x1","new":{"x":[1]},"__proto__":{"polluted":"yes"},"constructor":1}';
    expect(JSON.stringify(decode(`{"result":[${text}]}`).rows)).toBe(`[${text}]`);
    expect({}).not.toHaveProperty('polluted');
  });
});
