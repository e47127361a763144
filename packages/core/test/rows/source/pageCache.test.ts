import { expect, test } from 'vitest';
import { HttpError, PaginationError } from '../../../src/index.js';
import { StoredPages } from '../../../src/rows/source/pageCache.js';

test('only what the current walk did with stored pages may be why it failed', () => {
  const refused = new HttpError('refused', { status: 412, excerpt: '' });
  const moved = new PaginationError('rows-moved', 'moved');
  const pages = new StoredPages();
  const mayFail = (): boolean[] => [refused, moved].map((error) => pages.mayHaveCaused(error));
  pages.begin();
  expect(mayFail()).toEqual([false, false]);
  pages.store('first', { tag: '"a"', rows: 1, bytes: 1 });
  pages.begin();
  pages.find('first');
  expect(mayFail()).toEqual([true, false]);
  pages.countUse();
  expect(mayFail()).toEqual([true, true]);
  pages.begin();
  expect(mayFail()).toEqual([false, false]);
});
