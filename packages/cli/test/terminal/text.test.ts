import { describe, expect, test } from 'vitest';
import { visibleText } from '../../src/terminal/text.js';
import { cutToWidth, displayWidth } from '../../src/terminal/width.js';

describe('text from outside', () => {
  test.each([
    ['plain, "quoted" 東京 🦊 é', 'plain, "quoted" 東京 🦊 é'],
    ['two\r\nlines\tand a tab', 'two␍␊lines␉and a tab'],
    ['\u001b[2J\u001b]0;title\u0007', '␛[2J␛]0;title␇'],
    ['\u0000\u007f', '␀␡'],
    ['\u009b31m', '\\u009b31m'],
    ['left \u202eright\u202c', 'left \\u202eright\\u202c'],
    ['\ufeffmark and \u2028line', '\\ufeffmark and \\u2028line'],
  ])('%j shows as %j and does nothing', (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  test('keeps what joins an emoji together', () => {
    expect(visibleText('🏳️‍🌈')).toBe('🏳️‍🌈');
  });
});

describe('the width of a text', () => {
  test.each([
    ['', 0],
    ['plain', 5],
    ['Zoe\u0308', 3],
    ['東京の夜、雨', 12],
    ['＝1', 3],
    ['🦊🌊', 4],
    ['🏳️‍🌈', 2],
    ['أوسف', 4],
    ['█▏…', 3],
  ])('%j is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('a text that is cut', () => {
  test.each([
    ['plain', 5, 'plain'],
    ['plain', 4, 'pla…'],
    ['plain', 1, '…'],
    ['plain', 0, ''],
    ['東京の夜', 8, '東京の夜'],
    ['東京の夜', 7, '東京の…'],
    ['東京の夜', 6, '東京…'],
    ['🏳️‍🌈🏳️‍🌈', 3, '🏳️‍🌈…'],
    ['e\u0308e\u0308e\u0308', 2, 'e\u0308…'],
  ])('%j to %i columns is %j', (text, width, cut) => {
    expect(cutToWidth(text, width)).toBe(cut);
    expect(displayWidth(cut)).toBeLessThanOrEqual(width);
  });
});
