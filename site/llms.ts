import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository, root, sections } from './pages.js';

const raw = repository.replace('github.com', 'raw.githubusercontent.com');

/** The index for language models, as https://llmstxt.org says: `docs/README.md` with the addresses of its Markdown. */
export function llmsText(): string {
  const [title = '', summary = ''] = read('README.md').split('\n\n');
  return [
    title,
    `> ${summary.replaceAll('\n', ' ')}`,
    ...sections().flatMap(({ title, pages }) => [
      `## ${title}`,
      pages.map((page) => `- [${page.title}](${raw}/main/${page.path}): ${page.to}`).join('\n'),
    ]),
    '',
  ].join('\n\n');
}

/** All that it takes to write an API plugin, in one file: the guides, and real APIs as they were written. */
export function apiText(): string {
  const folder = 'examples/plugins';
  const plugins = readdirSync(join(root, folder)).filter(
    (name) => name.endsWith('.ts') && read(join(folder, name)).includes('defineApi('),
  );
  return [
    read('docs/guides/writeApi.md'),
    read('docs/guides/apiKinds.md'),
    '# Examples\n',
    ...plugins.map((name) => `## ${folder}/${name}\n\n\`\`\`ts\n${read(join(folder, name))}\`\`\`\n`),
  ].join('\n');
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
