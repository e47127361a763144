import type { Client } from '@sluice/core';
import type { PageSource } from '@sluice/core/kit';
import type { Colors } from '../../terminal/colors.js';
import { visibleText } from '../../terminal/text.js';

/** The result of a check. */
export interface Finding {
  /** `fail`: commands can't work. `warn`: some can't, or the user should look at it. */
  readonly level: 'ok' | 'warn' | 'fail';
  readonly subject: string;
  /** What was found; unless `ok`, also what to do. */
  readonly text: string;
}

export function finding(level: Finding['level'], subject: string, text: string): Finding {
  return { level, subject, text };
}

export function findingLine({ level, subject, text }: Finding, colors: Colors): string {
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red }[level];
  return `${paint(level.padEnd(4))}  ${subject.padEnd(11)}  ${visibleText(text)}\n`;
}

/** Requests one page and resolves to the time of the response in ms, without waiting for the limiter. */
export async function probe(
  client: Client,
  source: Pick<PageSource<unknown>, 'pages'>,
  signal: AbortSignal,
): Promise<number> {
  let took = 0;
  const watching = client.eventsOf('response').subscribe((event) => (took = event.took));
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
