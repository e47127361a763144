import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { kinds } from '../examples/kinds/kinds.js';
import { countCoverage, isSayable, readConnectors } from '../prove/connectors/countCoverage.js';
import { needs } from '../prove/connectors/needs.js';

const docs = join(import.meta.dirname, '../docs');
const page = readFileSync(join(docs, 'coverage.md'), 'utf8');
const { all, sayable, byOptions, counts } = countCoverage(readConnectors());
const share = (count: number): string => `${((100 * count) / all).toFixed(0)} %`;

describe('R14 the page of coverage', () => {
  test('R14 has the shares that are counted', () => {
    expect(page).toContain(`**${sayable} of ${all} (${share(sayable)}), ${byOptions} of them (${share(byOptions)})`);
  });

  test('R14 names well-known APIs of both kinds', () => {
    const [, can = '', cannot = ''] = /20 can: ([^.]*)\. The others are ([^:]*):/s.exec(page) ?? [];
    const connectors = readConnectors();
    const named = (names: string) =>
      names.split(/,\s+|\s+and\s+/).map((name) => {
        const text = name.trim().toLowerCase().replaceAll(/\s+/g, '-');
        return (
          connectors.find((each) => each.name === text) ?? connectors.find((each) => each.name.startsWith(`${text}-`))
        );
      });
    expect(named(can).map((each) => each && isSayable(each))).toEqual(Array(20).fill(true));
    expect(named(cannot).map((each) => each && isSayable(each))).toEqual(Array(16).fill(false));
  });

  test('R14 lists each need, how many APIs have it, and what there is for it', () => {
    const listed = tableRows(page).map(([need, count, ...rest]) => [need, Number(count), ...rest]);
    const known = Object.entries(needs).map(([need, known]) => [
      need,
      counts.get(need) ?? 0,
      known?.by,
      known?.example,
    ]);
    expect(listed.filter(([, , by]) => by === 'options' || by === 'code').toSorted()).toEqual(
      known.filter(([, , by]) => by !== undefined).toSorted(),
    );
    expect(
      listed
        .filter(([, , by]) => by !== 'options' && by !== 'code')
        .map(([need, count]) => [need, count])
        .toSorted(),
    ).toEqual(
      known
        .filter(([, , by]) => by === undefined)
        .map(([need, count]) => [need, count])
        .toSorted(),
    );
  });
});

test('R14 each need of a connector is known, and has an example if a definition can say it', () => {
  const examples = new Set(kinds.map(({ says }) => says));
  expect([...counts.keys()].filter((need) => !Object.hasOwn(needs, need))).toEqual([]);
  expect(Object.values(needs).filter((need) => need && !examples.has(need.example))).toEqual([]);
});

test('R14 the guide has a line for each example, and no other', () => {
  const guide = readFileSync(join(docs, 'guides/apiKinds.md'), 'utf8');
  expect(
    tableRows(guide, 'your API …')
      .map(([says]) => says)
      .toSorted(),
  ).toEqual(kinds.map(({ says }) => says).toSorted());
});

/** The cells of all tables, without their heads. @param head what the tables begin with */
function tableRows(text: string, head = ''): string[][] {
  const tables = text.split('\n\n').filter((block) => block.startsWith(`| ${head}`));
  return tables.flatMap((table) =>
    table
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2)
      .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim())),
  );
}
