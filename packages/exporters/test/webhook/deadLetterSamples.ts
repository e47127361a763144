import { HttpError } from '@sluice/core';
import type { FileSystem } from '@sluice/core/node';
import type { Delivery } from '../../src/webhook/batches.js';
import type { DeadLetter } from '../../src/webhook/letters/deadLetter.js';
import {
  DeadLetterFile,
  type DeadLetterFileOptions,
  type FiledPosition,
} from '../../src/webhook/letters/deadLetterFile.js';
import { isRecordFault, type Outcome } from '../../src/webhook/endpoint.js';
import { readDeadLetters } from '../../src/webhook/letters/readDeadLetters.js';
import {
  replayDeadLetters as replayTo,
  type ReplayCounts,
  type ReplayOptions,
} from '../../src/webhook/letters/replay.js';

export interface ReplayMessage {
  readonly id: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Replays a file to a function that rejects with the response of an endpoint which refuses. */
export function replayDeadLetters(
  path: string,
  { send, ...options }: ReplayOptions & { readonly send: (message: ReplayMessage) => Promise<unknown> },
): Promise<ReplayCounts> {
  const endpoint = async (delivery: Delivery, signal: AbortSignal): Promise<Outcome> => {
    try {
      await send({ ...delivery, signal });
      return { attempts: 1 };
    } catch (error) {
      if (isRecordFault(error)) return { attempts: 1, refusal: error };
      throw error;
    }
  };
  return replayTo(path, endpoint, options);
}

/** The n-th letter of an export. */
export function letterOf(n: number, more: Partial<DeadLetter> = {}): DeadLetter {
  const id = `record-${String(n)}`;
  const record = { id, type: 'test.row', sequence: n, data: { n, text: 'line\nline\u2028' } };
  return { id, key: null, attempts: 1, status: 422, answer: 'no\n', at: '2024-02-29T00:00:00.000Z', record, ...more };
}

export function openLetters(path: string, options: Partial<DeadLetterFileOptions> = {}): Promise<DeadLetterFile> {
  return DeadLetterFile.open(path, {
    signal: new AbortController().signal,
    resent: { has: () => true },
    ...options,
  });
}

/** Writes letters as one run of an export does; answers its position. */
export async function fileLetters(
  path: string,
  letters: readonly DeadLetter[],
  options: Partial<DeadLetterFileOptions> = {},
): Promise<FiledPosition> {
  const file = await openLetters(path, options);
  try {
    for (const letter of letters) await file.append(letter);
    return file.position;
  } finally {
    await file.close();
  }
}

/** The ids in a file, in order. A `!` marks those that were replayed. */
export async function idsIn(path: string, fileSystem?: FileSystem): Promise<string[]> {
  const ids: string[] = [];
  for await (const { letter, isReplayed } of readDeadLetters(path, fileSystem && { fileSystem }))
    ids.push(letter.id + (isReplayed ? '!' : ''));
  return ids;
}

export function refusal(status: number): HttpError {
  return new HttpError(`The endpoint responded with ${String(status)}.`, { status, excerpt: 'because' });
}
