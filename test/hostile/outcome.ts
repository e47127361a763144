import { inspect } from 'node:util';
import { SluiceError, type Source } from '../../packages/core/src/index.js';
import { exactJson } from './exactJson.js';
import { keyTraces } from './keyTraces.js';

/** What came of a walk, as plain values. */
export interface Outcome {
  /** The rows given out, as exact JSON. */
  readonly rows: readonly string[];
  readonly error?: SeenError;
  /** Pieces of the key that stand in the error. */
  readonly traces: readonly string[];
}

/** An error, as plain values. */
export interface SeenError {
  readonly name: string;
  readonly message: string;
  /** Of ours only. */
  readonly code?: string;
  /** The place in the document that it names, if it names one. */
  readonly path?: string;
  /** Of others only. */
  readonly stack?: string;
}

/** Walks through a source, and looks at all that its pages and its error say. */
export async function outcomeOf<T>(
  source: Source<T>,
  secret: string,
  take?: (rows: readonly T[]) => void,
): Promise<Outcome> {
  const rows: string[] = [];
  try {
    for await (const page of source.pages()) {
      // Whoever writes checkpoints does this with each page.
      JSON.stringify(page.position);
      take?.(page.items);
      for (const row of page.items) rows.push(exactJson(row));
    }
    return { rows, traces: [] };
  } catch (error) {
    return { rows, ...seen(error, secret) };
  }
}

/** What an error says, and where it says too much. */
export function seen(error: unknown, secret: string): Pick<Outcome, 'error' | 'traces'> {
  const texts = [inspect(error, { depth: Infinity, showHidden: true, getters: true, maxStringLength: Infinity })];
  if (!(error instanceof Error)) return { error: { name: typeof error, message: texts.join() }, traces: [] };
  texts.push(error.message, error.stack ?? '', JSON.stringify(error));
  const { name, message, stack = '' } = error;
  const { path } = SluiceError.is(error) ? error.details : {};
  return {
    error: {
      ...{ name, message },
      ...(SluiceError.is(error) ? { code: error.code } : { stack }),
      ...(typeof path === 'string' && { path }),
    },
    traces: [...new Set(texts.flatMap((text) => keyTraces(secret, text)))],
  };
}
