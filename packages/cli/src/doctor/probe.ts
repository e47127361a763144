import type { Client, PageSource } from '@sluice/core';

/**
 * Asks an API for one page and answers how long that took, in ms, waiting for the limiter not counted.
 *
 * Rejects with what went wrong, or the signal's reason.
 */
export async function probe(
  client: Client,
  source: Pick<PageSource<unknown>, 'pages'>,
  signal: AbortSignal,
): Promise<number> {
  let took = 0;
  const watching = client.events.subscribe((event) => {
    if (event.type === 'response') took = event.took;
  });
  const pages = source.pages({ prefetch: 0 })[Symbol.asyncIterator]();
  const stop = (): void => {
    void pages.return?.();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await pages.next();
    signal.throwIfAborted();
    return took;
  } finally {
    signal.removeEventListener('abort', stop);
    watching.unsubscribe();
    await pages.return?.();
  }
}
