import { expect, test } from 'vitest';
import { colorsFor } from '../../src/terminal/colors.js';

test.each([
  ['a terminal has colours', true, {}, true],
  ['a pipe has none', false, {}, false],
  ['NO_COLOR takes them away', true, { NO_COLOR: '1' }, false],
  ['whatever its value', true, { NO_COLOR: 'false' }, false],
  ['but for an empty one', true, { NO_COLOR: '' }, true],
  ['a dumb terminal has none', true, { TERM: 'dumb' }, false],
  ['FORCE_COLOR gives them to a pipe', false, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR=0 does not', false, { FORCE_COLOR: '0' }, false],
  ['NO_COLOR wins over FORCE_COLOR', true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
])('%s', (_, isTerminal, variables, isColored) => {
  expect(colorsFor(isTerminal, variables).red('x')).toBe(isColored ? '\u001b[31mx\u001b[39m' : 'x');
});
