import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiText, llmsText } from '../site/llms.js';
import { linkOn, repository, root, sections } from '../site/pages.js';

test('the index of the docs has every guide', () => {
  const listed = sections().flatMap(({ pages }) => pages.map(({ path }) => path.replace(/#.*/, '')));
  const guides = readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`);
  expect(listed).toEqual(expect.arrayContaining(guides));
});

test.each([
  ['README.md', 'docs/guides/resume.md#locks', '/docs/guides/resume.md#locks'],
  ['README.md', 'docs/README.md', '/docs/index.md'],
  ['README.md', 'packages/core', '/packages/core/index.md'],
  ['docs/guides/resume.md', '../../examples/firstSteps.ts', `${repository}/blob/main/examples/firstSteps.ts`],
  ['docs/guides/resume.md', '../../examples/servers', `${repository}/tree/main/examples/servers`],
  ['docs/README.md', '../ARCHITECTURE.md', `${repository}/blob/main/ARCHITECTURE.md`],
  ['docs/README.md', '#export', '#export'],
  ['docs/README.md', 'https://rxjs.dev', 'https://rxjs.dev'],
])('on %s, the link %s leads to %s on the site', (page, href, target) => {
  expect(linkOn(page, href)).toBe(target);
});

test('llms.txt is an index as llmstxt.org says', () => {
  const [title, summary, ...rest] = llmsText().trimEnd().split('\n\n');
  expect([title, summary]).toEqual(['# Sluice', expect.stringMatching(/^> Sluice turns .*\.$/)]);
  const link = String.raw`- \[[^\]]+\]\(https://raw\.githubusercontent\.com/[^ )]+\.md(#[\w-]+)?\): .+`;
  for (const part of rest) expect(part).toMatch(new RegExp(`^(## .+|${link}(\n${link})*)$`));
});

test('llms-api.txt has the guides and the plugins for an API, and fits into a context', () => {
  const text = apiText();
  const headings = [...text.matchAll(/^##? .*$/gm)].flat();
  expect(headings).toEqual(
    expect.arrayContaining(['# Write an API plugin', '# Which kind is your API?', '## examples/plugins/stripe.ts']),
  );
  expect(headings.filter((heading) => heading.includes('.test.ts'))).toEqual([]);
  expect(text.length).toBeLessThan(150_000);
});
