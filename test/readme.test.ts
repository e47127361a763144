import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { run } from './run.js';
import { codeIn, runShown, standsInExample } from './shownCode.js';
import { temporaryFolder } from './temporaryFolder.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'));
const guides = readdirSync(join(root, 'docs', 'guides')).map((name) => join('docs', 'guides', name));

describe('the README', () => {
  test('can be read on one screen or three', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(120);
  });

  test('shows code that stands in an example, word for word', () => {
    const shown = codeIn(readme, 'ts');
    expect(shown.length).toBeGreaterThan(3);
    for (const code of shown) expect(standsInExample(code), code).toBe(true);
  });

  test.each(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', ...guides])(
    '%s links to nothing that is not there',
    (page) => {
      const targets = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(
        ([, target = '']) => target,
      );
      for (const target of targets) expect(existsSync(join(root, dirname(page), target)), target).toBe(true);
    },
  );

  test('shows commands that run', async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const lines = codeIn(readme, 'sh')
      .flatMap((code) => code.split('\n'))
      .filter((line) => line.startsWith('sluice '));
    const left: string[] = [];
    for (const line of lines) {
      const cwd = temporaryFolder();
      const outcome = await runShown(line, { sandbox, cwd });
      expect({ line, ...outcome }).toMatchObject({ code: 0 });
      left.push(...(await readdir(cwd)));
    }
    expect(left).toEqual(['holdings.csv', 'known']);
  });
});

describe('the examples', () => {
  test.each(examples)('%s runs as it stands', async (name) => {
    const { code, output } = await run(
      [join(root, 'examples/node_modules/tsx/dist/cli.mjs'), name],
      join(root, 'examples'),
      {},
    );
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/\S/) });
  });
});
