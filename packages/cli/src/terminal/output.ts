import type { Writable } from 'node:stream';
import type { Variables } from '../variables.js';
import { colorsFor, type Colors } from './colors.js';

/** A stream that may be a terminal, as Node's `stdout` and `stderr` are. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Where a command writes, and what may be shown there. */
export interface Output {
  readonly stream: Writable;
  /** A person looks at it. */
  readonly isTerminal: boolean;
  /** Characters that fit in a line at this moment. */
  readonly columns: number;
  readonly colors: Colors;
  /** Resolves when the text was passed on; rejects when nobody reads any more. */
  readonly write: (text: string) => Promise<void>;
  /** Writes without waiting; nobody learns whether it arrived. */
  readonly tell: (text: string) => void;
}

/** Where nothing says how wide a line may be. */
const usualColumns = 120;

/** An output on a stream. `COLUMNS` sets the width where the stream has none of its own. */
export function outputOf(stream: OutputStream, variables: Variables): Output {
  const isTerminal = stream.isTTY === true;
  return {
    stream,
    isTerminal,
    get columns() {
      // A terminal that was never sized says 0.
      return stream.columns || Number(variables['COLUMNS']) || usualColumns;
    },
    colors: colorsFor(isTerminal, variables),
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
    tell: (text) => {
      stream.write(text);
    },
  };
}
