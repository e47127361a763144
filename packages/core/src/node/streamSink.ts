import type { Writable } from 'node:stream';
import { setImmediate as nextTurnOfEventLoop } from 'node:timers/promises';
import { checkOptions, wrongKind } from '../checks.js';
import { ConfigError, SinkError } from '../errors.js';
import type { RowFormat, Sink } from '../rows/sink/sink.js';
import { platformCode } from '../values.js';
import { ByteBlocks } from './files/byteBlocks.js';

const pagesPerMember = 10;
const fullDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Writes rows to a stream, e.g. `process.stdout`, at the pace of its reader. It does not end the stream.
 *
 * @throws SinkError if the stream breaks; `details.platformCode` is `EPIPE` if its reader is gone.
 */
export function streamSink<T>(
  format: RowFormat<T>,
  stream: Writable,
  options: { readonly gzip?: boolean } = {},
): Sink<T> {
  const wrong = wrongKind({ format, stream }, { format: 'an object', stream: 'an object' });
  if (wrong) throw new ConfigError(`streamSink() is invalid at ${wrong.option}: ${wrong.what}.`);
  checkOptions('streamSink()', options, { gzip: true });
  const { gzip = false } = options;
  return {
    name: format.name,
    identity: { format: format.identity, gzip: gzip ? { pagesPerMember } : null, stream: true },
    delivery: 'at-least-once',
    open: async ({ schema, resumeAt, signal, isEndless }) => {
      if (isEndless && gzip)
        throw new ConfigError(
          'The output of an endless source would be compressed, but its last block is never completed. Write it uncompressed.',
        );
      const encoder = format.encoder(schema);
      const blocks = new ByteBlocks(gzip ? { pagesPerMember } : undefined);
      let bytes = 0;
      let isNew = resumeAt === undefined;
      // An `error` event without a listener would end the process.
      stream.on('error', ignore);
      const write = async (contents: readonly (string | Uint8Array)[]): Promise<void> => {
        for (const content of contents) {
          const chunk = typeof content === 'string' ? Buffer.from(content) : content;
          if (chunk.length === 0) continue;
          await writeChunk(stream, chunk, signal);
          bytes += chunk.length;
        }
      };
      const headerOnce = (): string => {
        const header = isNew ? encoder.header : '';
        isNew = false;
        return header;
      };
      return {
        get isCommittable() {
          return blocks.waiting.length === 0;
        },
        write: async ({ items }) => {
          // Lets the request for the next page leave first, so that the API works while these rows are encoded.
          await nextTurnOfEventLoop();
          await write(await blocks.add([headerOnce() + encoder.encode(items)]));
        },
        flush: async () => {
          await write(await blocks.takeCompressed());
          return { bytes };
        },
        seal: async () => {
          if (isNew) await write(await blocks.add([headerOnce()]));
          await write(await blocks.end());
          return { bytes };
        },
        close: () => {
          stream.off('error', ignore);
          return Promise.resolve({ target: 'the stream', bytes });
        },
        // The listener stays: an error may be emitted after this.
        abort: () => Promise.resolve(),
      };
    },
  };
}

function ignore(): void {
  // The write's callback reports the error.
}

/** Resolves when the stream has taken the chunk. Its reader may never continue: `signal` ends the wait. */
function writeChunk(stream: Writable, chunk: Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cleanUp = (): void => {
      stream.off('close', onClose);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (code: string): void => {
      cleanUp();
      const wayOut = fullDisk.has(code) ? ': the disk is full. Make room, then run it again' : '';
      reject(new SinkError(`The output can't be written (${code})${wayOut}.`, { details: { platformCode: code } }));
    };
    // A stream that is destroyed during a write may not call back.
    const onClose = (): void => fail('ERR_STREAM_PREMATURE_CLOSE');
    const onAbort = (): void => {
      cleanUp();
      reject(signal.reason);
    };
    stream.once('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    stream.write(chunk, (error) => {
      if (error) {
        fail(platformCode(error) ?? 'unknown fault');
        return;
      }
      cleanUp();
      resolve();
    });
  });
}
