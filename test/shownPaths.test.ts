import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const made = new Set(['node_modules', 'dist', 'coverage', 'reports', 'fixtures', '.git']);
const files = filesIn('.');

const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...filesIn('docs/internals')];
/** The folders that a path may start with; those of a package also without `packages/`. */
const folder = /^(?:(?:packages|docs|examples|benchmarks|prove|scripts|test)\/|[a-z]+\/src\b)/;
/** Paths that a build or a run creates. */
const generated = /^(?:docs\/api|.*\/dist\/|reports\/|packages\/\*\/api$)|NAME/;

test.each(pages)('%s names only files and folders that exist', (page) => {
  const code = readFileSync(join(root, page), 'utf8').replace(/^```.*?^```/gms, '');
  const named = [...code.matchAll(/`([\w.*/-]+)`/g)].map(([, path = '']) => path);
  const paths = named.filter(
    (path) => (folder.test(path) || /\w\.(?:ts|[cm]?js|yml)$/.test(path)) && !generated.test(path),
  );
  expect(paths.filter((path) => !exists(path))).toEqual([]);
});

/** Whether a file or folder has this path, or one that ends with it: the text may name the folder separately. */
function exists(path: string): boolean {
  const pattern = path.replaceAll('.', '\\.').replaceAll('*', '[^/]+').replace(/\/$/, '');
  const named = new RegExp(`(?:^|/)${pattern}(?:/|$)`);
  return files.some((file) => named.test(file));
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return made.has(entry.name) ? [] : filesIn(path);
  });
}
