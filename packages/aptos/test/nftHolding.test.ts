import { describe, expect, test } from 'vitest';
import { amountOf, nftHoldingSchema, tokenPropertiesOf } from '../src/index.js';

describe('the amount of a holding', () => {
  test.each([
    ['1', 1n],
    ['9007199254740993', 9007199254740993n],
    [String(2n ** 256n - 1n), 2n ** 256n - 1n],
    ['007', 7n],
    ['-5', -5n],
  ])('%s is read exactly', (amount, value) => {
    expect(amountOf({ amount })).toBe(value);
  });

  test.each(['', ' ', '1.5', '1e3', '0x10', ' 1', '1 ', '1\n', '+1', '1_000', 'many', null, undefined])(
    '%j is no whole number',
    (amount) => {
      expect(amountOf(amount === undefined ? {} : { amount })).toBeUndefined();
    },
  );
});

describe('the properties of a token', () => {
  test('are the same whether they came as text or as a document', () => {
    const document = { level: 7, list: [1, { deep: null }] };
    expect(tokenPropertiesOf({ token_properties: document })).toEqual(document);
    expect(tokenPropertiesOf({ token_properties: JSON.stringify(document) })).toEqual(document);
  });

  test.each([undefined, null, '', 'null', 'not json', '{"cut":'])('%j are none', (properties) => {
    expect(tokenPropertiesOf({ token_properties: properties })).toBeUndefined();
  });

  test('with __proto__ change nothing but themselves', () => {
    const properties = tokenPropertiesOf({ token_properties: '{"__proto__":{"polluted":"yes"},"toString":"text"}' });
    expect(JSON.stringify(properties)).toBe('{"__proto__":{"polluted":"yes"},"toString":"text"}');
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('the key of a holding', () => {
  const key = nftHoldingSchema.key ?? String;
  const nft = { owner_address: '0x1', token_data_id_hash: 'ab', property_version: '0', amount: '1' };

  test('is its owner, token and property version', () => {
    expect(key({ ...nft, amount: '2', name: 'other' })).toBe(key(nft));
    expect(key({ ...nft, property_version: '1' })).not.toBe(key(nft));
    expect(key({ ...nft, token_data_id_hash: 'ac' })).not.toBe(key(nft));
    expect(key({ ...nft, owner_address: '0x2' })).not.toBe(key(nft));
  });

  test('does not run its parts together', () => {
    const one = { owner_address: '0x1', token_data_id_hash: '2","3' };
    const two = { owner_address: '0x1","2', token_data_id_hash: '3' };
    expect(key(one)).not.toBe(key(two));
  });
});
