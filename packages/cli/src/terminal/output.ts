import type { Writable } from 'node:stream';
import { Failure } from '../faults/failure.js';
import type { Variables } from '../variables.js';
import { colorsFor, type Colors } from './colors.js';

/** A stream that may be a terminal, as Node's `stdout` and `stderr` are. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Where a command writes, and what may be shown there. */
export interface Output {
  readonly stream: Writable;
  /** Nobody can read what is written: it was closed when the process began. */
  readonly isClosed: boolean;
  /** A person looks at it. */
  readonly isTerminal: boolean;
  /** Characters that fit in a line at this moment. */
  readonly columns: number;
  readonly colors: Colors;
  /** Resolves when the text was passed on; rejects when nobody reads any more, and with a Failure where the disk refuses it. */
  readonly write: (text: string) => Promise<void>;
  /** Writes without waiting; that it did not arrive is told by the next `write`. */
  readonly tell: (text: string) => void;
}

/** Where nothing says how wide a line may be. */
const usualColumns = 120;

/** An output on a stream. `COLUMNS` sets the width where the stream has none of its own. */
export function outputOf(stream: OutputStream, variables: Variables, isClosed = false): Output {
  const isTerminal = stream.isTTY === true;
  let broken: Error | undefined;
  const noted = (error: Error | null | undefined): Error | undefined => (broken ??= error ?? undefined);
  return {
    ...{ stream, isClosed, isTerminal },
    get columns() {
      // A terminal that was never sized says 0.
      return stream.columns || Number(variables['COLUMNS']) || usualColumns;
    },
    colors: colorsFor(isTerminal, variables),
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          const fault = noted(error);
          if (fault) reject(explained(fault));
          else resolve();
        });
      }),
    tell: (text) => {
      stream.write(text, noted);
    },
  };
}

/** @throws Failure if a command's data would go nowhere. Asked before anything is requested. */
export function refuseClosed({ isClosed }: Pick<Output, 'isClosed'>): void {
  if (!isClosed) return;
  throw new Failure(
    'stdout is closed, or is /dev/null opened for reading too, which looks the same: nobody would get the output. Give it a reader or a file. To throw the output away, open /dev/null for writing only, as > /dev/null in a shell does.',
  );
}

/** A reader that went away stays what it is: others know it by its code. */
function explained(fault: Error): Error {
  const code = 'code' in fault ? String(fault.code) : '';
  if (code === 'EPIPE' || code === '') return fault;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new Failure(
    `The output can't be written (${code}): ${isFull ? 'the disk is full. Make room' : 'look at where it goes'}, then run it again.`,
  );
}
