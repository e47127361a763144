import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError } from '@sluice/core';
import { withPath, readLines, type FilePosition, type FileSystem } from '@sluice/core/node';
import { decodeDeadLetter, isTornLetter, type FiledLetter } from './deadLetter.js';

/** A letter and its position in the file. */
export interface LetterLine extends FiledLetter {
  readonly line: number;
  readonly start: number;
  /** After the letter and its line end. */
  readonly position: FilePosition;
  /** Whether the line has its line end; an edit by hand may remove the last one. */
  readonly isEnded: boolean;
  /** SHA-256 of the line, wherever it is: letters with the same digest have the same id and record. */
  readonly digest: string;
}

/**
 * The letters of a file, in order. A torn last letter is left out: it is being written, its writer was killed and will
 * write it again, or somebody has cut it. Changes nothing, so it can run while the file is written.
 *
 * @param onTorn called at the end with the number of the line that is torn, and the byte at which it starts.
 *
 * @throws CheckpointError at a line that is not a letter, SinkError if the file is missing or can't be read.
 */
export async function* deadLettersIn(
  fileSystem: FileSystem,
  path: string,
  onTorn: (line: number, start: number) => void = () => undefined,
): AsyncGenerator<LetterLine, void, undefined> {
  if ((await withPath(fileSystem.kind(path), path, 'inspected')) === 'absent') throw noLetters(path);
  const file = await withPath(fileSystem.open(path, 'readable'), path, 'opened');
  try {
    let number = 0;
    let sum = 0;
    let torn: { readonly line: number; readonly start: number } | undefined;
    for await (const { bytes, start, end, isEnded } of readLines(file, path)) {
      // Only the last letter can be torn.
      if (torn !== undefined) throw noLetter(path, torn.line);
      number += 1;
      const found = decodeDeadLetter(bytes);
      if (!found) {
        if (!isTornLetter(bytes, isEnded)) throw noLetter(path, number);
        torn = { line: number, start };
        continue;
      }
      sum = crc32(isEnded ? '\n' : '', crc32(bytes, sum));
      yield { ...found, line: number, start, position: { bytes: end, crc32: sum }, isEnded, digest: hashLine(bytes) };
    }
    if (torn) onTorn(torn.line, torn.start);
  } finally {
    await file.close().catch(() => undefined);
  }
}

/** @param line without its line end, so that adding a missing line end does not change the digest. */
export function hashLine(line: Buffer): string {
  return hash('sha256', line);
}

export function noLetters(path: string): SinkError {
  return new SinkError(`${path} does not exist: no dead letters were written to it, or all have been replayed.`, {
    details: { path },
  });
}

function noLetter(path: string, line: number): CheckpointError {
  return new CheckpointError(
    `Line ${line} of ${path} is not a dead letter, or is damaged. Repair or remove it: nothing was changed.`,
    { path, line },
  );
}
