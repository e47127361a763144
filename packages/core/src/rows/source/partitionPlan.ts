import type { FetchedPage, PageRequest, SourceDefinition, UndecodedPage } from './definition.js';
import type { Page } from './page.js';
import type { PagesOptions } from './pagesOptions.js';

/** A request for a page of one partition. The partition's `fetch` adds the properties that all its pages share. */
export type ChainRequest = Omit<PageRequest, 'partition' | 'since' | 'cache'>;

/** A partition that a walk has begun: how its pages are fetched, and how errors name it. */
export interface Partition<T> {
  /** From 0. */
  readonly number: number;
  readonly fetch: (request: ChainRequest) => Promise<FetchedPage<T> | UndecodedPage<T>>;
  /** The source and the partition, without a secret: the subject of a sentence. */
  readonly place: () => string;
  /** The partition among the others, e.g. `partition 2 of 3`. Absent if it is the only one. */
  readonly text?: () => string;
  /** Adds the partition's parent to an error of one of its pages. */
  readonly explain?: (error: unknown) => unknown;
  /** Properties of all its pages. */
  readonly marks?: Pick<Page<T>, 'parents'>;
  /** Only some of its rows are requested on purpose, so their number is not compared with a total. */
  readonly isPart: boolean;
  /** Its pages state the total of the partition. Default: they state the total of the whole source. */
  readonly hasOwnTotal?: true;
}

/** The partitions of one walk, by their numbers from 0. */
export interface PartitionPlan<T> {
  /** How many partitions are known. They are durable, so a position may refer to them. */
  readonly known: number;
  /** All partitions are known. */
  readonly isComplete: boolean;
  /** Finds more partitions, maybe none yet. Calls do not overlap. */
  more(): Promise<void>;
  /** Whether a known partition may begin, or must wait until others have ended. */
  mayBegin(partition: number): boolean;
  /** Begins a known partition that is not done. Called once in a walk for each, before its first page. */
  open(partition: number): Partition<T>;
  /** Called when a partition has no more pages. */
  ended(partition: number): void;
  /** Cancels a pending `more`, and closes what it uses. */
  close(): Promise<void>;
}

/** The plan of a source whose number of partitions is known: all of them, or one by itself. */
export function fixedPlan<T>(
  { name, partitions = 1, fetch }: Pick<SourceDefinition<T>, 'name' | 'partitions' | 'fetch'>,
  { partition: only, since, cache }: Pick<PagesOptions, 'partition' | 'since' | 'cache'>,
): PartitionPlan<T> {
  const open = (partition: number): Partition<T> => {
    const of = Number.isFinite(partitions) ? ` of ${partitions}` : '';
    const text = `partition ${partition + 1}${of}`;
    return {
      number: partition,
      fetch: (request) => fetch({ partition, ...request, since, cache }),
      place: () => (partitions === 1 ? name : `${name}, ${text},`),
      ...(partitions > 1 && { text: () => text }),
      isPart: since !== undefined,
    };
  };
  return {
    known: only === undefined ? partitions : only + 1,
    isComplete: true,
    more: () => Promise.resolve(),
    mayBegin: () => true,
    open,
    ended: () => undefined,
    close: () => Promise.resolve(),
  };
}
