import { resolve } from 'node:path';
import type { StateStore } from '@sluice/core';
import { nodeFileSystem, type FileSystem } from '@sluice/core/node';
import { checkOptions } from '@sluice/core/kit';
import type { FiledLetter } from './deadLetter.js';
import { checkKind } from './deadLetterFile.js';
import { lettersFrom, lettersName, surveyLetters } from './deadLetterLog.js';
import { deadLetterFolder, DeadLetterJournal } from './deadLetterJournal.js';
import { deadLettersIn } from './letterLines.js';

/** A letter, to be displayed. In a state, `run` is empty. */
export interface ListedLetter extends FiledLetter {
  /** Its line in the file, or its number in the state, counted from 1. */
  readonly line: number;
  /** The endpoint has accepted it. Letters are removed when all are replayed. */
  readonly isReplayed: boolean;
}

/** Options of {@link readDeadLetters}. */
export interface ReadLettersOptions {
  readonly fileSystem?: FileSystem | undefined;
  /**
   * Called at the end with the number of the last line if it is cut off: an export writes it now, was killed while it
   * did, or somebody has cut it. It is left out. Default: nothing.
   */
  readonly onTorn?: ((line: number) => void) | undefined;
}

/**
 * Dead letters, in order. Changes nothing and needs no lock, also during an export or a replay: only the state of a folder
 * is locked.
 *
 * @param letters the path of their file, or the state that has them (`deadLetter: true`)
 * @example
 * for await (const { letter, isReplayed } of readDeadLetters('dead.jsonl'))
 *   if (!isReplayed) console.log(letter.id, letter.status);
 *
 * @throws CheckpointError at a line that is not a letter, with its number in `details.line`; SinkError if the file is
 * missing or can't be read.
 */
export async function* readDeadLetters(
  letters: string | StateStore,
  options: ReadLettersOptions = {},
): AsyncGenerator<ListedLetter, void, undefined> {
  checkOptions('readDeadLetters()', options, { fileSystem: true, onTorn: true });
  const { fileSystem = nodeFileSystem, onTorn } = options;
  if (typeof letters !== 'string') {
    yield* lettersOfState(letters);
    return;
  }
  const target = resolve(letters);
  await checkKind(target, fileSystem);
  const replayed = await DeadLetterJournal.read(fileSystem, deadLetterFolder(target));
  for await (const { letter, run, line, digest } of deadLettersIn(fileSystem, target, onTorn))
    yield { letter, run, line, isReplayed: replayed.has(digest) };
}

/** The letters of a state, in order. One in a folder is locked meanwhile, since reading its log repairs it. */
async function* lettersOfState(state: StateStore): AsyncGenerator<ListedLetter, void, undefined> {
  const { signal } = new AbortController();
  const release = state.folder === undefined ? undefined : await state.lock(signal);
  const log = state.log(lettersName);
  try {
    const numbers = await surveyLetters(log);
    for await (const { nth, letter } of lettersFrom(log, 0))
      if (!numbers.dropped.has(nth)) yield { letter, run: '', line: nth + 1, isReplayed: numbers.replayed.has(nth) };
  } finally {
    await log.close();
    await release?.();
  }
}
