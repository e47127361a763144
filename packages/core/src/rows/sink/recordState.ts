import type { StateLog } from '../../stateLog.js';
import type { Outage } from '../../outage.js';
import { lockQueues, type Release } from './lockQueue.js';
import type { StateStore } from './stateStore.js';

/** Lists of records, each with a name: a table of a database with the columns `list` and `record`, for example. */
export interface RecordLists {
  /**
   * Connects, and keeps other processes out until the release. Called once for all holders in this process.
   *
   * @param onOutage the parameter of `StateStore.lock`
   */
  open(signal: AbortSignal, onOutage?: (outage: Outage | undefined) => void): Promise<Release>;
  /**
   * The records of a list in order, as plain JSON; none if there is no such list. A list may be large: read it page by
   * page. Other lists are read and written meanwhile.
   */
  read(list: string): AsyncIterable<unknown>;
  /**
   * Adds records to a list, after its others or instead of them: all or none. They are durable when it resolves.
   *
   * @param records can be iterated once, and may be too many for memory if they replace others
   */
  write(list: string, records: Iterable<object>, options: { readonly isReplaced: boolean }): Promise<void>;
}

/**
 * State in lists of records, e.g. for a sink with transactions that stores its own checkpoints (`Sink.state`). Its `write`
 * commits the sink's waiting rows in the same transaction.
 *
 * @example
 * const lists = new Map<string, readonly object[]>();
 * const state = recordState({
 *   open: async () => async () => {},
 *   async *read(list) {
 *     yield* lists.get(list) ?? [];
 *   },
 *   write: async (list, records, { isReplaced }) =>
 *     void lists.set(list, [...(isReplaced ? [] : (lists.get(list) ?? [])), ...records]),
 * });
 */
export function recordState(lists: RecordLists): StateStore {
  const queues = lockQueues();
  const shared = new SharedRelease((...holder) => lists.open(...holder));
  return {
    async lock(signal, use = 'export', onOutage) {
      const leave = await queues[use].acquire(signal);
      let release: Release;
      try {
        release = await shared.take(signal, onOutage);
      } catch (error) {
        await leave();
        throw error;
      }
      return async () => {
        await release();
        await leave();
      };
    },
    async load(name) {
      for await (const record of lists.read(nameList(name))) return record;
      return undefined;
    },
    save: (name, record) => lists.write(nameList(name), [record], { isReplaced: true }),
    remove: (name) => lists.write(nameList(name), [], { isReplaced: true }),
    log: (name) => new ListedLog(lists, `log/${name}`),
  };
}

/** A prefix tells records from logs, which may have the same names. */
function nameList(name: string): string {
  return `record/${name}`;
}

/** Opens the lists for the first holder, and closes them after the last. */
class SharedRelease {
  readonly #open: RecordLists['open'];
  #holders = 0;
  #opened: Promise<Release> | undefined;
  #closed: Promise<void> = Promise.resolve();

  constructor(open: RecordLists['open']) {
    this.#open = open;
  }

  async take(...holder: Parameters<RecordLists['open']>): Promise<Release> {
    this.#holders += 1;
    this.#opened ??= this.#closed.then(() => this.#open(...holder));
    let isHeld = true;
    const release = async (): Promise<void> => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders -= 1;
      if (this.#holders > 0) return;
      const opened = this.#opened;
      this.#opened = undefined;
      const closed = opened?.then((close) => close());
      this.#closed = closed?.catch(() => undefined) ?? Promise.resolve();
      await closed;
    };
    try {
      await this.#opened;
    } catch (error) {
      await release().catch(() => undefined);
      throw error;
    }
    return release;
  }
}

class ListedLog implements StateLog {
  bytes = 0;
  readonly #lists: RecordLists;
  readonly #list: string;

  constructor(lists: RecordLists, list: string) {
    this.#lists = lists;
    this.#list = list;
  }

  async *read(): AsyncIterable<unknown> {
    let bytes = 0;
    for await (const record of this.#lists.read(this.#list)) {
      bytes += measure(record);
      yield record;
    }
    this.bytes = bytes;
  }

  async append(record: object): Promise<void> {
    await this.#lists.write(this.#list, [record], { isReplaced: false });
    this.bytes += measure(record);
  }

  async replace(records: Iterable<object>): Promise<void> {
    let bytes = 0;
    const measured = function* (): Generator<object, void, undefined> {
      for (const record of records) {
        bytes += measure(record);
        yield record;
      }
    };
    await this.#lists.write(this.#list, measured(), { isReplaced: true });
    this.bytes = bytes;
  }

  remove(): Promise<void> {
    return this.replace([]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function measure(record: unknown): number {
  return JSON.stringify(record).length;
}
