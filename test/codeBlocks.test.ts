// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeIn, standsInExample } from './shownCode.js';
import { pages } from './shownCode/pages.js';
import { ShownProgram, type Block } from './shownCode/shownProgram.js';

const root = join(import.meta.dirname, '..');

/** The code on a page that is not part of an example. Examples are compiled and run as complete files. */
function blocksOn(page: string): Block[] {
  const shown = codeIn(readFileSync(join(root, page), 'utf8'), 'ts');
  return shown.filter((code) => !standsInExample(code)).map((code) => ({ place: page, code }));
}

const planted: Block[] = [
  { place: 'planted type', code: "const rows: number = '12';" },
  { place: 'planted name', code: 'await exportTo(source, nowhere).run();' },
  { place: 'planted option', code: "csv({ path: 'a.csv', colums: ['a'] });" },
  { place: 'planted object', code: '{ requests: 25 }', type: 'Limit' },
  {
    place: 'planted version',
    code: `import { z } from 'zod';
    listing({ path: '/c', paging: onePage(), rows: '', schema: z.object({ id: z.string() }), columns: ['id'] });`,
  },
  { place: 'planted syntax', code: 'const rows = …;' },
];

test('every piece of TypeScript on a page or in a docstring compiles', () => {
  const program = new ShownProgram();
  const blocks = [...program.examples, ...pages.flatMap(blocksOn)];
  expect(program.examples.length).toBeGreaterThan(20);
  const faults = program.faults([...blocks, ...planted]);
  const isPlanted = (fault: string): boolean => fault.startsWith('planted ');
  expect(faults.filter((fault) => !isPlanted(fault))).toEqual([]);
  // A forgotten version is what most people forget: the compiler has to name it.
  expect(faults.filter((fault) => fault.startsWith('planted version'))).toEqual([
    expect.stringContaining("Property 'version' is missing"),
  ]);
  expect([...new Set(faults.filter(isPlanted).map((fault) => fault.split(':', 1)[0]))]).toEqual(
    planted.map(({ place }) => place),
  );
});
