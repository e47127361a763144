import type { Page } from './page.js';
import type { PagesOptions, SourceInfo } from './source.js';

/** Anything with pages, which can be exported or polled, from any copy of the library. */
export interface PageSource<T> {
  readonly info: SourceInfo<T>;
  /** Starts a new walk. Nothing is requested before the first page is. */
  pages(options?: PagesOptions): AsyncIterable<Page<T>>;
}
