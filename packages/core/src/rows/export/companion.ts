import { CheckpointError } from '../../errors.js';
import type { Page } from '../source/page.js';
import type { PagesOptions } from '../source/pagesOptions.js';
import type { SinkContext } from '../sink/sink.js';
import type { Checkpoint } from './checkpoint.js';

/**
 * What an export remembers from run to run. Its record is a part of the checkpoint, so neither is ahead of the other.
 * Only an incremental export has one.
 */
export interface Companion {
  /**
   * Judges its record in the checkpoint of an unfinished run. `isSamePlan`: the plan of that run is that of this one.
   * `isGivenUp`: it is too old, and nothing of it is visible, so a new run replaces it unless this throws.
   *
   * @returns why a new run replaces that one; `undefined` if it may be resumed, or has no record
   * @throws CheckpointError if it can't be resumed, and its rows may be in the target.
   */
  judge(found: Checkpoint, run: { readonly isSamePlan: boolean; readonly isGivenUp: boolean }): string | undefined;
  /** Loads what earlier runs left, and begins at a checkpoint. Resolves with the checkpoint that has its record. */
  load(checkpoint: Checkpoint): Promise<Checkpoint>;
  readonly walk: Pick<PagesOptions, 'since'>;
  readonly sink: Pick<SinkContext<never>, 'increment' | 'hasMark'>;
  /** What the ids of the rows on a page are made from, within the scope of the checkpoint: see `EventScope`. */
  rowScope(scope: string, page: Page<unknown>): string;
  /** The sink has taken a page. */
  add(page: Page<unknown>): void;
  /** Its record for the next checkpoint. What that relies on is durable when it resolves. */
  record(of: Checkpoint, isSealed: boolean): Promise<Pick<Checkpoint, 'increment'>>;
  /** Begins again at a checkpoint, from which it removes its record of an unfinished partition. */
  forget(checkpoint: Checkpoint, partition: number): Checkpoint;
  /** The target is published, and the sealed checkpoint is there still: a run that is killed repeats this. */
  published(sealed: Checkpoint): Promise<void>;
  close(): Promise<void>;
}

/** Whether the export of a checkpoint had a companion. */
export function hadCompanion({ increment }: Checkpoint): boolean {
  return increment !== undefined;
}

/** @throws CheckpointError if either this export or that of the checkpoint has a companion, and the other has none. */
export function checkCompanion(companion: Companion | undefined, found: Checkpoint): void {
  if (hadCompanion(found) === (companion !== undefined)) return;
  throw new CheckpointError(
    `The checkpoint was written by an export that ${companion ? 'was not incremental' : 'was incremental'}.`,
    { changed: ['incremental'], source: found.source },
    [{ kind: 'rerun' }, { kind: 'restart' }],
  );
}
