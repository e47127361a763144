import { CheckpointError, SluiceError } from '../../errors.js';
import { newId as randomId } from '../../identifiers.js';
import type { SourceEndpoint } from '../source/definition.js';
import type { StateLog } from '../../stateLog.js';
import {
  applyDelta,
  encodeDelta,
  encodeMissing,
  sizeOf,
  walkOf,
  type AcceptedSnapshot,
  type Delta,
} from './acceptedSnapshot.js';
import type { DueFound } from './due.js';
import { decodeWatchRecord, unreadable } from './decodeWatchRecord.js';
import { SnapshotRows } from './snapshotRows.js';
import type { WatchedWalk } from '../source/page.js';
import type { Missing } from './removals.js';
import { applyRules, asChanges } from './ruleBook.js';

export interface WatchIdentity {
  /** A hash of the source's name and of all that determines its rows. */
  readonly watch: string;
  /** Identifies the API key; absent if the source uses none. */
  readonly endpoint?: Pick<SourceEndpoint, 'keyFingerprint'> | undefined;
  /** Whether state of another key counts as state of the same project. */
  readonly sameProject?: boolean | undefined;
}

const rowsPerRecord = 500;
const noFields: readonly [] = [];
/** The log is not compacted below this number of records, changes and rows, however small the snapshot is. */
const minSize = 1_000;

/**
 * The state of a watch: a snapshot and the deltas after it. Together they are the accepted snapshot. A staged delta is
 * durable before any of it is emitted, so it can be emitted again, unchanged, whatever the API returns by then.
 */
export class WatchLog<T> {
  readonly #log: StateLog | undefined;
  readonly #identity: WatchIdentity;
  readonly #newId: () => string;
  #key: { readonly salt: string; readonly fingerprint: string } | undefined;
  #history: string;
  #snapshot: AcceptedSnapshot<T> = noSnapshot();
  /** The walk of the log's first snapshot, and the scope of its changes. */
  #walk: WatchedWalk = { observedAt: '' };
  #scope: string | undefined;
  /** What rules have found in the log's first snapshot. */
  #due: readonly DueFound<T>[] = [];
  #committed = 0;
  #staged: Delta<T>[] = [];
  /** The size of the log after its snapshot. If it exceeds the snapshot, the log is compacted. */
  #size = 0;

  /** @param log default: nothing is stored, for a watch without state */
  constructor(log: StateLog | undefined, identity: WatchIdentity, newId = randomId) {
    this.#log = log;
    this.#identity = identity;
    this.#newId = newId;
    this.#history = newId();
  }

  get snapshot(): AcceptedSnapshot<T> {
    return this.#snapshot;
  }

  /** Identifies this history of the listing. A watch that starts over has a new history, with other change ids. */
  get history(): string {
    return this.#history;
  }

  /** The last generation that the consumer has completely. */
  get committed(): number {
    return this.#committed;
  }

  /**
   * Reads the state of an earlier run.
   *
   * @param history starts over with this name, unless the state has it. The old state stays until the first snapshot.
   * @throws CheckpointError if the state is damaged, or of another watch or key.
   */
  async open(history?: string): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      if (history === undefined || history === this.#history || !SluiceError.is(error, 'checkpoint')) throw error;
    }
    if (history === undefined || history === this.#history) return;
    this.#history = history;
    this.#snapshot = noSnapshot();
    this.#committed = 0;
    this.#staged = [];
    this.#size = 0;
    this.#key = undefined;
    await this.#checkKey();
  }

  async #read(): Promise<void> {
    let isEmpty = true;
    let rowsLeft = 0;
    const { rows } = this.#snapshot;
    for await (const record of this.#log?.read() ?? []) {
      const decoded = decodeWatchRecord<T>(record, (key) => rows.get(key));
      if (isEmpty !== (decoded.kind === 'base')) throw unreadable();
      isEmpty = false;
      switch (decoded.kind) {
        case 'base':
          this.#checkIdentity(decoded.watch);
          this.#history = decoded.history;
          this.#key = decoded.key;
          this.#committed = decoded.committed;
          this.#walk = walkOf(decoded);
          this.#scope = decoded.scope;
          rowsLeft = decoded.size;
          this.#snapshot = {
            generation: decoded.generation,
            rows,
            missing: decoded.missing,
            rules: decoded.rules && applyRules(undefined, decoded.rules),
          };
          break;
        case 'rows':
          rowsLeft -= decoded.rows.length;
          for (const [key, row] of decoded.rows) rows.set(key, row);
          break;
        case 'held': {
          rowsLeft -= decoded.held.length;
          const { rules: book } = this.#snapshot;
          if (!book) throw unreadable();
          this.#snapshot = {
            ...this.#snapshot,
            rules: applyRules(book, { ...book, held: decoded.held, unlisted: [] }),
          };
          break;
        }
        case 'due':
          rowsLeft -= decoded.due.length;
          this.#due = [...this.#due, ...decoded.due];
          break;
        case 'delta':
          this.#checkOrder(decoded);
          this.#accept(decoded);
          break;
        case 'committed':
          this.#dropCommitted(decoded.generation);
          this.#size += 1;
      }
    }
    checkComplete(rowsLeft);
    await this.#checkKey();
  }

  /** The fingerprint of the API key that requests use now. */
  currentKey(): Promise<string | undefined> {
    const { endpoint } = this.#identity;
    return Promise.resolve(this.#key && endpoint?.keyFingerprint?.(this.#key.salt));
  }

  /** Stores this key from the next commit on: it replaced the previous key during the run, and lists the same rows. */
  adoptKey(fingerprint: string | undefined): void {
    if (!this.#key || fingerprint === undefined || fingerprint === this.#key.fingerprint) return;
    this.#key = { ...this.#key, fingerprint };
    this.#writeKey();
  }

  /** Makes the next commit without staged deltas write the key. */
  #writeKey(): void {
    this.#size = Infinity;
  }

  /** Staged deltas that are not committed, the oldest first; maybe the whole first snapshot. */
  get uncommitted(): readonly Delta<T>[] {
    const isFirst = this.#snapshot.generation > 0 && this.#committed === 0;
    return isFirst ? [this.#firstDelta()] : this.#staged;
  }

  /** Accepts the first snapshot; `missing` are its rows that the last walk lacked. Durable when it resolves. */
  async begin(
    rows: SnapshotRows<T>,
    walk: WatchedWalk,
    missing: ReadonlyMap<string, Missing> = new Map(),
    { rules, due = [] }: Pick<Delta<T>, 'rules' | 'due'> = {},
  ): Promise<void> {
    this.#walk = walk;
    this.#scope = this.#newId();
    this.#due = due;
    this.#snapshot = { generation: 1, rows, missing, rules: rules && applyRules(undefined, rules) };
    await this.#log?.replace(this.#base());
  }

  /** Accepts the findings of a walk as a delta. Durable when it resolves. */
  async stage(found: Omit<Delta<T>, 'scope'>): Promise<Delta<T>> {
    const delta = { ...found, scope: this.#newId() };
    await this.#log?.append(encodeDelta(delta));
    this.#accept(delta);
    return delta;
  }

  /** Records that the consumer has all changes up to a generation. Default: the generation recorded before. */
  async commit(generation = this.#committed): Promise<void> {
    const isNewer = generation > this.#committed;
    if (isNewer) {
      this.#dropCommitted(generation);
      this.#size += 1;
    }
    // The log also grows without commits: missing rows that return add records, but are not emitted.
    if (this.#size > minSize + this.#snapshot.rows.size && this.#staged.length === 0) {
      this.#size = 0;
      await this.#log?.replace(this.#base());
    } else if (isNewer) await this.#log?.append({ committed: generation });
  }

  async close(): Promise<void> {
    await this.#log?.close();
  }

  #accept(delta: Delta<T>): void {
    this.#snapshot = applyDelta(this.#snapshot, delta);
    this.#size += 1 + sizeOf(delta) + delta.missing.size + (delta.rules?.held.length ?? 0);
    if (sizeOf(delta) > 0) this.#staged.push(delta);
  }

  #dropCommitted(generation: number): void {
    this.#committed = generation;
    this.#staged = this.#staged.filter((delta) => delta.generation > generation);
  }

  /** The first snapshot as a delta. The watch does not poll before it is committed, so its rows have not changed. */
  #firstDelta(): Delta<T> {
    return {
      generation: 1,
      scope: this.#scope,
      ...this.#walk,
      missing: this.#snapshot.missing,
      due: this.#due,
      differences: Array.from(this.#snapshot.rows, ([key, after]) => ({
        type: 'initial',
        key,
        before: null,
        after,
        fields: noFields,
      })),
    };
  }

  *#base(): Generator<object, void, undefined> {
    const { generation, rows, missing, rules } = this.#snapshot;
    const book = rules && asChanges(rules);
    const held = book?.held ?? [];
    const due = this.#committed === 0 ? this.#due : [];
    yield {
      base: 1,
      watch: this.#identity.watch,
      history: this.#history,
      generation,
      ...this.#walk,
      committed: this.#committed,
      ...(book && { rules: book.changes }),
      ...(this.#committed === 0 && { scope: this.#scope }),
      size: rows.size + held.length + due.length,
      missing: encodeMissing(missing),
      ...(this.#key && { key: this.#key }),
    };
    let batch: (readonly [string, T])[] = [];
    for (const row of rows) {
      batch.push(row);
      if (batch.length < rowsPerRecord) continue;
      yield { rows: batch };
      batch = [];
    }
    if (batch.length > 0) yield { rows: batch };
    for (let from = 0; from < held.length; from += rowsPerRecord)
      yield { held: held.slice(from, from + rowsPerRecord) };
    for (let from = 0; from < due.length; from += rowsPerRecord) yield { due: due.slice(from, from + rowsPerRecord) };
  }

  /** Checksums protect each record; this detects a missing one. */
  #checkOrder(delta: Delta<T>): void {
    if (delta.generation !== this.#snapshot.generation + (sizeOf(delta) > 0 ? 1 : 0)) throw unreadable();
  }

  #checkIdentity(watch: string): void {
    if (watch === this.#identity.watch) return;
    throw new CheckpointError(
      'The state belongs to another watch: it requests other rows, or from another API. Give each watch a state of its own: nothing was changed.',
    );
  }

  async #checkKey(): Promise<void> {
    const { endpoint, sameProject = false } = this.#identity;
    if (!endpoint?.keyFingerprint) return;
    const salt = this.#key?.salt ?? this.#newId();
    const fingerprint = await endpoint.keyFingerprint(salt);
    const isAnother = this.#key !== undefined && this.#key.fingerprint !== fingerprint;
    if (isAnother && !sameProject)
      throw new CheckpointError(
        'The state was made with another API key, maybe of another project: everything would look changed. Another project needs a state of its own.',
        {},
        [{ kind: 'allow', option: 'sameProject' }],
      );
    this.#key = { salt, fingerprint };
    if (isAnother) this.#writeKey();
  }
}

function noSnapshot<T>(): AcceptedSnapshot<T> {
  return { generation: 0, rows: new SnapshotRows<T>(), missing: new Map() };
}

/** A snapshot is written atomically, so a crash cannot have truncated it. */
function checkComplete(rowsLeft: number): void {
  if (rowsLeft === 0) return;
  throw new CheckpointError(
    "The watch's log has lost rows of its snapshot, so it was damaged or changed. Start over with another state.",
  );
}
