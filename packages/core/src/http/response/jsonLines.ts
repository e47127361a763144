import { parseExactly } from './exactNumbers.js';

/** A line that is not a document. Its message has nothing of the line, which may contain a secret. */
export class JsonLineError extends Error {
  /** From 1, blank lines included. */
  readonly line: number;
  /** Completes "line 3 …". */
  readonly what: string;

  constructor(line: number, what: string) {
    super(`line ${line} ${what}`);
    this.line = line;
    this.what = what;
  }
}

/**
 * The documents of JSON Lines, in order. Blank lines, which some servers send to keep a connection open, are skipped.
 *
 * @throws JsonLineError if a line is not JSON. A last line without its line break may be complete; if it is not JSON,
 * the response was cut off. RangeError if it is nested too deep.
 * @see https://jsonlines.org
 */
export function parseJsonLines(text: string): readonly unknown[] {
  const lines = text.split('\n');
  return lines.flatMap((line, nth) => (/\S/.test(line) ? [parse(line, nth + 1, nth === lines.length - 1)] : []));
}

function parse(written: string, line: number, isCut: boolean): unknown {
  try {
    return parseExactly(written);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new JsonLineError(line, isCut ? 'is cut off: it is the last one, and not JSON' : 'is not JSON');
  }
}
