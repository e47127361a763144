import { resolve } from 'node:path';
import { nodeFileSystem, type FileSystem } from '@sluice/core/node';
import type { FiledLetter } from './deadLetter.js';
import { checkKind } from './deadLetterFile.js';
import { deadLetterFolder, DeadLetterJournal } from './deadLetterJournal.js';
import { deadLettersIn } from './deadLettersIn.js';

/** A letter of a file, for people to look at. */
export interface ListedLetter extends FiledLetter {
  /** Its line in the file, counted from 1. */
  readonly line: number;
  /** The endpoint has taken it by now: it is only here because others are left. */
  readonly isReplayed: boolean;
}

/**
 * The letters of a file, in order. Changes nothing and needs no lock: it may read beside a running export or replay, and gives what is
 * whole by then.
 *
 * @example for await (const { letter, isReplayed } of readDeadLetters('dead.jsonl')) if (!isReplayed) console.log(letter.id, letter.status);
 *
 * @throws CheckpointError at a line that is no letter, with the line's number in `details.line`; SinkError if there is no such file, or
 * it can't be read.
 */
export async function* readDeadLetters(
  path: string,
  { fileSystem = nodeFileSystem }: { readonly fileSystem?: FileSystem } = {},
): AsyncGenerator<ListedLetter, void, undefined> {
  const target = resolve(path);
  await checkKind(target, fileSystem);
  const replayed = await DeadLetterJournal.read(fileSystem, deadLetterFolder(target));
  for await (const { letter, run, line, digest } of deadLettersIn(fileSystem, target))
    yield { letter, run, line, isReplayed: replayed.has(digest) };
}
