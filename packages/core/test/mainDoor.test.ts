import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('the main entry has at most 70 names, so that a reader finds those that a program needs', () => {
  const entry = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8');
  const lists = [...entry.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = '']) => list);
  const names = lists.flatMap((list) => list.split(',')).filter((name) => name.trim() !== '');
  expect(names.length, 'the export lists were not found').toBeGreaterThan(50);
  expect(
    names.length,
    'A name belongs to the main entry if a program writes it. What authors of sinks, stores and limiters need is in kit.ts, what describes an API in define/index.ts: a declaration finds their types from here.',
  ).toBeLessThanOrEqual(70);
});
