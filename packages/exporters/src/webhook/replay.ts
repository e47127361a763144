import { endpointOf, type EndpointOptions } from './endpoint.js';
import { replayDeadLetters, type ReplayCounts, type ReplayOptions } from './replayDeadLetters.js';

/** Options of {@link replay}. */
export type WebhookReplayOptions = EndpointOptions & Omit<ReplayOptions, 'send'>;

/**
 * Sends the dead letters of a file again, with the ids and the text that they had, signed anew. The address may be another one by now.
 *
 * A letter that is refused once more stays, and holds back those of its key behind it. When none is left, the file is removed. One that is
 * stopped or killed is gone on with by the same call.
 *
 * @example const { left } = await replay('dead.jsonl', { url, secret });
 *
 * @throws what `webhook` throws for its options; CheckpointError at a line that is no letter, before anything is sent; LockError if an
 * export or another replay uses the file; SinkError if it is not there; what ends an export when the endpoint takes nothing more.
 */
export async function replay(path: string, options: WebhookReplayOptions): Promise<ReplayCounts> {
  const endpoint = endpointOf(options);
  const { sender, send } = endpoint.open();
  try {
    return await replayDeadLetters(path, {
      ...options,
      send: async ({ id, body, signal }) => {
        const outcome = await send({ id, body }, signal);
        if (!outcome.isTaken) throw outcome.error;
      },
    });
  } finally {
    await sender.close();
  }
}
