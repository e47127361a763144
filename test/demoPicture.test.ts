// @module-tag slow
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { demoLines, pictures, shapeOf, withoutProgress } from '../scripts/demoPicture.js';
import { dark, drawn, light, linesIn } from '../scripts/terminalPicture.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

const shown = {
  dark: linesIn(readFileSync(pictures.dark, 'utf8')),
  light: linesIn(readFileSync(pictures.light, 'utf8')),
};

test('the pictures show what the demo prints; if not, `npm run picture` draws them again', async ({ signal }) => {
  const printed = shapeOf(await demoLines(temporaryFolder(), signal));
  expect(printed.length).toBeGreaterThan(10);
  expect(shapeOf(shown.dark)).toEqual(printed);
});

test('the lines of progress of a slow machine are not shown', () => {
  const progress = '7,900 of 8,000 rows, 812/s, 79 pages, 84 requests, 5 retries (HTTP 503), waited 2.1 s, 1 s left\n';
  const summary = '8,000 rows in 80 pages -> holdings.csv (3.5 MB, 5.3 s, 5 retries)\n';
  expect(withoutProgress(progress + summary)).toBe(summary);
});

test('the pictures for dark and light pages show the same run', () => {
  expect(shown.light).toEqual(shown.dark);
});

test('a change of the words is detected, a change of numbers and times is not', () => {
  const lines = ['8,000 rows in 80 pages (3.5 MB, 4.4 s, 5 retries)', '2026-03-01 14:05:09  a-1  active -> error'];
  const later = ['8,001 rows in 81 pages (3.6 MB, 51 s, 1 retry)', '2027-04-02 15:06:10  b-22  error -> active'];
  expect(shapeOf(later)).toEqual(shapeOf(lines));
  expect(shapeOf(['8,000 rows on 80 pages'])).not.toEqual(shapeOf(['8,000 rows in 80 pages']));
});

test.each([
  ['dark', dark],
  ['light', light],
])('a %s picture has each word in its column and colour, and the original text', (_, theme) => {
  const svg = drawn(['\u001b[1ma\u001b[22m  \u001b[31m<b> & c\u001b[39m'], theme);
  expect(linesIn(svg).map((line) => line.trim())).toEqual(['a <b> & c']);
  expect(svg).toContain('<tspan x="16" textLength="8" font-weight="bold">a</tspan>');
  expect(svg).toContain(`<tspan x="40" textLength="56" fill="${theme.colors[31]}">&lt;b&gt; &amp; c</tspan>`);
});
