import type { WalkedSource } from './walkedSource.js';

/** The rows that a subscriber receives. */
export function pushed<T>(walked: WalkedSource<T>): Promise<T[]> {
  const rows: T[] = [];
  const all = new Promise<T[]>((resolve, reject) => {
    walked.source.subscribe({
      next: (row) => rows.push(row),
      error: reject,
      complete: () => resolve(rows),
    });
  });
  return walked.inTime(all, 'A subscription did not complete');
}
