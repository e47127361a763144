import { expect, test } from 'vitest';
import { UsageError } from '../../src/errors/errors.js';
import { readOwners } from '../../src/input/owners.js';

test.each([
  ['', []],
  ['0x1', ['0x1']],
  ['0x1\n0x2\n', ['0x1', '0x2']],
  ['\ufeff0x1\r\n\r\n  0xAb  # the treasury\r\n# 0x3\r\n', ['0x1', '0xAb']],
  ['0x1\r0x2', ['0x1', '0x2']],
])('the addresses of %j are %j', (text, owners) => {
  expect(readOwners(text, 'owners.txt')).toEqual(owners);
});

test.each([
  ['0x1\n\n# a comment\n0xzz', 'owners.txt:4: "0xzz" is not an account address. It must be 0x and 1 to 64 hex digits.'],
  [`0x${'1'.repeat(65)}`, `owners.txt:1: "0x${'1'.repeat(65)}" is not an account address.`],
  ['0x1,0x2', 'owners.txt:1: "0x1,0x2" is not an account address.'],
  ['0x', 'owners.txt:1: "0x" is not an account address.'],
  ['0x1 0x2', 'owners.txt:1: "0x1 0x2" is not an account address.'],
  ['treasury.apt', 'owners.txt:1: "treasury.apt" is not an account address.'],
])('in %j the malformed one is named with its line', (text, message) => {
  expect(() => readOwners(text, 'owners.txt')).toThrow(UsageError);
  expect(() => readOwners(text, 'owners.txt')).toThrow(message);
});
