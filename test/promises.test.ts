import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promisesNotTested } from '../scripts/promisesTested.mjs';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/promises.md'), 'utf8');
const promises = [...page.matchAll(/^\| \*\*([A-Z]\d+)\*\* +\|(.*)$/gm)].map(([, number = '', row = '']) => ({
  number,
  commands: [...row.matchAll(/`(n[pm]+x? [^`]*)`/g)].map(([, command = '']) => command),
}));

/** The numbers that titles of tests start with. */
const proven = new Set(
  ['test', ...readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'test'))]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => /\.test(-d)?\.ts$/.test(path))
    .flatMap((path) => [...readFileSync(join(root, path), 'utf8').matchAll(/['"`]([TLPECDWGAKUR]\d+) \S/g)])
    .map(([, number = '']) => number),
);

describe('the page of promises', () => {
  test('has every number in the titles of tests, and no other', () => {
    expect(promises.map(({ number }) => number).toSorted()).toEqual([...proven].toSorted());
  });

  test('names for each promise its own tests, and only existing campaigns', () => {
    const { scripts }: { readonly scripts: object } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const { number, commands } of promises) {
      const [tests, ...campaigns] = commands;
      expect(tests, number).toBe(`npx vitest run -t "${number} "`);
      for (const command of campaigns) {
        const [, campaign] = /^npm run prove -- (\w+)/.exec(command) ?? [];
        if (campaign === undefined)
          expect(scripts, command).toHaveProperty([command.replace(/^npm (run )?| -- .*$/g, '')]);
        else expect(existsSync(join(root, 'prove', `${campaign}.ts`)), command).toBe(true);
      }
    }
    expect(page.match(/npm run prove -- \w+/g)?.length).toBeGreaterThan(4);
  });
});

describe('npm test', () => {
  const page = ['P1', 'P2', 'P3', 'P4'].map((number) => `| **${number}** | a promise |`).join('\n');
  const tests = (...all: readonly (readonly [string, string, ...string[]])[]) => ({
    testResults: all.map(([fullName, status, ...tags]) => ({ assertionResults: [{ fullName, status, tags }] })),
  });

  test('names the promises that have slow tests only, and those whose other tests were all skipped', () => {
    const report = tests(
      ['a file P1 is one that ran', 'passed'],
      ['a file P1 P2 is one that was skipped', 'skipped'],
      ['P3 is one that is slow', 'passed', 'slow'],
      ['P4 is one that failed', 'failed'],
    );
    expect(promisesNotTested(page, report)).toEqual({ slow: ['P3'], skipped: ['P2'] });
  });
});
