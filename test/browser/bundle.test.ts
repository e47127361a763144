import { builtinModules } from 'node:module';
import { describe, expect, test } from 'vitest';
import { bundle } from './bundle.js';
import { excess, measure, readBudgets } from './sizes.js';

describe('core, streams and aptos in a bundle for browsers', () => {
  test('contain no module of Node, and no import that is resolved at run time', async () => {
    const { imports, parts, text } = await bundle({ path: 'page/page.ts' });
    expect(imports).toEqual([]);
    const files = [...parts.keys()];
    expect(files.filter((path) => /core\/dist\/(node|testing)\//.test(path))).toEqual([]);
    expect(files.some((path) => path.endsWith('core/dist/http/adapter/fetchAdapter.js'))).toBe(true);
    expect(text).not.toMatch(new RegExp(`(?:require|import)\\(["'](?:node:|(?:${builtinModules.join('|')})["'])`));
  });

  test('contain nothing that a page does not import', async () => {
    const { parts } = await bundle(
      { text: "export { poll } from '@sluice/core'; export { byCursor } from '@sluice/core/define';" },
      { external: ['rxjs'] },
    );
    const used = [...parts].filter(([, bytes]) => bytes > 0).map(([path]) => path);
    expect(used.filter((path) => /bottleneck|retry/i.test(path))).toEqual([]);
    expect([...parts.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(20_000);
  });

  test('are no larger than their budget', async () => {
    const budgets = readBudgets();
    const sizes = Object.entries(await measure());
    expect(sizes.map(([name]) => name)).toEqual(Object.keys(budgets));
    expect(sizes.flatMap(([name, size]) => excess(name, size, budgets[name]!) ?? [])).toEqual([]);
  });
});

describe('a bundle above its budget', () => {
  test('is reported with the excess, and with what grew most', () => {
    const budget = { gzip: 1_000, parts: { 'core/http': 900, 'core/sink': 800, rest: 50 } };
    const size = { gzip: 1_050, parts: { 'core/http': 910, 'core/sink': 900, new: 40 } };
    expect(excess('core', size, budget)).toBe(
      'core: 1050 bytes (gzip), 50 (5.0 %) above its budget of 1000. Growth since it was set, in uncompressed bytes: core/sink +100, new +40, core/http +10. To accept it: npm run size.',
    );
    expect(excess('core', { ...size, gzip: 1_000 }, budget)).toBeUndefined();
  });
});
