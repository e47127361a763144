import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/**
 * The pages for readers, as paths from the repository's folder, except those that typedoc generates from docstrings.
 */
export const pages: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  '.github/SECURITY.md',
  'CHANGELOG.md',
  '.github/CODE_OF_CONDUCT.md',
  'benchmarks/README.md',
  'prove/README.md',
  ...pagesIn('docs').filter((page) => !page.startsWith(join('docs', 'api'))),
  ...readdirSync(join(root, 'packages')).flatMap((name) => [
    ...[join('packages', name, 'README.md')].filter((page) => existsSync(join(root, page))),
    ...pagesIn(join('packages', name, 'docs')),
  ]),
];

function pagesIn(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}
