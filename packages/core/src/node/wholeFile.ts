import { SinkError } from '../errors.js';
import { explained } from './appendFile.js';
import { type FileSystem, platformCode, type WritableFile } from './fileSystem.js';

/** All bytes of a small file; `undefined` if there is none. @throws SinkError if it can't be read. */
export async function readWhole(fileSystem: FileSystem, path: string): Promise<Buffer | undefined> {
  const file = await explained(
    fileSystem.open(path, 'readable').catch((error: unknown) => {
      if (platformCode(error) === 'ENOENT') return undefined;
      throw error;
    }),
    path,
    'opened',
  );
  if (!file) return undefined;
  try {
    const bytes = Buffer.alloc(await explained(file.size(), path, 'looked at'));
    for (let at = 0; at < bytes.length;) {
      const read = await explained(file.read(bytes.subarray(at), at), path, 'read');
      if (read === 0) return bytes.subarray(0, at);
      at += read;
    }
    return bytes;
  } finally {
    await file.close().catch(() => undefined);
  }
}

/**
 * Writes a new small file that its owner alone can read, and makes its bytes durable, though not yet its name. What could not be written whole
 * is cleared away.
 *
 * @param known what people know the file by, where it has another name until it is complete.
 */
export async function writeWhole(fileSystem: FileSystem, path: string, text: string, known = path): Promise<void> {
  const file = await fileSystem.open(path, 'private');
  try {
    await writeAll(file, known, Buffer.from(text), 0);
    await explained(file.sync(), known, 'written');
    await explained(file.close(), known, 'written');
  } catch (error) {
    await file.close().catch(() => undefined);
    await fileSystem.unlink(path).catch(() => undefined);
    throw error;
  }
}

/** Writes all of `bytes`: a disk that is nearly full takes a part of what it is given, without an error. @throws SinkError */
export async function writeAll(file: WritableFile, path: string, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const written = await explained(file.write(bytes.subarray(at), position + at), path, 'written');
    if (written === 0)
      throw new SinkError(`${path} can't be written: the disk takes no more bytes. Make room, then run it again.`);
    at += written;
  }
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const pattern = new RegExp(`^sluice-${uuid}-new-(.+)$`);

/**
 * A name for a file that is not complete yet, and is to be called `name`. Each `id`, a UUID, is used once, and nobody else calls a file like that: so
 * what a kill left behind can be cleared away by its name, also where people keep files of their own beside it.
 *
 * @example unfinishedName('checkpoint', '0b1f…') // 'sluice-0b1f…-new-checkpoint'
 */
export function unfinishedName(name: string, id: string): string {
  return `sluice-${id}-new-${name}`;
}

/** What an unfinished file was to be called; `undefined` for any other file. */
export function intendedName(name: string): string | undefined {
  return pattern.exec(name)?.[1];
}
