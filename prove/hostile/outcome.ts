import { inspect } from 'node:util';
import { SluiceError, type Source } from '../../packages/core/src/index.js';
import { exactJson } from './exactJson.js';
import { keyHalves } from './keyTraces.js';

/** The outcome of a walk, as plain values. */
export interface Outcome {
  /** The emitted rows, as exact JSON. */
  readonly rows: readonly string[];
  readonly error?: SeenError;
  /** Fragments of the key in the error. */
  readonly traces: readonly string[];
}

/** An error, as plain values. */
export interface SeenError {
  readonly name: string;
  readonly message: string;
  /** Only of our errors. */
  readonly code?: string;
  /** The place in the document that it names, if any. */
  readonly path?: string;
  /** Only of other errors. */
  readonly stack?: string;
}

/** Walks through a source, and records everything that its pages and its error reveal. */
export async function outcomeOf<T>(
  source: Source<T>,
  secret: string,
  take?: (rows: readonly T[]) => void,
): Promise<Outcome> {
  const rows: string[] = [];
  try {
    for await (const page of source.pages()) {
      // Code that writes checkpoints does this with each page.
      JSON.stringify(page.position);
      take?.(page.items);
      for (const row of page.items) rows.push(exactJson(row));
    }
    return { rows, traces: [] };
  } catch (error) {
    return { rows, ...seen(error, secret) };
  }
}

/** The text of an error, and where it reveals too much. */
export function seen(error: unknown, secret: string): Pick<Outcome, 'error' | 'traces'> {
  const texts = [inspect(error, { depth: Infinity, showHidden: true, getters: true, maxStringLength: Infinity })];
  if (!(error instanceof Error)) return { error: { name: typeof error, message: texts.join() }, traces: [] };
  texts.push(error.message, error.stack ?? '', JSON.stringify(error));
  const { name, message, stack = '' } = error;
  const { path } = SluiceError.is(error) ? error.details : {};
  return {
    error: {
      name,
      message,
      ...(SluiceError.is(error) ? { code: error.code } : { stack }),
      ...(typeof path === 'string' && { path }),
    },
    traces: [...new Set(texts.flatMap((text) => keyHalves(secret, text)))],
  };
}
