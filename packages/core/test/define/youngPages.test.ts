import { expect, test } from 'vitest';
import { runChild } from '../http/runChild.js';
import { serve } from './servedApi.js';

test(
  'pages of a walk are collected while they are young, whatever V8 retains of their requests',
  { tags: ['slow'] },
  async () => {
    const pages = 200;
    const rows = 100;
    const { baseUrl } = await serve((url) => {
      const page = Number(url.searchParams.get('cursor') ?? 0);
      const items = Array.from({ length: rows }, (_, row) => ({ text: `${page}.${row}`.padEnd(500, '-') }));
      return { body: { items, next: page + 1 < pages ? String(page + 1) : null } };
    });
    const { stdout, stderr } = await runChild(new URL('./children/youngPages.js', import.meta.url), {
      args: [baseUrl],
      node: ['--expose-gc'],
    });
    expect(stderr).toBe('');
    // A page has 50 kB.
    expect(Number(stdout)).toBeLessThan(15_000);
  },
);
