import { fstatSync, readFileSync, readlinkSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { Failure } from '../errors/errors.js';
import { type Colors, colorsFor } from '../terminal/colors.js';

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
export function outputOf(
  stream: OutputStream,
  variables: Readonly<Record<string, string | undefined>>,
  isClosed = false,
): Output {
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

/**
 * A stream on a descriptor that is a file or a device; `undefined` for a pipe, a socket or a terminal, which Node's own stream serves well. A
 * disk that is nearly full takes a part of what it is given, without an error, and that stream does not look.
 */
export function wholeWrites(descriptor: number): Writable | undefined {
  if (!isFile(descriptor)) return undefined;
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, written) {
      try {
        for (let at = 0; at < chunk.length;) at += writeSync(descriptor, chunk, at);
        written();
      } catch (error) {
        written(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
}

function isFile(descriptor: number): boolean {
  try {
    // `bigint`, since Node 20 keeps the last plain answer, and its loader takes every path for a pipe while that is one.
    const found = fstatSync(descriptor, { bigint: true });
    return found.isFile() || found.isCharacterDevice();
  } catch {
    return false;
  }
}

/**
 * Whether a descriptor was closed when the process began, as by `>&-`. Node opens `/dev/null` in its place, for reading and writing, where
 * the `> /dev/null` of a shell is for writing only. A program that throws our output away by such a descriptor, as Node's `stdio: 'ignore'`
 * and Python's `DEVNULL` do, looks the same in all that the system says of it. Both are refused where the output is what a command is run for:
 * an export that is lost costs more than a refusal that says what to do. Only Linux tells; elsewhere the answer is `false`.
 */
export function isClosedAtStart(descriptor: number): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${descriptor}`) !== '/dev/null') return false;
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return flags !== undefined && isReadWrite(Number.parseInt(flags, 8));
  } catch {
    return false;
  }
}

/** Of the flags of `open`, the lowest two bits are the mode. */
function isReadWrite(flags: number): boolean {
  return (flags & 3) === 2;
}
