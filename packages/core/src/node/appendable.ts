import { ConfigError, SinkError } from '../errors.js';
import type { RowEncoder } from '../sink/sink.js';
import { explained, pieces, type AppendFile } from './appendFile.js';
import type { FileSystem, WritableFile } from './fileSystem.js';

/** Bytes at the start of a file that show what its rows are. A header of 1,000 columns has some 20,000. */
const startSize = 1_048_576;
const lineFeed = 10;

/** Checks that rows can follow those of a file. @throws ConfigError if the format can't; SinkError if the file differs. */
export async function checkAppendable(fs: FileSystem, path: string, { follows }: RowEncoder<never>): Promise<void> {
  if (!follows) throw new ConfigError(`Rows can't be appended to ${path}: files of its format can't be continued.`);
  const fault = await reading(fs, path, async (file, size) => {
    const last = new Uint8Array(1);
    await explained(file.read(last, size - 1), path, 'read');
    if (last[0] !== lineFeed) return 'ends within a row';
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let start = '';
    for await (const piece of pieces(file, path, Math.min(size, startSize)))
      start += decoder.decode(piece, { stream: true });
    return follows(start);
  });
  if (fault !== undefined)
    throw new SinkError(`Rows can't be appended to ${path}, which ${fault}. Give another path: nothing was changed.`);
}

/** Copies what a file has to the end of another one. */
export async function copyInto(to: AppendFile, fs: FileSystem, path: string): Promise<void> {
  await reading(fs, path, async (file, size) => {
    for await (const piece of pieces(file, path, size)) await to.append(piece);
  });
}

/** Opens a file and closes it; `undefined` if it is missing or empty. */
async function reading<R>(
  fs: FileSystem,
  path: string,
  use: (file: WritableFile, size: number) => Promise<R>,
): Promise<R | undefined> {
  if ((await explained(fs.kind(path), path, 'inspected')) !== 'file') return undefined;
  const file = await explained(fs.open(path, 'readable'), path, 'opened');
  try {
    const size = await explained(file.size(), path, 'inspected');
    return size === 0 ? undefined : await use(file, size);
  } finally {
    await file.close().catch(() => undefined);
  }
}
