import type { DocumentReader } from '../source/documentReader.js';
import type { PageCursor } from '../position.js';
import type { ApiResponse } from '../plugins/plugin.js';

/** An API's answer, with what is needed to take it apart. */
export interface Answer extends ApiResponse {
  /**
   * What stands at a path in the body, e.g. `meta.next?`; `undefined` where something may be missing, and is.
   *
   * @throws DecodeError where the path leads nowhere.
   */
  at(path: string): unknown;
  /** Small checks that name the place in the body where one fails. */
  readonly read: DocumentReader;
}

/** An answer whose rows are found, for those who work out how its listing goes on. */
export interface PageAnswer extends Answer {
  /** The rows as they came. */
  readonly rows: readonly unknown[];
  /** Rows in the whole listing, where the definition says where that stands. */
  readonly total: number | undefined;
  /** Where this page was asked for; absent for the first page. */
  readonly from: PageCursor | undefined;
  /** Rows that the walk did not have before: one fewer than `rows` where the last one was read again, to compare it. */
  readonly newRows: number;
  /** Rows that were asked for; absent where the API alone decides. */
  readonly requested: number | undefined;
  /** The address that was asked: the API's own, and the path below it. */
  readonly baseUrl: string;
  readonly path: string;
}

/** Where something stands in an answer: a path in its body, e.g. `data.items`, or what a function of the answer finds. */
export type Selector<T> = string | ((answer: Answer) => T);
