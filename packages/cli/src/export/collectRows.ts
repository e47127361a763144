import type { Sink } from '@sluice/core';

/** A sink into memory, for what is shown rather than kept. */
export function collectRows<T>(): { readonly sink: Sink<T>; readonly rows: readonly T[] } {
  const rows: T[] = [];
  const sink: Sink<T> = {
    name: 'rows',
    identity: null,
    promises: 'at-least-once',
    open: () =>
      Promise.resolve({
        write: ({ items }) => {
          rows.push(...items);
          return Promise.resolve();
        },
        flush: () => Promise.resolve(rows.length),
        seal: () => Promise.resolve(rows.length),
        close: () => Promise.resolve({ target: 'memory' }),
        abort: () => Promise.resolve(),
      }),
  };
  return { sink, rows };
}
