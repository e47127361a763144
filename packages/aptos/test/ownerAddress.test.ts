import { ConfigError } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { ownerAddress } from '../src/index.js';

describe('an owner address', () => {
  test.each([
    ['0x1', `0x${'0'.repeat(63)}1`],
    ['0xCaFe', `0x${'0'.repeat(60)}cafe`],
    ['0X0', `0x${'0'.repeat(64)}`],
    [`0x${'F'.repeat(64)}`, `0x${'f'.repeat(64)}`],
    [`0x${'0'.repeat(63)}1`, `0x${'0'.repeat(63)}1`],
  ])('%s is written in its long form', (text, long) => {
    expect(ownerAddress(text)).toBe(long);
  });

  test.each([
    '',
    '0x',
    '1',
    'x1',
    `0x${'1'.repeat(65)}`,
    '0xg',
    ' 0x1',
    '0x1 ',
    '0x1\n',
    '0x1,0x2',
    '0x1&limit=1',
    '0x１',
    'alice.apt',
    'x'.repeat(10_000),
  ])('is not %j', (text) => {
    const error = (() => {
      try {
        return ownerAddress(text);
      } catch (reason) {
        return reason;
      }
    })();
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toHaveProperty('message', expect.stringMatching(/is not an account address.*1 to 64 hex digits/s));
    expect(String(error).length).toBeLessThan(300);
  });
});
