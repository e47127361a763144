import { ConfigError } from '../../errors.js';
import { inWords, isRecord } from '../../values.js';
import type { Json } from '../../json.js';
import type { Page } from './page.js';
import type { SourceInfo } from './sourceInfo.js';
import type { ListUncommitted, PagesOptions } from './pagesOptions.js';

/** A source of pages that can be exported or polled, also one of another copy of the library. */
export interface PageSource<T> {
  readonly info: SourceInfo<T>;
  /** Starts a new walk. It requests nothing before the consumer requests the first page. */
  pages(options?: PagesOptions): AsyncIterable<Page<T>>;
  /**
   * Returns the same rows in a plan for a concurrency, or in the plan that an earlier call returned as `kept`, at any
   * concurrency. Default: there is only one plan.
   */
  fit?(concurrency: number, kept?: Json): FittedSource<T>;
  /** Lists uncommitted rows of its own state, without changes. Needs the lock of that state. Default: unknown. */
  readonly uncommitted?: ListUncommitted<T> | undefined;
}

/** A source whose plan was chosen for a concurrency. */
export interface FittedSource<T> {
  readonly source: PageSource<T>;
  /** Selects this plan in a later call of `fit`. Absent if there is only one plan. */
  readonly kept?: Json | undefined;
}

/** Fits a source, if it has several plans. */
export function fitSource<T>(source: PageSource<T>, concurrency: number | undefined, kept?: Json): FittedSource<T> {
  return source.fit?.(concurrency ?? 1, kept) ?? { source };
}

/** JavaScript callers may pass anything, e.g. the function that creates a source. @throws ConfigError. */
export function checkSource(owner: string, source: unknown): void {
  if (isRecord(source) && isRecord(source['info']) && typeof source['pages'] === 'function') return;
  const isPiped = isRecord(source) && 'pipe' in source;
  const hint = typeof source === 'function' ? '. Call it, e.g. client.coins.markets()' : '';
  const given = isPiped ? 'an Observable: use writeTo or pipePages' : inWords(source) + hint;
  throw new ConfigError(`${owner} takes a source: given is ${given}.`, { option: 'source' });
}
