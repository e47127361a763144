import { SluiceError } from '../../errors.js';
import { newId as randomId } from '../../identifiers.js';
import { startOfPlan, type Position } from '../../position.js';
import type { TotalGap } from '../../totals.js';
import type { Json } from '../source/definition.js';
import { type KeyLogs, ListedKeys } from '../source/listedKeys.js';
import type { Page } from '../source/page.js';
import { notify } from '../source/sourceEvent.js';
import { countMove, countPage, removePartition, type Checkpoint, type WrittenCounts } from './checkpoint.js';
import { CommitPace } from './commitPace.js';
import type { ExportCounts, ExportSetup } from './exportOptions.js';
import { checkpointName } from './findCheckpoint.js';
import { findOldRows, type OldRows } from './oldRows.js';
import type { EventScope, SinkWriter, WalkEnd } from '../sink/sink.js';

/**
 * The commits of an export: what was written, and the checkpoint that says how much of it is durable.
 *
 * **Rows are durable before the checkpoint that refers to them.** Only `#record` moves the checkpoint to later rows. The
 * sink position that it takes comes from the sink, which has made all rows before that position durable.
 *
 * Without a state store there is no checkpoint, and only an endless source commits: its rows are kept wherever it stops.
 */
export class Commits {
  /** Whether a commit keeps rows. */
  readonly keepRows: boolean;
  /** Rows of the run that this one resumes, if they are old. */
  oldRows: OldRows | undefined;
  /** Of the listing whose rows are the partitions, if it has fewer or more than the API says. */
  planGap: TotalGap | undefined;
  /** The keys that the walk has listed. Absent with a companion, as a row may come again on purpose, and without an end. */
  keys: ListedKeys | undefined;
  readonly #setup: ExportSetup<never>;
  readonly #pace: CommitPace;
  /** Identifies the run where there is no checkpoint. */
  readonly #unsaved: string;
  #written: WrittenCounts = { rows: 0, pages: 0, begun: {} };
  #resumedRows = 0;
  #total: number | undefined;
  #checkpoint: Checkpoint | undefined;
  /** The last written page since the checkpoint was taken. */
  #last: Page<unknown> | undefined;

  constructor(setup: ExportSetup<never>) {
    const { info, state, options, companion, clock } = setup;
    const { commitEvery, newId = randomId } = options;
    this.#setup = setup;
    this.#unsaved = newId();
    this.keepRows = state !== undefined || info.isEndless === true;
    this.#pace = new CommitPace(commitEvery, clock);
    if (info.isKeyed && !info.isEndless && !companion) this.keys = new ListedKeys();
  }

  /** Continues from a checkpoint, which is not saved yet if it is new. */
  async take(checkpoint: Checkpoint): Promise<void> {
    const { options, companion, clock } = this.#setup;
    this.#checkpoint = checkpoint;
    this.oldRows = findOldRows(checkpoint, options.resumeWithin, clock);
    this.planGap = undefined;
    this.#resumedRows = checkpoint.rows;
    this.#rewind(checkpoint);
    await this.#loadKeys(checkpoint);
    if (companion) this.#checkpoint = await companion.load(checkpoint);
  }

  /** Saves a new checkpoint, before the sink touches its target. */
  async saveFirst(): Promise<void> {
    if (this.#checkpoint) await this.#save(this.#checkpoint);
  }

  /** Source and sink are open. A sink that has a position before its first row can be resumed from here on. */
  async begin({ start }: Pick<SinkWriter<never>, 'start'>): Promise<void> {
    this.#pace.restart();
    if (start !== undefined && this.#checkpoint?.sinkPosition === undefined) await this.#record(start);
  }

  /** What the ids of a page's events are made from. The sink has the pages before it. */
  scopeOf(page: Page<unknown>): EventScope {
    if (page.scope !== undefined) return { page: page.scope };
    const run = this.#checkpoint?.runId ?? this.#unsaved;
    const partition = `${run}/${page.partition}`;
    const rows = this.#setup.companion?.rowScope(this.#checkpoint?.scope ?? run, page) ?? partition;
    return { page: `${partition}/${this.#written.begun[page.partition]?.pages ?? 0}`, rows };
  }

  /** The sink has taken a page. */
  add(page: Page<unknown>): void {
    this.#written = countPage(this.#written, page);
    this.#total = page.total ?? this.#total;
    this.#setup.companion?.add(page);
    this.#last = page;
    this.#pace.add(page);
  }

  /** Makes the written rows durable, and saves the checkpoint. Does nothing where the sink can't commit. */
  async commit(writer: Pick<SinkWriter<never>, 'flush' | 'isCommittable'>): Promise<void> {
    if (!this.keepRows || writer.isCommittable === false) return;
    const { clock } = this.#setup;
    const began = clock.monotonic();
    const sinkPosition = await writer.flush();
    await this.#record(sinkPosition);
    this.#pace.restart(clock.monotonic() - began);
    this.#emit({ isSealed: false });
  }

  /** Makes all rows durable after the last page, and records that only publishing the target may be missing. */
  async seal(writer: Pick<SinkWriter<never>, 'seal'>, end: WalkEnd): Promise<void> {
    const sinkPosition = await writer.seal(end);
    await this.#record(sinkPosition, { isSealed: true });
    if (this.#checkpoint) this.#emit({ isSealed: true });
  }

  /** The rows must be durable before this: only then may the checkpoint refer to them. */
  async #record(sinkPosition: Json, { isSealed = false }: { readonly isSealed?: boolean } = {}): Promise<void> {
    const { companion } = this.#setup;
    this.#pace.settle();
    if (!this.#checkpoint) return;
    const record = await companion?.record(this.#checkpoint, isSealed);
    await this.keys?.save(this.position);
    this.#checkpoint = {
      ...this.#checkpoint,
      position: this.position,
      sinkPosition,
      ...this.#written,
      ...(isSealed && { isSealed }),
      ...record,
    };
    await this.#save(this.#checkpoint);
  }

  /** The sink has moved the rows of the last commit to another position, e.g. after a log rotation. */
  readonly recommit = async (sinkPosition: Json): Promise<void> => {
    if (!this.#checkpoint) return;
    this.#checkpoint = { ...this.#checkpoint, sinkPosition };
    await this.#save(this.#checkpoint);
  };

  /**
   * Removes the rows of an unfinished partition from the checkpoint. The sink is opened after that, and truncates its
   * target to it, so a kill in between does no harm.
   *
   * @param why counted in the checkpoint if rows had moved: another run must not begin to count again
   * @returns how many rows were removed; `undefined` if nothing is committed
   */
  async restart(partition: number, why: 'cursor-refused' | 'rows-moved'): Promise<number | undefined> {
    const { info, sink, companion } = this.#setup;
    const before = this.#checkpoint;
    if (before?.sinkPosition === undefined) return undefined;
    // A walk that reopens can't continue any partition whose pages are sent only once, so all of these start over.
    const others = info.isRepeatable === false ? Object.keys(before.position.begun).map(Number) : [];
    const counted = why === 'rows-moved' ? countMove(before, partition) : before;
    const checkpoint = [...new Set([partition, ...others])].reduce((rest, each) => {
      const sinkPosition = sink.withoutPartition?.(rest.sinkPosition ?? null, each) ?? null;
      const without = removePartition(rest, each, sinkPosition);
      return companion?.forget(without, each) ?? without;
    }, counted);
    this.#checkpoint = checkpoint;
    await this.#save(checkpoint);
    this.#resumedRows = Math.min(this.#resumedRows, checkpoint.rows);
    this.#rewind(checkpoint);
    await this.#loadKeys(checkpoint);
    return before.rows - checkpoint.rows;
  }

  /** Those of the checkpoint, and none after it. */
  async #loadKeys({ runId, position }: Checkpoint): Promise<void> {
    if (!this.keys) return;
    await this.keys.close();
    const log = this.#keyLog;
    this.keys = new ListedKeys(log && { log, runId });
    await this.keys.load(position, this.#setup.options.repeats === 'drop');
  }

  /** The sink has what the checkpoint says, and nothing after it. */
  #rewind({ rows, pages, begun, isIncomplete }: Checkpoint): void {
    this.#written = { rows, pages, begun, ...(isIncomplete && { isIncomplete }) };
    this.#last = undefined;
    this.#pace.settle();
  }

  /** The target is published. */
  async finish(): Promise<void> {
    const { sink, companion, clock } = this.#setup;
    if (!this.#checkpoint) {
      // Without a checkpoint, an unpublished target is removed on failure, so only now are its rows kept.
      this.#emit({ isSealed: true });
      return;
    }
    // In this order: a run that is killed in between finds the sealed checkpoint, and repeats what follows.
    await companion?.published(this.#checkpoint);
    if (companion || !sink.finished) return this.remove();
    await this.#removeLogs();
    const finishedAt = new Date(clock.now()).toISOString();
    // If that can't be saved, the sealed checkpoint stays: a repeated run completes the target again, and saves it then.
    await this.#save({ ...this.#checkpoint, finishedAt }).catch(() => this.reportCommitted(undefined));
  }

  /**
   * A checkpoint without pages loses its sink position before the target is removed: after a kill in between, it would
   * refer to nothing.
   *
   * @returns whether the target may be removed. If that can't be saved, the next run needs what the checkpoint refers to.
   */
  async forgetSinkPosition(): Promise<boolean> {
    if (this.#checkpoint?.pages !== 0) return true;
    const { sinkPosition, isSealed = false, ...checkpoint } = this.#checkpoint;
    if (sinkPosition === undefined && !isSealed) return true;
    return this.#save(checkpoint).then(
      () => true,
      () => false,
    );
  }

  /** Nothing of this export is left to resume. */
  async remove(): Promise<void> {
    if (!this.#checkpoint) return;
    await this.#setup.state?.remove(checkpointName);
    await this.#removeLogs();
    this.reportCommitted(undefined);
  }

  /** What is left of them harms nobody: they name their export. */
  async #removeLogs(): Promise<void> {
    const { levels = 0 } = this.#setup.info;
    await this.keys?.close();
    for (let level = 0; level <= levels; level += 1) {
      const logs = [level > 0 && this.partitionLog?.(level), this.keys && this.#keyLog?.(level)];
      for (const log of logs) if (log) await log.remove().catch(() => undefined);
    }
  }

  /** Frees what it has opened. */
  async close(): Promise<void> {
    await this.#setup.companion?.close();
    await this.keys?.close();
  }

  /** Where the keys of unfinished partitions are recorded, and those of the rows above them. */
  get #keyLog(): KeyLogs['log'] | undefined {
    const { state } = this.#setup;
    return state && ((level) => state.log(level === 0 ? 'keys' : `keys-${String(level)}`));
  }

  /** Where the source records the partitions that its walk finds, level by level. */
  get partitionLog(): KeyLogs['log'] | undefined {
    const { info, state } = this.#setup;
    if (!state || info.partitions !== Infinity) return undefined;
    return (level) => state.log(level === 1 ? 'partitions' : `partitions-${String(level)}`);
  }

  get checkpoint(): Checkpoint | undefined {
    return this.#checkpoint;
  }

  /** Of the last page, which an earlier run may have had. */
  get position(): Position {
    return this.#last?.position ?? this.#checkpoint?.position ?? startOfPlan;
  }

  get counts(): ExportCounts {
    return {
      rows: this.#written.rows,
      pages: this.#written.pages,
      resumedRows: this.#resumedRows,
      committedRows: this.#checkpoint?.rows ?? 0,
      ...(this.#total !== undefined && { total: this.#total }),
    };
  }

  /** Rows may be missing, because a page of this run or of an earlier one was incomplete. */
  get isIncomplete(): boolean {
    return this.#written.isIncomplete ?? false;
  }

  /** Whether pages were written since the last commit. */
  get isBehind(): boolean {
    return this.#pace.isBehind;
  }

  get isDue(): boolean {
    return this.#pace.isDue;
  }

  /** Ms until a commit is due if no other page comes. */
  get left(): number {
    return this.keepRows ? this.#pace.left : Infinity;
  }

  async #save(checkpoint: Checkpoint): Promise<void> {
    const { state, clock } = this.#setup;
    try {
      const savedAt = new Date(clock.now()).toISOString();
      await state?.save(checkpointName, { ...checkpoint, savedAt });
    } catch (error) {
      // The state's folder was removed, and the checkpoint with it.
      if (SluiceError.is(error) && error.details['platformCode'] === 'ENOENT') this.reportCommitted(undefined);
      throw error;
    }
    this.reportCommitted(checkpoint);
  }

  /** An export without a commit has nothing to resume from, although it has a checkpoint; nor has a finished one. */
  reportCommitted(checkpoint: Checkpoint | undefined): void {
    const isResumable = checkpoint?.sinkPosition !== undefined && checkpoint.finishedAt === undefined;
    this.#setup.options.onCommitted?.(isResumable ? checkpoint : undefined);
  }

  #emit({ isSealed }: { readonly isSealed: boolean }): void {
    const { info, sink } = this.#setup;
    const { name, endpoint } = info;
    const { rows, pages } = this.#written;
    notify(endpoint, { type: 'commit', source: name, sink: sink.name, rows, pages, isSealed });
  }
}
