import { expect, test } from 'vitest';
import { growthPicture, type Growth, type GrowthPoint } from '../benchmarks/figures/growthPicture.js';
import { palettes } from '../scripts/chart.js';

const mebibyte = 2 ** 20;
const growth: Growth = {
  rows: [point(10_000, 39_000, 156), point(1_000_000, 44_120, 162)],
  partitions: [point(1, 1_560, 137), point(8, 12_300, 144), point(64, 43_900, 168)],
  latencies: [point(0, 42_000, 150), point(200, 490, 146)],
  concurrentLatencies: [point(0, 41_000, 160), point(200, 3_850, 157)],
  partitionLatency: 60,
  concurrency: 8,
  maxPeakRss: 200 * mebibyte,
};
const light = growthPicture(growth, palettes.light);
const dark = growthPicture(growth, palettes.dark);

test('the pictures of growth say in words what grows, the first and last values, and the bound', () => {
  expect(textsIn(light)).toEqual(
    expect.arrayContaining([
      'rows of one partition, no latency',
      '10K',
      '1M',
      '39K',
      '44.1K',
      '156',
      '162',
      'concurrent partitions, 60 ms a page',
      '64 times one partition',
      '43.9K',
      '168',
      'bound: 200',
      'latency of a page, ms',
      'concurrency 1: 490',
      'concurrency 8: 3.85K',
    ]),
  );
});

test('the pictures for light and dark pages differ in colours only, and are the same each time', () => {
  expect(light).toBe(growthPicture(growth, palettes.light));
  expect(light).not.toBe(dark);
  expect(withoutColours(light)).toBe(withoutColours(dark));
  for (const [svg, palette] of [[light, palettes.light] as const, [dark, palettes.dark] as const])
    for (const [colour] of svg.matchAll(/#[0-9a-f]{6}/g)) expect(Object.values(palette)).toContain(colour);
});

test('a value beyond an axis is drawn at its end, inside the picture', () => {
  const tall = { ...growth, rows: [point(10_000, 1, 9_000), point(100_000, 10 ** 9, 0)] };
  const [points = ''] = /(?<=points=")[^"]+/.exec(growthPicture(tall, palettes.light)) ?? [];
  expect(points).toBe('56.0,200.0 292.0,40.0');
});

function point(of: number, rowsPerSecond: number, mebibytes: number): GrowthPoint {
  return { of, rowsPerSecond, peakRss: mebibytes * mebibyte };
}

function textsIn(svg: string): (string | undefined)[] {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, text]) => text);
}

function withoutColours(svg: string): string {
  return svg.replace(/#[0-9a-f]{6}/g, '#');
}
