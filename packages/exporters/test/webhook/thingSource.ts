import { createSource, type Source, type SourceDefinition } from '@sluice/core';

/** A row with a key; several rows may share a group. */
export interface Thing {
  readonly uuid: string;
  readonly group: string;
  readonly n: number;
}

export interface ThingOptions {
  readonly count: number;
  readonly pageSize?: number;
  readonly groups?: number;
  /** Told before each page (from 0) is answered; may wait, or throw to refuse it. */
  readonly onFetch?: (page: number) => void | Promise<void>;
  /** What is on a page; default: the things in their order. */
  readonly pageOf?: (page: number, things: readonly Thing[]) => readonly Thing[];
}

export function thingsOf(count: number, groups = 7): Thing[] {
  return Array.from({ length: count }, (_, n) => ({ uuid: `thing ${n}`, group: `group ${n % groups}`, n }));
}

/** A listing of things, by pages. */
export function thingSource(
  { count, pageSize = 100, groups = 7, onFetch, pageOf }: ThingOptions,
  more: Partial<SourceDefinition<Thing>> = {},
): Source<Thing> {
  const things = thingsOf(count, groups);
  return createSource<Thing>({
    name: 'test.things',
    identity: { count, pageSize },
    schema: { columns: ['uuid', 'group', 'n'], key: ({ uuid }) => uuid },
    async fetch({ at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      await onFetch?.(page);
      const rows = pageOf?.(page, things) ?? things.slice(page * pageSize, (page + 1) * pageSize);
      return { rows, next: (page + 1) * pageSize < count ? { cursor: String(page + 1) } : 'end' };
    },
    ...more,
  });
}
