/**
 * Rows and changes to a service, signed; dead letters, and how they are sent again.
 *
 * @module @sluice/exporters/webhook
 */

import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { checkCount, ConfigError, type RowKey, type Sink, type SinkContext } from '@sluice/core';
import type { FileStateOptions, FileSystem } from '@sluice/core/node';
import type { BatchLimits } from './webhook/batches.js';
import type { DeadLetter } from './webhook/deadLetter.js';
import { checkDeadLetterFile } from './webhook/deadLetterFile.js';
import { deadLetterFolder } from './webhook/deadLetterJournal.js';
import { endpointOf, type EndpointOptions } from './webhook/endpoint.js';
import { rowEncoder, type WebhookFormat } from './webhook/outgoing.js';
import { WebhookWriter } from './webhook/webhookWriter.js';

/** Options of {@link webhook}. */
export interface WebhookOptions<T>
  extends
    EndpointOptions,
    Pick<FileStateOptions, 'breakLock' | 'trustFileSystem' | 'newId' | 'fileSystem' | 'processes'> {
  /**
   * So many records in a request, or so many bytes of them (default 512 KiB), in one envelope; a batch ends with its page at the latest.
   * Default: one record a request.
   */
  readonly batch?: number | { readonly count: number; readonly bytes?: number };
  /** Requests under way at once. Default 8. */
  readonly deliveries?: number;
  /** Records of the same key are sent one after another. Default: what names the row, or the changed row. `null`: no order. */
  readonly key?: ((row: T) => RowKey) | null;
  /**
   * Names a row, the same on every run, in 1 to 256 characters. Default: a change's own id; of a row, a hash of its source, key and
   * content. A source whose rows have no key needs it. Rows with the same id are the same record: within 20,000, only the first is sent.
   */
  readonly id?: (row: T) => string;
  /** `envelope` (the default): `{ id, type, timestamp, source, sequence, data }`. `bare`: the row as it is, one a request. */
  readonly format?: WebhookFormat;
  /**
   * A file for records that the endpoint refuses for what they are (400, 409, 413, 422). Default: the first one ends the export. It has a
   * lock beside it, for which `breakLock` and `trustFileSystem` are as for `fileState`.
   */
  readonly deadLetter?: string;
  /** So many of them are accidents; the next one ends the export. Default 100. */
  readonly maxDeadLetters?: number;
  /** What becomes of later records with the key of a dead letter: they go on (default), or are parked with it, so that order is kept. */
  readonly onDead?: 'continue' | 'park';
  /** Called with each dead letter, once it is durable. */
  readonly onDeadLetter?: (letter: DeadLetter) => void;
}

const defaultBatchBytes = 512 * 1024;
const defaultConcurrency = 8;
const defaultMaxDeadLetters = 100;

/**
 * Posts each row, or each change of a watch, to an endpoint, signed as Standard Webhooks says: at least once.
 *
 * A page is durable in a spool before its first record is sent. After a crash it is sent again from there, with the same ids and the
 * same bytes, whatever the API says by then; so give the export `state`. A receiver that remembers ids takes each record once.
 *
 * Records that the endpoint refuses for what they are become dead letters. Whatever else it says ends the export, which goes on there
 * when it is run again: an outage loses nothing.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @example
 * const changes = client.streams.watch({ every: 30_000, state });
 * await exportTo(changes, webhook({ url, secret, deadLetter: 'dead.jsonl' }), { state }).run();
 *
 * @throws ConfigError if an option makes no sense or the URL is not encrypted, ForbiddenAddressError if it leads to this machine or a
 * private network. Later: HttpError, RateLimitError, NetworkError or RequestTimeoutError when the endpoint takes nothing more, SinkError
 * when there are too many dead letters, or none may be written.
 */
export function webhook<T extends object>(options: WebhookOptions<T>): Sink<T> {
  const { deadLetter, key, id, format = 'envelope', onDead = 'continue', onDeadLetter, fileSystem } = options;
  const { deliveries = defaultConcurrency, maxDeadLetters = defaultMaxDeadLetters } = options;
  const batch = batchLimits(options.batch);
  checkCount('deliveries', deliveries);
  checkCount('maxDeadLetters', maxDeadLetters, { min: 0 });
  if (format === 'bare' && batch)
    throw new ConfigError('A batch needs envelopes, since each of its records has an id: leave format or batch out.', {
      option: 'batch',
    });
  const endpoint = endpointOf(options);
  const { url, clock } = endpoint;
  const encoderOf = ({ source, schema }: Parameters<Sink<T>['open']>[0]) =>
    rowEncoder<T>(source, schema, { key, id, format });
  return {
    name: 'webhook',
    // As a hash, since a token may stand in the path.
    identity: { endpoint: hashed(url.origin + url.pathname), format },
    target: hashed(url.href),
    delivery: 'at-least-once',
    async check(context) {
      encoderOf(context);
      await checkLetters(deadLetter, context, fileSystem);
    },
    async open(context) {
      const encode = encoderOf(context);
      await checkLetters(deadLetter, context, fileSystem);
      return WebhookWriter.open(context, {
        ...{ encode, deliveries, batch, onDead, deadLetter, maxDeadLetters, clock },
        ...endpoint.open(),
        lock: options,
        onDeadLetter(letter) {
          try {
            onDeadLetter?.(letter);
          } catch {
            // Whoever watches can't alter what is sent.
          }
        },
        target: url.origin,
      });
    },
  };
}

/** @throws ConfigError if the state of the dead letters is that of the export, which would wait for its own lock. */
async function checkLetters(
  deadLetter: string | undefined,
  { stateFolder }: Pick<SinkContext<never>, 'stateFolder'>,
  fileSystem: FileSystem | undefined,
): Promise<void> {
  if (deadLetter === undefined) return;
  await checkDeadLetterFile(deadLetter, fileSystem);
  if (stateFolder !== undefined && resolve(stateFolder) === deadLetterFolder(resolve(deadLetter)))
    throw new ConfigError(
      `deadLetter keeps its lock in the folder ${stateFolder}: give the export's state another folder.`,
      { option: 'deadLetter' },
    );
}

function hashed(address: string): string {
  return createHash('sha256').update(address).digest('hex');
}

function batchLimits(batch: WebhookOptions<never>['batch']): BatchLimits | undefined {
  if (batch === undefined) return undefined;
  const { count, bytes = defaultBatchBytes } = typeof batch === 'number' ? { count: batch } : batch;
  checkCount('batch.count', count);
  checkCount('batch.bytes', bytes);
  return { count, bytes };
}

// Sending
export type { EndpointOptions } from './webhook/endpoint.js';
export { secretsInHeader } from './webhook/extraHeaders.js';
export type { WebhookFormat } from './webhook/outgoing.js';

// Dead letters
export type { DeadLetter } from './webhook/deadLetter.js';
export { readDeadLetters, type ListedLetter } from './webhook/readDeadLetters.js';
export { replay, type WebhookReplayOptions } from './webhook/replay.js';
export type { ReplayCounts } from './webhook/replayDeadLetters.js';
