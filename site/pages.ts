import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const root = join(import.meta.dirname, '..');
export const repository = 'https://github.com/sluice-js/sluice';

/** What is no page of the site, as patterns: links to it lead to the repository, which also draws the diagram of ARCHITECTURE.md. */
export const notOnSite = [
  'ARCHITECTURE.md',
  'docs/api/**',
  'packages/*/api/**',
  'site/**',
  '**/{node_modules,dist}/**',
];

function isPage(path: string): boolean {
  return path.endsWith('.md') && path !== 'ARCHITECTURE.md' && !path.startsWith('.') && existsSync(join(root, path));
}

/** Pages of the index, with the reason to read each. */
export interface Section {
  readonly title: string;
  readonly pages: readonly { readonly title: string; readonly path: string; readonly to: string }[];
}

/** The index of `docs/README.md`: each of its headings, with the table below it. */
export function sections(): Section[] {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
  return index
    .split(/^## /m)
    .slice(1)
    .map((text) => {
      const rows = [...text.matchAll(/^\| (.*?) +\| \[(.*?)\]\((.*?)\)/gm)];
      const pages = rows.map(([, to = '', title = '', path = '']) => ({ to, title, path: join('docs', path) }));
      return { title: text.slice(0, text.indexOf('\n')), pages };
    });
}

/** Where a link on a page leads on the site: to another page, or into the repository. */
export function linkOn(page: string, href: string): string {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const target = join(dirname(page), path).replace(/\/$/, '');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const index = join(target, 'README.md');
  if (isPage(target)) return `/${asRoute(target)}${hash}`;
  if (isPage(index)) return `/${asRoute(index)}${hash}`;
  const kind = statSync(join(root, target)).isDirectory() ? 'tree' : 'blob';
  return `${repository}/${kind}/main/${target}${hash}`;
}

/** A folder's README is its index. */
export function asRoute(page: string): string {
  return page.replace(/README\.md$/, 'index.md');
}

/** Path of a file from the repository's folder. */
export function pageOf(file: string): string {
  return relative(root, file);
}

/** The anchor of a heading, as the repository's web page generates it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
