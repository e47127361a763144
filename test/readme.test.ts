import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { run } from './run.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language = '', code = '']) => ({
  language,
  code,
}));
const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'));

describe('the README', () => {
  test('can be read on one screen or three', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(120);
  });

  test('shows code that stands in an example, word for word', () => {
    const code = examples.map((name) => withoutIndent(readFileSync(join(root, 'examples', name), 'utf8')));
    const shown = blocks.filter(({ language }) => language === 'ts');
    expect(shown.length).toBeGreaterThan(3);
    for (const block of shown)
      expect(
        code.some((text) => text.includes(withoutIndent(block.code))),
        block.code,
      ).toBe(true);
  });

  test.each(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'])(
    '%s links to nothing that is not there',
    (page) => {
      const targets = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(
        ([, target = '']) => target,
      );
      for (const target of targets) expect(existsSync(join(root, target)), target).toBe(true);
    },
  );

  test('shows commands that run', async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const lines = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ code }) => code.split('\n'))
      .filter((line) => line.startsWith('sluice '));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const cwd = await mkdtemp(join(tmpdir(), 'sluice-readme-'));
      const { code, output } = await run([join(root, 'packages/cli/dist/bin.js'), ...line.split(' ').slice(1)], cwd, {
        SLUICE_API_KEY: sandbox.apiKey,
        SLUICE_APTOS_URL: sandbox.aptosUrl,
        SLUICE_STREAMS_URL: sandbox.streamsUrl,
      });
      expect({ line, code, output }).toMatchObject({ code: 0 });
      expect(await readdir(cwd)).toEqual(['holdings.csv']);
    }
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

function withoutIndent(code: string): string {
  return code.replace(/^\s+/gm, '');
}
