import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError } from '@sluice/core';
import { explained, type FilePosition, type FileSystem } from '@sluice/core/node';
import { decodeDeadLetter, isTornLetter, type FiledLetter } from './deadLetter.js';
import { linesOf } from './linesOf.js';

/** A letter, and where in its file it lies. */
export interface LetterLine extends FiledLetter {
  readonly line: number;
  readonly start: number;
  /** Behind the letter and its line's end. */
  readonly place: FilePosition;
  /** Whether its line has an end; the last one may lack it, e.g. when it was edited by hand. */
  readonly isEnded: boolean;
  /** Tells it from every other letter, wherever it lies: two with the same digest are the same record, id and body. */
  readonly digest: string;
}

/**
 * The letters of a file, in order. A last one that is torn is not there: it is being written just now, or whoever wrote it was killed
 * and will write it again. Changes nothing, so it may read beside anybody who writes.
 *
 * @throws CheckpointError at a line that is no letter, SinkError if the file can't be read or is not there.
 */
export async function* deadLettersIn(
  fileSystem: FileSystem,
  path: string,
): AsyncGenerator<LetterLine, void, undefined> {
  if ((await explained(fileSystem.kind(path), path, 'looked at')) === 'absent') throw noLetters(path);
  const file = await explained(fileSystem.open(path, 'readable'), path, 'opened');
  try {
    let number = 0;
    let sum = 0;
    let torn: number | undefined;
    for await (const { bytes, start, end, isEnded } of linesOf(file, path)) {
      // Behind a torn letter there is nothing: it was the last one.
      if (torn !== undefined) throw noLetter(path, torn);
      number += 1;
      const found = decodeDeadLetter(bytes);
      if (!found) {
        if (!isTornLetter(bytes, isEnded)) throw noLetter(path, number);
        torn = number;
        continue;
      }
      sum = crc32(isEnded ? '\n' : '', crc32(bytes, sum));
      yield { ...found, line: number, start, place: { bytes: end, crc32: sum }, isEnded, digest: digestOf(bytes) };
    }
  } finally {
    await file.close().catch(() => undefined);
  }
}

/** @param line without its end, so that adding a missing one makes no other letter of it. */
export function digestOf(line: Buffer): string {
  return createHash('sha256').update(line).digest('hex');
}

export function noLetters(path: string): SinkError {
  return new SinkError(`${path} is not there: no dead letters were written to it, or all have been replayed.`, {
    details: { path },
  });
}

function noLetter(path: string, line: number): CheckpointError {
  return new CheckpointError(
    `Line ${line} of ${path} is no dead letter, or is damaged. Mend it, or remove it: nothing was changed.`,
    { path, line },
  );
}
