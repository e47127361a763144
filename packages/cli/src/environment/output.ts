import { fstatSync, readFileSync, readlinkSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { Failure } from '../errors/errors.js';
import { codeOf } from '../errors/thrown.js';
import { type Colors, colorsFor } from '../terminal/colors.js';

/** A stream that may be a terminal, like Node's `stdout` and `stderr`. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Where a command writes. */
export interface Output {
  readonly stream: Writable;
  /** It was closed when the process started, so nobody can read it. */
  readonly isClosed: boolean;
  readonly isTerminal: boolean;
  /** The current width in characters. */
  readonly columns: number;
  readonly colors: Colors;
  /** Rejects with EPIPE if the reader has closed the output, and with a Failure if the disk refuses the text. */
  readonly write: (text: string) => Promise<void>;
  /** Writes without waiting; the next `write` rejects if this one failed. */
  readonly print: (text: string) => void;
  /** Shows a line on a terminal, until the next line or text takes its place. An empty one removes it. */
  readonly showLine: (line: string) => void;
}

const defaultColumns = 120;
/** Returns to the start of the line and erases it. */
const eraseLine = '\r\u001b[K';

/** An output on a stream. `COLUMNS` sets the width if the stream has none. */
export function openOutput(
  stream: OutputStream,
  variables: Readonly<Record<string, string | undefined>>,
  isClosed = false,
): Output {
  const isTerminal = stream.isTTY === true;
  let broken: Error | undefined;
  let isLineShown = false;
  const overLine = (text: string): string => {
    if (!isLineShown) return text;
    isLineShown = false;
    return eraseLine + text;
  };
  const firstError = (error: Error | null | undefined): Error | undefined => (broken ??= error ?? undefined);
  return {
    stream,
    isClosed,
    isTerminal,
    get columns() {
      // A terminal that was never sized says 0.
      return stream.columns || Number(variables['COLUMNS']) || defaultColumns;
    },
    colors: colorsFor(isTerminal, variables),
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(overLine(text), (reason) => {
          const error = firstError(reason);
          if (error) reject(readableError(error));
          else resolve();
        });
      }),
    print: (text) => {
      stream.write(overLine(text), firstError);
    },
    showLine: (line) => {
      if (line === '' && !isLineShown) return;
      isLineShown = line !== '';
      // The cursor waits at the start: behind a full line, the "^C" of a terminal would begin another one.
      stream.write(eraseLine + line + (isLineShown ? '\r' : ''), firstError);
    },
  };
}

/** Called before any request. @throws Failure if a command's data would be lost. */
export function refuseClosed({ isClosed }: Pick<Output, 'isClosed'>): void {
  if (!isClosed) return;
  throw new Failure(
    'stdout is closed, or is /dev/null opened for reading too, which looks the same: nobody would get the output. Give it a reader or a file. To throw the output away, open /dev/null for writing only, as > /dev/null in a shell does.',
  );
}

/** Leaves EPIPE as it is, since callers check its code. */
function readableError(error: Error): Error {
  const code = codeOf(error);
  if (code === 'EPIPE' || code === undefined) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new Failure(
    `The output can't be written (${code}): ${isFull ? 'the disk is full. Make room' : 'look at where it goes'}, then run it again.`,
  );
}

/**
 * A stream on a descriptor that is a file or a device; `undefined` for anything else. Node's own stream does not notice
 * that a nearly full disk wrote only a part, without an error.
 */
export function fileStream(descriptor: number): Writable | undefined {
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
    // `bigint`: Node 20 reuses the result of a plain `fstat`, and its loader then mistakes every path for a pipe.
    const found = fstatSync(descriptor, { bigint: true });
    return found.isFile() || found.isCharacterDevice();
  } catch {
    return false;
  }
}

/**
 * Whether a descriptor was closed when the process started, as by `>&-`. Node then opens `/dev/null` for reading and
 * writing, whereas `> /dev/null` in a shell is for writing only. Node's `stdio: 'ignore'` and Python's `DEVNULL` look
 * the same, so they are refused too: a lost export costs more than a refusal. `false` except on Linux.
 */
export function isClosedAtStart(descriptor: number): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${descriptor}`) !== '/dev/null') return false;
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    // The lowest two bits of the flags of `open` are the mode; 2 is for reading and writing.
    return flags !== undefined && (Number.parseInt(flags, 8) & 3) === 2;
  } catch {
    return false;
  }
}
