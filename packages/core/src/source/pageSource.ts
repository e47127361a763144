import type { Page } from './page.js';
import type { PagesOptions, SourceInfo } from './source.js';

/** What can be exported or polled: anything with pages, whichever copy of the library made it. */
export interface PageSource<T> {
  readonly info: SourceInfo<T>;
  /** A new walk: nothing is asked for before the first page is. */
  pages(options?: PagesOptions): AsyncIterable<Page<T>>;
}
