import type { Change, Due, Json, Source } from '@sluice/core';
import type { PageSource } from '@sluice/core/kit';
import type { EvmStream } from '@sluice/streams';

type Rows = Record<string, unknown>;

/** Types the rows of a source as objects, which every listing has. */
export function asRecords(source: PageSource<unknown>): PageSource<Rows> {
  return source as PageSource<Rows>;
}

/** The same for changes. */
export function asRecordChanges(
  source: PageSource<Change<unknown> | Due<unknown>>,
): PageSource<Change<Rows> | Due<Rows>> {
  return source as PageSource<Change<Rows> | Due<Rows>>;
}

/** The changes of `streams.list`. */
export function asStreamChanges(
  source: Source<Change<unknown> | Due<unknown>>,
): Source<Change<EvmStream> | Due<EvmStream>> {
  return source as Source<Change<EvmStream> | Due<EvmStream>>;
}

/** Values as they are after they were stored as JSON. */
export function asJson(values: Rows): Json {
  return JSON.parse(JSON.stringify(values)) as Json;
}

/** A field of a value that was stored as JSON; `undefined` if it has none. */
export function readField(value: Json | undefined, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
