import { isUtf8 } from 'node:buffer';

/** A record that the endpoint did not take. */
export interface DeadLetter {
  /** The record's `webhook-id`. */
  readonly id: string;
  /** What it has its order by; `null` if it has none. */
  readonly key: string | null;
  /** 0: it was parked, and never sent, since an earlier letter of its key is here. */
  readonly attempts: number;
  /** Of the last answer. */
  readonly status: number | null;
  /** The beginning of the last answer, scrubbed of secrets. */
  readonly answer: string;
  /** When it was given up, ISO 8601. */
  readonly at: string;
  /** What was sent: `JSON.stringify` gives the very text again. */
  readonly record: unknown;
}

/** A dead letter as it lies in its file, with the run that wrote it: several exports may use one file. */
export interface FiledLetter {
  readonly letter: DeadLetter;
  readonly run: string;
}

/** How every line begins, by which half a letter is told from what never was one. */
const beginning = Buffer.from('{"id":"');

/** A letter as a line of JSON, without the line's end. U+2028 and U+2029 are escaped, since some readers take them for line ends. */
export function encodeDeadLetter({ id, key, attempts, status, answer, at, record }: DeadLetter, run: string): string {
  const json = JSON.stringify({ id, key, attempts, status, answer, at, run, record });
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** Reads what `encodeDeadLetter` wrote, or somebody changed by hand; `undefined` if it is no letter. */
export function decodeDeadLetter(line: Buffer): FiledLetter | undefined {
  const value = jsonIn(line);
  if (typeof value !== 'object' || value === null) return undefined;
  if (!('id' in value && 'key' in value && 'attempts' in value && 'status' in value)) return undefined;
  if (!('answer' in value && 'at' in value && 'run' in value && 'record' in value)) return undefined;
  const { id, key, attempts, status, answer, at, run, record } = value;
  if (typeof id !== 'string' || typeof answer !== 'string' || typeof at !== 'string') return undefined;
  // It travels in a header.
  if (!/^[\x21-\x7e]+$/.test(id) || typeof run !== 'string') return undefined;
  if (key !== null && typeof key !== 'string') return undefined;
  if (status !== null && typeof status !== 'number') return undefined;
  if (typeof attempts !== 'number' || !Number.isSafeInteger(attempts) || attempts < 0) return undefined;
  return { letter: { id, key, attempts, status, answer, at, record }, run };
}

/**
 * Whether the last line of a file is a letter that was not written whole: one that breaks off, or, after a power cut, one with blocks
 * of zeros, which JSON never holds. A line that begins in another way is somebody's, and is not cut off.
 */
export function isTornLetter(line: Buffer, isEnded: boolean): boolean {
  const isBegun = line.subarray(0, beginning.length).every((byte, at) => byte === 0 || byte === beginning[at]);
  return isBegun && (!isEnded || line.includes(0));
}

/** What is no UTF-8 would be mended in reading, and so be another text. */
function jsonIn(line: Buffer): unknown {
  if (!isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString());
  } catch {
    return undefined;
  }
}
