import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, sep } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { describe, expect, inject, test } from 'vitest';
import { run } from '../run.js';
import { published } from './published.js';

/** Where the sources are: npm accepts a provenance only if the manifest names the repository that published it. */
const host = 'github.com/sluice-js/sluice';
const attw = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');

describe.each(published())('$name', ({ name, folder, tarball }) => {
  // npm extracts a tarball unchanged.
  const installed = join(inject('consumer'), 'node_modules', name);

  test('contains its code, its types, their sources, a README and the license, and nothing else', () => {
    const sources = filesIn(join(folder, 'src'));
    const declared = sources
      .filter((source) => !source.endsWith('.d.ts') && !source.startsWith('page/'))
      .flatMap((source) => ['.d.ts', '.d.ts.map'].map((kind) => `dist/${source.replace(/\.ts$/, kind)}`));
    const bundled = bundledIn(installed).flatMap((script) => [script, `${script}.map`]);
    const licenses = inlines(folder) ? ['dist/THIRD-PARTY-LICENSES.txt'] : [];
    // What browsers get has no types, and brings the licenses of all that is in it.
    const page = sources.some((source) => source.startsWith('page/'))
      ? ['LICENSES.txt', 'icon.svg', 'index.html', 'page.css', 'page.js'].map((file) => `dist/page/${file}`)
      : [];
    const pages = filesIn(join(folder, 'docs')).map((page) => `docs/${page}`);
    expect(filesIn(installed)).toEqual(
      [
        'LICENSE',
        'README.md',
        'package.json',
        ...sources.map((source) => `src/${source}`),
        ...declared,
        ...bundled,
        ...licenses,
        ...page,
        ...pages,
      ].sort(),
    );
  });

  test('has source maps that lead from compiled code to its sources', () => {
    const maps = filesIn(installed).filter((file) => file.endsWith('.map'));
    for (const map of maps) {
      const {
        sources,
        sourcesContent = [],
        ignoreList,
      }: SourceMap = JSON.parse(readFileSync(join(installed, map), 'utf8'));
      sources.forEach((source, at) => {
        // The map contains the command's copies of our packages, and only names those of dependencies.
        const isOurs = /^(\.\.\/)+(core|streams|aptos|exporters|tables|sandbox)\/src\//.test(source);
        if (isOurs) expect(sourcesContent[at], `${map}: ${source}`).toEqual(expect.any(String));
        else if (source.startsWith('../node_modules/')) expect(ignoreList, `${map}: ${source}`).toContain(at);
        else expect(existsSync(join(installed, dirname(map), source)), `${map}: ${source}`).toBe(true);
      });
      const mapped = readFileSync(join(installed, map.slice(0, -'.map'.length)), 'utf8');
      expect(mapped).toContain(`//# sourceMappingURL=${map.slice(map.lastIndexOf('/') + 1)}`);
    }
  });

  test('depends on nothing that only this workspace has', () => {
    const manifest = readFileSync(join(installed, 'package.json'), 'utf8');
    const directory = `packages/${basename(folder)}`;
    expect(manifest).not.toMatch(/workspace:|catalog:|file:|link:/);
    expect(JSON.parse(manifest)).toMatchObject({
      name,
      type: 'module',
      license: 'MIT',
      engines: { node: '>=20.19.0' },
      description: expect.stringMatching(/\.$/),
      homepage: `https://${host}/tree/main/${directory}#readme`,
      bugs: `https://${host}/issues`,
      repository: { type: 'git', url: `git+https://${host}.git`, directory },
    });
  });

  test('has no broken link', () => {
    for (const page of filesIn(installed).filter((file) => file.endsWith('.md'))) {
      const links = readFileSync(join(installed, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g);
      for (const [link, target = ''] of links) {
        const path = join(installed, dirname(page), target);
        expect(path.startsWith(join(installed, sep)) && existsSync(path), `${page}: ${link}`).toBe(true);
      }
    }
  });

  test('passes publint', async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball));
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test('has correct types for every way to import it (attw)', async () => {
    const args = [join(dirname(attw), 'dist/index.js'), tarball, '--profile', 'esm-only', '--no-color'];
    expect(await run(args, installed, {})).toMatchObject({ code: 0 });
  });
});

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly (string | null)[];
  readonly ignoreList?: readonly number[];
}

/** The command contains its dependencies, and core those that open no connection. */
function inlines(folder: string): boolean {
  const { bin }: { readonly bin?: object } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return bin !== undefined;
}

/** Every script that is reachable from an installed package's package.json. */
function bundledIn(installed: string): string[] {
  const {
    bin = {},
    exports,
    imports = {},
  }: Manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const named = JSON.stringify([bin, exports, imports]).match(/dist\/[\w./-]+?\.js(?=")/g) ?? [];
  const reached = new Set(named);
  // Iterating over a set includes items that are added on the way.
  for (const script of reached) {
    const text = readFileSync(join(installed, script), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import) ?\(?"(\.{1,2}\/[^"]+\.js)"/g))
      reached.add(join(dirname(script), path).replaceAll('\\', '/'));
  }
  return [...reached];
}

interface Manifest {
  readonly bin?: object;
  readonly exports: object;
  readonly imports?: object;
}

/** Every file in a folder, as a path relative to it, in order; none if there is not a folder. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
}
