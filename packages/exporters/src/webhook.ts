/**
 * Signed delivery of rows and changes to a service; dead letters and their replay.
 *
 * @module @sluice/exporters/webhook
 */

import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { ConfigError, type RowKey, type Sink } from '@sluice/core';
import { checkCount, checkOptions, type SinkContext } from '@sluice/core/kit';
import type { FileStateOptions, FileSystem } from '@sluice/core/node';
import type { BatchLimits } from './webhook/batches.js';
import type { DeadLetter } from './webhook/letters/deadLetter.js';
import { checkDeadLetterFile } from './webhook/letters/deadLetterFile.js';
import { deadLetterFolder } from './webhook/letters/deadLetterJournal.js';
import { requireLog, shownPlace, type DeadLetterPlace } from './webhook/letters/deadLetters.js';
import { deliveryReports } from './webhook/deliveryReports.js';
import { endpointNames, prepareEndpoint, type EndpointOptions } from './webhook/endpoint.js';
import { pageEncoder, type WebhookFormat } from './webhook/outgoing.js';
import { WebhookWriter } from './webhook/webhookWriter.js';

/** Options of {@link webhook}. */
export interface WebhookOptions<T>
  extends EndpointOptions, Pick<FileStateOptions, 'breakLock' | 'trustFileSystem' | 'newId' | 'fileSystem' | 'claims'> {
  /**
   * Maximum number of records, or of their bytes (default 512 KiB), in one request and envelope. A batch never spans
   * pages. Default: one record per request.
   */
  readonly batch?: number | { readonly count: number; readonly bytes?: number } | undefined;
  /** Maximum number of concurrent requests. Default 8. `rateLimit` says how many may start in a time. */
  readonly deliveries?: number | undefined;
  /**
   * Records with the same key are sent in order. Default: the key of the row or changed row; rows of `writeTo` and of an
   * operator have none, unless they are changes. `null`: no order.
   */
  readonly key?: ((row: T) => RowKey) | null | undefined;
  /**
   * A row's id, 1 to 256 characters. Default: a change's own id; else a hash of the row and of a random part, which all
   * runs share that resume one another, and so do increments. Required if rows have no key. Of rows with the same id,
   * within 20,000, only the first is sent.
   */
  readonly id?: ((row: T) => string) | undefined;
  /**
   * `envelope` (default): `{ id, type, timestamp, source, sequence, data }`. `bare`: the row alone, never batched. A
   * function makes the body that a service wants, also never batched: `({ after }) => ({ text: `${after.tag} failed` })`.
   * It is called once per record; a record that is sent again has the same bytes.
   */
  readonly format?: WebhookFormat<T> | undefined;
  /**
   * Where records are set aside that the endpoint refuses because of their content (400, 409, 413, 422): a file, or with
   * `true` the state of the export, which needs no disk. Default: nowhere, so the first one fails the export.
   * `breakLock` and `trustFileSystem` apply to the lock of the file.
   */
  readonly deadLetter?: string | true | undefined;
  /** Maximum number of refused records, without parked ones; one more fails the export. Default 100. */
  readonly maxDeadLetters?: number | undefined;
  /** Later records with the key of a dead letter: sent (default), or parked with it, which preserves their order. */
  readonly onDead?: 'continue' | 'park' | undefined;
  /**
   * Bytes of changes that may wait for a slow or dead receiver. Up to there a watch goes on polling, if the export has
   * `state`: changes wait there, on a disk or in memory. At this size the watch waits, too. Default 1 GB.
   */
  readonly maxSpool?: number | undefined;
  /** Called with each dead letter when it is durable. Default: a warning for each that was refused. */
  readonly onDeadLetter?: ((letter: DeadLetter) => void) | undefined;
}

const defaultBatchBytes = 512 * 1024;
const defaultConcurrency = 8;
const defaultMaxDeadLetters = 100;
const defaultMaxSpool = 1_000_000_000;

/**
 * Posts each row, or each change of a watch, to an endpoint at least once, signed according to Standard Webhooks.
 *
 * A page is durable in a spool before its first record is sent. After a crash it is sent again from the spool, with the
 * same ids and bytes, even if the API has changed; this needs `state` on the export. A receiver that remembers ids
 * accepts each record once.
 *
 * Records that the endpoint refuses because of their content become dead letters. Any other failure ends the export,
 * and the next run resumes there: an outage loses nothing.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @example
 * const changes = client.streams.list.watch({}, { every: 30_000, state });
 * await exportTo(changes, webhook({ url, secret, deadLetter: 'dead.jsonl' }), { state }).run();
 *
 * @throws ConfigError if an option is invalid or the URL is not encrypted, ForbiddenAddressError if it leads to this
 * machine or a private network. Later: HttpError, RateLimitError, NetworkError or RequestTimeoutError if the endpoint
 * accepts nothing, SinkError if there are too many dead letters, or one without a place for it.
 */
export function webhook<T extends object>(options: WebhookOptions<T>): Sink<T> {
  checkOptions('webhook()', options, {
    ...endpointNames,
    breakLock: true,
    trustFileSystem: true,
    newId: true,
    fileSystem: true,
    claims: true,
    batch: true,
    deliveries: true,
    key: true,
    id: true,
    format: true,
    deadLetter: true,
    maxDeadLetters: true,
    maxSpool: true,
    onDead: true,
    onDeadLetter: true,
  });
  const { deadLetter, key, id, format = 'envelope', onDead = 'continue', onDeadLetter } = options;
  const { breakLock, trustFileSystem, newId, fileSystem, claims } = options;
  const { deliveries = defaultConcurrency, maxDeadLetters = defaultMaxDeadLetters } = options;
  const { maxSpool = defaultMaxSpool } = options;
  const batch = batchLimits(options.batch);
  checkCount('deliveries', deliveries);
  checkCount('maxDeadLetters', maxDeadLetters, { min: 0 });
  checkCount('maxSpool', maxSpool);
  if (format !== 'envelope' && batch)
    throw new ConfigError('A batch needs envelopes, since each of its records has an id: leave format or batch out.', {
      option: 'batch',
    });
  const endpoint = prepareEndpoint(options);
  const { url, clock } = endpoint;
  const isLimited = (options.rateLimit ?? false) !== false;
  const createEncoder = ({ source, schema }: Parameters<Sink<T>['open']>[0]) =>
    pageEncoder<T>(source, schema, { key, id, format });
  return {
    name: 'webhook',
    // Hashed, because the path may contain a token.
    identity: {
      endpoint: hash('sha256', url.origin + url.pathname),
      format: typeof format === 'function' ? 'function' : format,
    },
    target: hash('sha256', url.href),
    delivery: 'at-least-once',
    // What was sent can't be looked up, and is not sent again: the record of the finished export says so.
    finished: () => Promise.resolve({ target: url.origin }),
    async check(context) {
      createEncoder(context);
      await checkLetters(deadLetter, context, fileSystem);
    },
    async open(context) {
      const encode = createEncoder(context);
      await checkLetters(deadLetter, context, fileSystem);
      const opened: { writer?: WebhookWriter<T> } = {};
      const reports = deliveryReports(context, () => opened.writer?.waiting ?? 0, isLimited);
      opened.writer = await WebhookWriter.open(context, {
        encode,
        deliveries,
        batch,
        onDead,
        deadLetter,
        maxDeadLetters,
        maxSpool,
        clock,
        onAccepted: reports.onAccepted,
        ...endpoint.open(reports.onEvent),
        lock: { breakLock, trustFileSystem, newId, fileSystem, claims },
        onDeadLetter(letter) {
          reports.onDeadLetter(letter);
          if (!onDeadLetter && letter.attempts > 0)
            context.warn?.(
              `Record ${letter.id} was refused with ${String(letter.status)}, and set aside in ${shownPlace(deadLetter)}.`,
            );
          try {
            onDeadLetter?.(letter);
          } catch {
            // An observer must not change what is sent.
          }
        },
        target: url.origin,
      });
      return opened.writer;
    },
  };
}

/** @throws ConfigError if there is no state for them, or they share a folder with it: the export would wait for its own lock. */
async function checkLetters(
  deadLetter: DeadLetterPlace | undefined,
  { stateFolder, log }: Pick<SinkContext<never>, 'stateFolder' | 'log'>,
  fileSystem: FileSystem | undefined,
): Promise<void> {
  if (deadLetter === undefined) return;
  if (deadLetter === true) {
    requireLog(log);
    return;
  }
  await checkDeadLetterFile(deadLetter, fileSystem);
  if (stateFolder !== undefined && resolve(stateFolder) === deadLetterFolder(resolve(deadLetter)))
    throw new ConfigError(
      (option = 'deadLetter') =>
        `${option} keeps its lock in the folder ${stateFolder}: give the export's state another folder.`,
      { option: 'deadLetter' },
    );
}

function batchLimits(batch: WebhookOptions<never>['batch']): BatchLimits | undefined {
  if (batch === undefined) return undefined;
  if (typeof batch === 'object') checkOptions('batch of webhook()', batch, { count: true, bytes: true });
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
export type { DeadLetter } from './webhook/letters/deadLetter.js';
export { readDeadLetters, type ListedLetter, type ReadLettersOptions } from './webhook/letters/readDeadLetters.js';
export { replay, type ReplayCounts, type WebhookReplayOptions } from './webhook/letters/replay.js';
