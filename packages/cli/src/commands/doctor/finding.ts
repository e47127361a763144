import type { Client, PageSource } from '@sluice/core';
import type { Colors } from '../../terminal/colors.js';
import { visibleText } from '../../terminal/text.js';

/** What a check found out. */
export interface Finding {
  /** `fail`: commands can't work so. `warn`: some can't, or it is worth a look. */
  readonly level: 'ok' | 'warn' | 'fail';
  readonly subject: string;
  /** What is so; and unless it is `ok`, what to do. */
  readonly text: string;
}

/** A finding as a line of the report. */
export function findingLine({ level, subject, text }: Finding, colors: Colors): string {
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red }[level];
  return `${paint(level.padEnd(4))}  ${subject.padEnd(11)}  ${visibleText(text)}\n`;
}

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
