// @module-tag slow
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { bundled } from '../scripts/bundled.js';
import { pictures } from '../scripts/demoPicture.js';
import { loaderCache } from '../scripts/temporaryFolder.setup.js';
import { someOf } from '../scripts/testEffort.js';
import { onTestEnd } from '../scripts/testScope.js';
import { run } from './run.js';
import { codeIn, examples, runShown, standsInExample } from './shownCode.js';
import { pages } from './shownCode/pages.js';
import { redisProgram, startRedis } from './kit/redisServer.js';
import { temporaryFolder } from './kit/temporaryFolder.js';
import { anchorOf } from '../site/pages.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
/** A plugin alone does nothing: its test runs it. Those take longest. */
const programs = [
  ...examples.filter((name) => dirname(name) === 'examples' && name !== 'examples/temporaryFolder.ts'),
  ...someOf(examples.filter((name) => name.endsWith('.test.ts'))),
];

describe('the README', () => {
  test('fits on one or two screens', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(90);
  });

  test('starts with a sentence, the lines of a program, two pictures and eight short points', () => {
    const program = codeIn(readme, 'ts').join('\n');
    const firstSteps = readFileSync(join(root, 'examples/firstSteps.ts'), 'utf8');
    expect(firstSteps.endsWith(`\n\n${program}`)).toBe(true);
    // The README leaves out only the imports and the simulated API.
    const left = firstSteps.slice(0, -program.length).replace(/^\/\/ .*|^import .* from '.*';$/gm, '');
    expect(left.trim().split('\n')).toEqual([
      expect.stringMatching(/^await using sandbox = await startSandbox\(/),
      expect.stringMatching(/^const \{.*\} = sandbox;$/),
    ]);
    const byHand = readFileSync(join(root, 'examples/byHand.ts'), 'utf8').trimEnd().split('\n');
    expect(readme).toContain(`[By hand](examples/byHand.ts) it is ${byHand.length} lines`);
    const images = [...readme.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, path = '']) => join(root, path));
    const page = ['dark', 'light'].map((scheme) => join(root, `docs/dashboard-${scheme}.png`));
    expect(images).toEqual([pictures.dark, pictures.light, ...page]);
    for (const path of images) expect(existsSync(path), path).toBe(true);
    const points = [...readme.matchAll(/^- \*\*(.*)$/gm)].map(([, point = '']) => point.split(' '));
    expect(points).toHaveLength(8);
    for (const words of points) expect(words.length, words.join(' ')).toBeLessThanOrEqual(13);
  });

  test('shows code that is part of an example, verbatim', () => {
    const shown = codeIn(readme, 'ts');
    expect(shown.length).toBeGreaterThan(0);
    for (const code of shown) expect(standsInExample(code), code).toBe(true);
  });

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
    expect(left).toEqual(['holdings.csv', 'holdings.csv.sluice', 'streams.sluice']);
  });
});

test.each(pages)('%s has no broken link', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g);
  const images = text.matchAll(/(?:src|srcset)="(?!https?:)([^"]*)"/g);
  for (const [link, path = '', anchor] of [...links, ...images]) {
    const target = path === '' ? join(root, page) : join(root, dirname(page), path);
    expect(existsSync(target), link).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(readFileSync(target, 'utf8')), link).toContain(anchor);
  }
});

/** A package's page is also in its tarball, without the rest of the repository. */
test.each(pages.filter((page) => page.startsWith('packages')))('%s links to nothing outside its package', (page) => {
  const [packages = '', name = ''] = page.split(sep);
  const targets = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)];
  for (const [link, path = ''] of targets)
    expect(join(dirname(page), path).startsWith(join(packages, name, sep)), link).toBe(true);
});

function anchorsOf(page: string): string[] {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
  return [...headings, ...[...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)];
}

// They mostly wait.
describe.concurrent('the examples', () => {
  /** What each one prints. */
  const needRedis = new Map([
    ['examples/severalMachines.ts', '3000 rows in holdings.csv'],
    ['examples/sharedLimit.ts', '3000 and 3000 rows'],
  ]);
  test.each(programs.filter((name) => !needRedis.has(name)))('%s runs', async (name) => {
    const folder = temporaryFolder();
    // Tests of plugins start the command that the examples have; programs may write files where they run.
    const cwd = name.endsWith('.test.ts') ? join(root, 'examples') : temporaryFolder();
    const { code, output } = await run(startOf(name), cwd, { TMPDIR: folder });
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/\S/) });
    expect(readdirSync(folder).filter((left) => !loaderCache.test(left))).toEqual([]);
  });

  test.runIf(redisProgram !== undefined).each([...needRedis])('%s runs with a Redis', async (name, printed) => {
    const redis = await startRedis();
    onTestEnd(() => redis.close());
    const folder = temporaryFolder();
    const variables = { SLUICE_REDIS_URL: redis.url, TMPDIR: folder };
    const { code, output } = await run(startOf(name), join(root, 'examples'), variables);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining(printed) });
    expect(readdirSync(folder)).toEqual([]);
  });
});

/**
 * The arguments for Node to start an example: a bundle of it, or the file itself with a loader if it needs a native
 * module, which cannot be bundled.
 */
function startOf(name: string): string[] {
  const path = join(root, name);
  const isNative = readFileSync(path, 'utf8').includes("'./sqlite.js'");
  return isNative ? [join(root, 'examples/node_modules/tsx/dist/cli.mjs'), path] : [bundled(pathToFileURL(path))];
}
