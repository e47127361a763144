import type { Change, RowFormat } from '@sluice/core';
import { changeLines, type LineOptions } from './changeLine.js';
import type { RowLook } from './rowLook.js';

/** Changes as lines for people. A page of them is a poll. */
export function changeText<T extends object>(look: RowLook<T>, options: LineOptions): RowFormat<Change<T>> {
  return {
    name: 'text',
    identity: { format: 'text' },
    encoder: () => ({
      header: '',
      encode: (changes) =>
        changeLines(changes, look, options)
          .map((line) => `${line}\n`)
          .join(''),
    }),
  };
}
