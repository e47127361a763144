import { isUtf8 } from 'node:buffer';
import { isCount, isRecord, tryParseJson } from '@sluice/core/kit';
import { escapeLineEnds } from '../../toJson.js';

/** A record that the endpoint refused. */
export interface DeadLetter {
  /** The record's `webhook-id`. */
  readonly id: string;
  /** Records with the same key are ordered; `null`: no order. */
  readonly key: string | null;
  /** 0: parked, never sent, because an earlier record with its key is a dead letter. */
  readonly attempts: number;
  /** Of the last response. */
  readonly status: number | null;
  /** The start of the last response, with secrets redacted. */
  readonly answer: string;
  /** When the sender gave up, ISO 8601. */
  readonly at: string;
  /** The body: `JSON.stringify` gives the exact text that was sent. */
  readonly record: unknown;
}

/** A dead letter in its file, with the run that wrote it: several exports may share a file. */
export interface FiledLetter {
  readonly letter: DeadLetter;
  readonly run: string;
}

/** The start of every line: distinguishes a torn letter from foreign content. */
const lineStart = Buffer.from('{"id":"');

/** A line of JSON without its line end, nor anything that a reader takes for one. */
export function encodeDeadLetter({ id, key, attempts, status, answer, at, record }: DeadLetter, run: string): string {
  const json = JSON.stringify({ id, key, attempts, status, answer, at, run, record });
  return escapeLineEnds(json);
}

/** Reads a line, which may have been edited by hand; `undefined` if it is not a letter. */
export function decodeDeadLetter(line: Buffer): FiledLetter | undefined {
  // Decoding invalid UTF-8 would change the text.
  const value = isUtf8(line) ? tryParseJson(line.toString()) : undefined;
  const letter = decodeLetter(value);
  const run = isRecord(value) ? value['run'] : undefined;
  return letter && typeof run === 'string' ? { letter, run } : undefined;
}

/** Reads a letter; `undefined` if it is not one. */
export function decodeLetter(value: unknown): DeadLetter | undefined {
  if (!isRecord(value) || !('record' in value)) return undefined;
  const { id, key, attempts, status, answer, at, record } = value;
  if (typeof id !== 'string' || typeof answer !== 'string' || typeof at !== 'string') return undefined;
  // The id is sent in a header.
  if (!/^[\x21-\x7e]+$/.test(id)) return undefined;
  if (key !== null && typeof key !== 'string') return undefined;
  if (status !== null && typeof status !== 'number') return undefined;
  if (!isCount(attempts)) return undefined;
  return { id, key, attempts, status, answer, at, record };
}

/**
 * Whether the last line of a file is a partially written letter: it has no line end or, after a power cut, blocks of
 * zeros, which JSON never contains. A line with another start is foreign content, and is not truncated.
 */
export function isTornLetter(line: Buffer, isEnded: boolean): boolean {
  const isLetter = line.subarray(0, lineStart.length).every((byte, at) => byte === 0 || byte === lineStart[at]);
  return isLetter && (!isEnded || line.includes(0));
}
