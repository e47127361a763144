import { describe, expect, test } from 'vitest';
import { createPlannedSource } from '../../../src/rows/source/source.js';

describe('a walk that discovers its partitions', () => {
  test('P4 looks for no more of them once one has failed, though nobody has asked for the next page', async () => {
    let onClose: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => (onClose = resolve));
    const steps: string[] = [];
    const source = createPlannedSource<string>(
      { name: 'rows', identity: null, schema: { columns: [] }, levels: 1 },
      () => ({
        get known() {
          return steps.includes('found') ? 1 : 0;
        },
        isComplete: false,
        async more() {
          if (!steps.includes('found')) {
            steps.push('found');
            return;
          }
          // The listing of parents waits, as for a permit.
          steps.push('waits');
          await closed;
        },
        mayBegin: () => true,
        open: () => ({
          number: 0,
          place: () => 'rows of a',
          isPart: false,
          fetch({ at }) {
            if (at && 'cursor' in at) return Promise.reject(new Error('A page came again.'));
            return Promise.resolve({ rows: ['row'], next: { cursor: '2' } });
          },
        }),
        ended: () => undefined,
        close() {
          onClose();
          return Promise.resolve();
        },
      }),
    );
    const pages = source.pages({ concurrency: 2 })[Symbol.asyncIterator]();
    expect(await pages.next()).toMatchObject({ done: false });
    await closed;
    expect(steps).toEqual(['found', 'waits']);
    await expect(pages.next()).rejects.toThrow('A page came again.');
  });
});
