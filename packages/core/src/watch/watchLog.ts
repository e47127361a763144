import { CheckpointError, SluiceError } from '../errors.js';
import { newId as randomId } from '../identifiers.js';
import type { StateLog } from '../sink/stateStore.js';
import { applied, encodeDelta, encodeMissing, type AcceptedSnapshot, type Delta } from './acceptedSnapshot.js';
import { decodeWatchRecord, unreadable } from './decodeWatchRecord.js';
import { SnapshotRows } from './snapshotRows.js';
import type { Missing } from './verdict.js';

export interface WatchIdentity {
  /** Of the source and what decides its rows. */
  readonly watch: string;
  /** A short hash of the API key and a salt; absent where the source uses none. */
  readonly keyFingerprint?: (salt: string) => Promise<string>;
  /** State that was made with another key is taken for state of the same project. */
  readonly sameProject?: boolean;
}

const rowsPerRecord = 500;
/** So many records, changes and rows are always worth keeping, however small the snapshot is. */
const minWeight = 1_000;

/**
 * A watch's memory: a snapshot, and what came after it. Folded, it is the accepted snapshot. What is staged is durable before any of
 * it is given out, so it can be given out again, unchanged, whatever the API says by then.
 */
export class WatchLog<T> {
  readonly #log: StateLog;
  readonly #identity: WatchIdentity;
  #key: { readonly salt: string; readonly fingerprint: string } | undefined;
  #rows = new SnapshotRows<T>();
  #snapshot: AcceptedSnapshot<T> = { generation: 0, rows: this.#rows, missing: new Map() };
  #committed = 0;
  #history: string;
  readonly #newId: () => string;
  #staged: Delta<T>[] = [];
  #observedAt = '';
  /** What the log holds behind its snapshot: compacted when it outweighs that. */
  #weight = 0;
  /** The log still speaks of the key before, since something was staged. */
  #isRekeyed = false;

  constructor(log: StateLog, identity: WatchIdentity, newId = randomId) {
    this.#newId = newId;
    this.#history = newId();
    this.#log = log;
    this.#identity = identity;
  }

  get snapshot(): AcceptedSnapshot<T> {
    return this.#snapshot;
  }

  /** Tells this history of the listing from any other, e.g. from one that was begun anew: its changes have other ids. */
  get history(): string {
    return this.#history;
  }

  /** The generation up to which the consumer has everything. */
  get committed(): number {
    return this.#committed;
  }

  /**
   * Reads what an earlier run left.
   *
   * @param history begins anew under this name, unless what is there did so: what is there stays until the first snapshot replaces it.
   * @throws CheckpointError if it is damaged, or of another watch or key.
   */
  async open(history?: string): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      if (history === undefined || history === this.#history || !SluiceError.is(error, 'checkpoint')) throw error;
    }
    if (history === undefined || history === this.#history) return;
    this.#beginAnew(history);
    await this.#checkKey();
  }

  async #read(): Promise<void> {
    let isEmpty = true;
    let toCome = 0;
    for await (const record of this.#log.read()) {
      const decoded = decodeWatchRecord<T>(record, (key) => this.#rows.get(key));
      if (isEmpty !== (decoded.kind === 'base')) throw unreadable();
      isEmpty = false;
      switch (decoded.kind) {
        case 'base':
          this.#checkIdentity(decoded.watch);
          this.#history = decoded.history;
          this.#key = decoded.key;
          this.#committed = decoded.committed;
          this.#observedAt = decoded.observedAt;
          toCome = decoded.size;
          this.#snapshot = { generation: decoded.generation, rows: this.#rows, missing: decoded.missing };
          break;
        case 'rows':
          toCome -= decoded.rows.length;
          for (const [key, row] of decoded.rows) this.#rows.set(key, row);
          break;
        case 'delta':
          this.#checkOrder(decoded);
          this.#take(decoded);
          break;
        case 'committed':
          this.#forget(decoded.generation);
          this.#weight += 1;
      }
    }
    checkComplete(toCome);
    await this.#checkKey();
  }

  /** What was staged and is not committed, the oldest first: the whole first snapshot, if that is what it is. */
  get uncommitted(): readonly Delta<T>[] {
    const isFirst = this.#snapshot.generation > 0 && this.#committed === 0;
    return isFirst ? [this.#firstDelta()] : this.#staged;
  }

  /** Accepts the first snapshot. Durable when it resolves. */
  async begin(rows: SnapshotRows<T>, observedAt: string): Promise<void> {
    this.#rows = rows;
    this.#observedAt = observedAt;
    this.#snapshot = { generation: 1, rows, missing: new Map() };
    await this.#log.replace(this.#base());
  }

  /** Accepts what a walk has shown. Durable when it resolves. */
  async stage(delta: Delta<T>): Promise<void> {
    await this.#log.append(encodeDelta(delta));
    this.#take(delta);
  }

  /** The consumer has everything up to a generation. */
  async commit(generation: number): Promise<void> {
    const isNews = generation > this.#committed;
    if (isNews) {
      this.#forget(generation);
      this.#weight += 1;
    }
    // Rows that come and go between walks make records too, though nothing is ever given out.
    const isOutdated = this.#isRekeyed || this.#weight > minWeight + this.#rows.size;
    if (isOutdated && this.#staged.length === 0) {
      this.#weight = 0;
      this.#isRekeyed = false;
      await this.#log.replace(this.#base());
    } else if (isNews) await this.#log.append({ committed: generation });
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #beginAnew(history: string): void {
    this.#rows = new SnapshotRows<T>();
    this.#snapshot = { generation: 0, rows: this.#rows, missing: new Map() };
    this.#history = history;
    this.#committed = 0;
    this.#staged = [];
    this.#weight = 0;
    this.#key = undefined;
  }

  #take(delta: Delta<T>): void {
    this.#snapshot = applied(this.#rows, delta);
    this.#weight += 1 + delta.differences.length + delta.missing.size;
    if (delta.differences.length > 0) this.#staged.push(delta);
  }

  #forget(generation: number): void {
    this.#committed = generation;
    this.#staged = this.#staged.filter((delta) => delta.generation > generation);
  }

  /** Until it is committed nothing is polled, so its rows are still as they were. */
  #firstDelta(): Delta<T> {
    return {
      generation: 1,
      observedAt: this.#observedAt,
      missing: new Map<string, Missing>(),
      differences: Array.from(this.#rows, ([key, after]) => ({
        type: 'initial',
        key,
        before: null,
        after,
        fields: [],
      })),
    };
  }

  *#base(): Generator<object, void, undefined> {
    const { generation, missing } = this.#snapshot;
    yield {
      base: 1,
      ...{
        watch: this.#identity.watch,
        history: this.#history,
        generation,
        observedAt: this.#observedAt,
        committed: this.#committed,
        size: this.#rows.size,
      },
      missing: encodeMissing(missing),
      ...(this.#key && { key: this.#key }),
    };
    let rows: (readonly [string, T])[] = [];
    for (const row of this.#rows) {
      rows.push(row);
      if (rows.length < rowsPerRecord) continue;
      yield { rows };
      rows = [];
    }
    if (rows.length > 0) yield { rows };
  }

  /** Each record has its checksum; this notices one that is missing. */
  #checkOrder({ generation, differences }: Delta<T>): void {
    if (generation !== this.#snapshot.generation + (differences.length > 0 ? 1 : 0)) throw unreadable();
  }

  #checkIdentity(watch: string): void {
    if (watch === this.#identity.watch) return;
    throw new CheckpointError(
      'The state belongs to another watch: other rows are asked for, or from elsewhere. Give each watch a state of its own: nothing was changed.',
    );
  }

  async #checkKey(): Promise<void> {
    const { keyFingerprint, sameProject = false } = this.#identity;
    if (!keyFingerprint) return;
    const salt = this.#key?.salt ?? this.#newId();
    const fingerprint = await keyFingerprint(salt);
    const isAnother = this.#key !== undefined && this.#key.fingerprint !== fingerprint;
    if (isAnother && !sameProject)
      throw new CheckpointError(
        'The state was made with another API key, maybe of another project: everything would look changed. Another project needs a state of its own.',
        {},
        [{ kind: 'allow', option: 'sameProject' }],
      );
    this.#key = { salt, fingerprint };
    // From the next commit on it is the new key's, unless something is staged.
    this.#isRekeyed = isAnother;
  }
}

/** A snapshot is written whole or not at all, so no crash takes the end of it. */
function checkComplete(toCome: number): void {
  if (toCome === 0) return;
  throw new CheckpointError(
    "The watch's log has lost rows of its snapshot, so it was damaged or changed. Begin anew with another state.",
  );
}
