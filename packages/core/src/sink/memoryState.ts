import { lockQueues } from './lockQueue.js';
import type { StateLog, StateStore } from './stateStore.js';

/**
 * State in memory: enough to resume after an error, not after a crash.
 *
 * @example
 * const state = memoryState();
 * await exportTo(source, sink, { state }).run().catch(console.error);
 * await exportTo(source, sink, { state }).run(); // resumes after the last committed page
 */
export function memoryState(): StateStore {
  // As text, so that later changes do not reach a record, and only plain JSON is stored.
  const records = new Map<string, string>();
  const logs = new Map<string, string[]>();
  const queues = lockQueues();
  return {
    lock: (signal, use = 'export') => queues[use].acquire(signal),
    load(name) {
      const record = records.get(name);
      return Promise.resolve(record === undefined ? undefined : JSON.parse(record));
    },
    save(name, record) {
      records.set(name, JSON.stringify(record));
      return Promise.resolve();
    },
    remove(name) {
      records.delete(name);
      return Promise.resolve();
    },
    log: (name) => memoryLog(logs, name),
  };
}

function memoryLog(logs: Map<string, string[]>, name: string): StateLog {
  let bytes = 0;
  const lines = (): string[] => logs.get(name) ?? [];
  return {
    get bytes() {
      return bytes;
    },
    async *read() {
      bytes = lines().reduce((sum, line) => sum + line.length, 0);
      for (const line of lines()) yield JSON.parse(line);
    },
    append(record) {
      const line = JSON.stringify(record);
      const before = logs.get(name);
      if (before) before.push(line);
      else logs.set(name, [line]);
      bytes += line.length;
      return Promise.resolve();
    },
    replace(records) {
      const fresh = Array.from(records, (record) => JSON.stringify(record));
      logs.set(name, fresh);
      bytes = fresh.reduce((sum, line) => sum + line.length, 0);
      return Promise.resolve();
    },
    remove() {
      logs.delete(name);
      bytes = 0;
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}
