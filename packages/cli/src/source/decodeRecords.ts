import type { Change, PageSource } from '@sluice/core';

type Rows = Record<string, unknown>;

/** Takes the rows of a source for what every listing has: objects with fields. */
export function asRecords(source: PageSource<unknown>): PageSource<Rows> {
  return source as PageSource<Rows>;
}

/** The same for changes of them. */
export function asRecordChanges(source: PageSource<Change<unknown>>): PageSource<Change<Rows>> {
  return source as PageSource<Change<Rows>>;
}
