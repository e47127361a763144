import { refuseUnknown } from '@sluice/core';
import { endpointNames, endpointOf, type EndpointOptions } from './endpoint.js';
import { replayDeadLetters, type ReplayCounts, type ReplayOptions } from './replayDeadLetters.js';

/** Options of {@link replay}. */
export type WebhookReplayOptions = EndpointOptions & Omit<ReplayOptions, 'send'>;

/**
 * Sends the dead letters of a file again, with their ids and text and new signatures, perhaps to another URL.
 *
 * A letter that is refused again stays in the file and blocks later letters with its key. When none is left, the file
 * is removed. After a cancelled or killed replay, the same call resumes.
 *
 * @example const { left } = await replay('dead.jsonl', { url, secret });
 *
 * @throws the errors of `webhook` for its options and for its endpoint; CheckpointError at a line that is not a letter,
 * before anything is sent, and at the end if the last line is cut off; LockError if an export or another replay uses the file; SinkError if it is missing.
 */
export async function replay(path: string, options: WebhookReplayOptions): Promise<ReplayCounts> {
  refuseUnknown('replay()', options, {
    ...endpointNames,
    newId: true,
    breakLock: true,
    trustFileSystem: true,
    onWarning: true,
    fileSystem: true,
    processes: true,
    deliveries: true,
    signal: true,
    onProgress: true,
    onRefused: true,
  });
  const endpoint = endpointOf(options);
  const { url, secret, headers, timeout, allowAddresses, resolve, retry, onEvent, random, adapter, ...replaying } =
    options;
  const { sender, send } = endpoint.open();
  try {
    return await replayDeadLetters(path, {
      ...replaying,
      send: async ({ id, body, signal }) => {
        const outcome = await send({ id, body }, signal);
        if (!outcome.isAccepted) throw outcome.error;
      },
    });
  } finally {
    await sender.close();
  }
}
