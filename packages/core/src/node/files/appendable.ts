import { ConfigError, SinkError } from '../../errors.js';
import type { RowEncoder } from '../../rows/sink/sink.js';
import type { AppendFile } from './appendFile.js';
import { withPath } from './diskFault.js';
import type { FileSystem, WritableFile } from './fileSystem.js';
import { readPieces, readBytes, withFile } from './readFile.js';

/** Bytes at the start of a file that show what its rows are. A header of 1,000 columns has some 20,000. */
const startSize = 1_048_576;
const lineFeed = 10;

/**
 * Checks that rows can follow those of a file. Resolves to whether it has some.
 *
 * @throws ConfigError if the format can't; SinkError if the file differs.
 */
export async function checkAppendable(
  fs: FileSystem,
  path: string,
  { follows, header }: RowEncoder<never>,
): Promise<boolean> {
  if (!follows) throw new ConfigError(`Rows can't be appended to ${path}: files of its format can't be continued.`);
  let hasRows = false;
  const fault = await readIfFile(fs, path, async (file, size) => {
    if (size === 0) return undefined;
    hasRows = size > Buffer.byteLength(header);
    const last = await readBytes(file, path, size - 1, 1);
    if (last[0] !== lineFeed) return 'ends within a row';
    const start = await readBytes(file, path, 0, Math.min(size, startSize));
    // What is cut off at its end is left out.
    return follows(new TextDecoder('utf-8', { ignoreBOM: true }).decode(start, { stream: true }));
  });
  if (fault !== undefined)
    throw new SinkError(`Rows can't be appended to ${path}, which ${fault}. Give another path: nothing was changed.`);
  return hasRows;
}

/** Copies what a file has to the end of another one. */
export async function copyInto(to: AppendFile, fs: FileSystem, path: string): Promise<void> {
  await readIfFile(fs, path, async (file, size) => {
    for await (const piece of readPieces(file, path, size)) await to.append(piece);
  });
}

/** `undefined` if it is missing, or not a file. */
async function readIfFile<R>(
  fs: FileSystem,
  path: string,
  read: (file: WritableFile, size: number) => Promise<R>,
): Promise<R | undefined> {
  if ((await withPath(fs.kind(path), path, 'inspected')) !== 'file') return undefined;
  return withFile(fs, path, async (file) => read(file, await withPath(file.size(), path, 'inspected')));
}
