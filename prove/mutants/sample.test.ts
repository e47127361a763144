import { expect, test } from 'vitest';
import type { Source } from './coverage.js';
import { equivalents } from './equivalent.js';
import { mutantsOf } from './mutator.js';
import { sampled } from './sample.js';

function aSource(name: string, text: string): Source {
  const mutants = mutantsOf(text).map((mutant) => ({ ...mutant, probe: undefined }));
  return { path: `/src/${name}`, name, text, mutants, probes: new Map() };
}

const manyNumbers = 'a(1);\n'.repeat(50);
const sources = [
  aSource('http/a.ts', manyNumbers),
  aSource('http/b.ts', manyNumbers),
  aSource('sink/a.ts', 'if (a < b) c();\nd();'),
];

test('a seed selects the same mutants of each folder, another seed others', () => {
  const taken = (seed: number): string[] =>
    sampled(sources, { count: 10, seed }).map(({ where, change }) => `${where} ${change}`);
  expect(taken(1)).toEqual(taken(1));
  expect(taken(1)).not.toEqual(taken(2));
  expect(taken(1).filter((each) => each.startsWith('http/'))).toHaveLength(10);
  // There are no more.
  expect(
    taken(1)
      .filter((each) => each.startsWith('sink/'))
      .toSorted(),
  ).toEqual([
    'sink/a.ts:1 < -> <=',
    'sink/a.ts:1 a < b -> false',
    'sink/a.ts:1 a < b -> true',
    'sink/a.ts:1 c(); -> ;',
    'sink/a.ts:2 d(); -> ;',
  ]);
});

test('selects a single folder, or all of a file or a line', () => {
  expect(new Set(sampled(sources, { count: 200, seed: 1, folder: 'http' }).map(({ source }) => source.name))).toEqual(
    new Set(['http/a.ts', 'http/b.ts']),
  );
  expect(sampled(sources, { count: 1, seed: 1, at: 'sink/a.ts' })).toHaveLength(5);
  expect(sampled(sources, { count: 1, seed: 1, at: 'sink/a.ts:2' }).map(({ change }) => change)).toEqual(['d(); -> ;']);
});

test('the folders take turns, so that an interrupted run has results for each', () => {
  const folders = sampled(sources, { count: 3, seed: 1 }).map(({ where }) => where.split('/')[0]);
  expect(folders).toEqual(['http', 'sink', 'http', 'sink', 'http', 'sink']);
});

test('mutants that behave like the source are not selected', () => {
  for (const { file, line, change } of equivalents) {
    const known = sampled([aSource(file, `${line}\n`)], { count: 1_000, seed: 1 });
    expect(known.map((candidate) => candidate.change)).not.toContain(change);
  }
});
