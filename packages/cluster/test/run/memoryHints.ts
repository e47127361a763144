import type { ProgressHints } from '../../src/run/run.js';

/** Hints in memory, as JSON. */
export class MemoryHints implements ProgressHints {
  readonly saved = new Map<number, string>();

  load = async (partition: number): Promise<unknown> => {
    const text = this.saved.get(partition);
    return text === undefined ? undefined : JSON.parse(text);
  };

  save = async (partition: number, hint: object): Promise<void> => {
    this.saved.set(partition, JSON.stringify(hint));
  };

  drop = async (partition: number): Promise<void> => {
    this.saved.delete(partition);
  };
}
