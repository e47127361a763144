import { recordState } from './recordState.js';
import type { StateStore } from './stateStore.js';

/**
 * State in memory: enough to resume after an error, not after a crash.
 *
 * @example
 * const state = memoryState();
 * await exportTo(source, sink, { state }).run().catch(console.error);
 * await exportTo(source, sink, { state }).run(); // resumes after the last committed page
 */
export function memoryState(): StateStore {
  // Records are stored as text, so that later changes do not affect them, and only plain JSON is stored.
  const lists = new Map<string, string[]>();
  return recordState({
    open: () => Promise.resolve(() => Promise.resolve()),
    async *read(list) {
      for (const record of lists.get(list) ?? []) yield JSON.parse(record);
    },
    write(list, records, { isReplaced }) {
      const texts = Array.from(records, (record) => JSON.stringify(record));
      const before = lists.get(list);
      if (isReplaced && texts.length === 0) lists.delete(list);
      else if (isReplaced || !before) lists.set(list, texts);
      else before.push(...texts);
      return Promise.resolve();
    },
  });
}
