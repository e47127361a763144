// npm run site: the Markdown of this repository as a site, in site/.vitepress/dist. A link to a page that does not exist fails it.
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { apiText, llmsText } from '../llms.ts';
import { anchorOf, asRoute, linkOn, notOnSite, pageOf, repository, root, sections } from '../pages.ts';

const sidebar = [
  { text: 'Overview', link: '/' },
  ...sections().map(({ title, pages }) => ({
    text: title,
    items: pages.map((page) => ({ text: page.title, link: linkOn('README.md', page.path) })),
  })),
];

const base = '/sluice/';

/** Room for tables, and for code of 100 columns. */
const style = `
  .VPDoc.has-aside .content-container { max-width: 54rem !important; }
  .VPDoc.has-aside .container { max-width: 76rem !important; }
  .VPDoc .aside { max-width: 14rem; }
  .vp-doc td { vertical-align: top; }
  .vp-doc [class*='language-'] code { font-size: 0.8rem; }
`;

export default {
  title: 'Sluice',
  description:
    'Rate-limited, cursor-paginated web APIs as RxJS sources: exported, watched and forwarded without losing a row.',
  base,
  srcDir: '..',
  srcExclude: notOnSite,
  rewrites: asRoute,
  cleanUrls: true,
  head: [
    ['link', { rel: 'icon', href: `${base}icon.svg`, type: 'image/svg+xml' }],
    ['style', {}, style],
  ],
  markdown: {
    anchor: { slugify: anchorOf },
    languageAlias: { cron: 'sh' },
    config: (markdown) => {
      markdown.core.ruler.push('links', ({ tokens, env }) => {
        const page = pageOf(env.realPath ?? env.path);
        for (const token of tokens.flatMap((block) => [block, ...(block.children ?? [])])) {
          if (token.type === 'link_open') token.attrSet('href', linkOn(page, token.attrGet('href')));
          // Vite takes a path without `./` for a package.
          if (token.type.startsWith('html_'))
            token.content = token.content.replace(/(src|srcset)="(?=\w+\/|[\w-]+\.(?:svg|png)")/g, '$1="./');
        }
      });
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    nav: [
      { text: 'Guides', link: '/docs/' },
      { text: 'Reference', link: `${base}api/index.html`, target: '_self' },
    ],
    sidebar,
    outline: 'deep',
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/:path` },
  },
  buildEnd: ({ outDir }) => {
    copyFileSync(join(root, 'packages/dashboard/src/page/icon.svg'), join(outDir, 'icon.svg'));
    writeFileSync(join(outDir, 'llms.txt'), llmsText());
    writeFileSync(join(outDir, 'llms-api.txt'), apiText());
  },
};
