import type { Writable } from 'node:stream';
import { SinkError } from '../errors.js';
import type { RowFormat } from '../sink/rowFormat.js';
import type { Sink } from '../sink/sink.js';
import { ByteBlocks } from './byteBlocks.js';
import { platformCode } from './fileSystem.js';

/**
 * Writes rows to a stream, e.g. `process.stdout`, and waits for it when it is slow. The stream is not ended, since it is not ours.
 *
 * @throws SinkError when the stream breaks; `details.platformCode` is `EPIPE` when its reader went away.
 */
export function streamSink<T>(
  format: RowFormat<T>,
  stream: Writable,
  { gzip = false }: { readonly gzip?: boolean } = {},
): Sink<T> {
  return {
    name: format.name,
    identity: { format: format.identity, stream: true },
    promises: 'at-least-once',
    open: ({ schema }) => {
      const encoder = format.encoder(schema);
      const blocks = new ByteBlocks(gzip ? { pagesPerMember: 10 } : undefined);
      let bytes = 0;
      let isEmpty = true;
      const write = async (chunk: Uint8Array | undefined): Promise<void> => {
        if (!chunk) return;
        bytes += chunk.length;
        await written(stream, chunk);
      };
      const headerOnce = (): string => {
        const header = isEmpty ? encoder.header : '';
        isEmpty = false;
        return header;
      };
      return Promise.resolve({
        write: async ({ items }) => write(await blocks.add(headerOnce() + encoder.encode(items))),
        flush: () => Promise.resolve({ bytes }),
        seal: async () => {
          if (isEmpty) await write(await blocks.add(headerOnce()));
          await write(await blocks.end());
          return { bytes };
        },
        close: () => Promise.resolve({ target: 'the stream', bytes }),
        abort: () => Promise.resolve(),
      });
    },
  };
}

/** Resolves when the stream has passed a chunk on. */
function written(stream: Writable, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => {
      if (!error) {
        resolve();
        return;
      }
      const code = platformCode(error) ?? 'unknown fault';
      reject(new SinkError(`The output can't be written (${code}).`, { details: { platformCode: code } }));
    });
  });
}
