import { SinkError } from '../../errors.js';
import { withPath } from './diskFault.js';
import type { FileSystem, WritableFile } from './fileSystem.js';

/**
 * Writes a new file, and makes its bytes, not its name, durable. A failed write is removed.
 *
 * @param known its name in errors, if that differs from `path`.
 * @param mode `private`, the default: only its owner can read it.
 * @returns its size in bytes
 */
export async function writeWhole(
  fileSystem: FileSystem,
  path: string,
  blocks: Iterable<Uint8Array>,
  known = path,
  mode: 'new' | 'private' = 'private',
): Promise<number> {
  const file = await fileSystem.open(path, mode);
  let bytes = 0;
  try {
    for (const block of blocks) {
      await writeAll(file, known, block, bytes);
      bytes += block.length;
    }
    await withPath(file.sync(), known, 'written');
    await withPath(file.close(), known, 'written');
    return bytes;
  } catch (error) {
    await file.close().catch(() => undefined);
    await fileSystem.unlink(path).catch(() => undefined);
    throw error;
  }
}

/** Writes all bytes: a disk that is nearly full may write fewer, without an error. @throws SinkError */
export async function writeAll(file: WritableFile, path: string, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const written = await withPath(file.write(bytes.subarray(at), position + at), path, 'written');
    if (written === 0)
      throw new SinkError(`${path} can't be written: the disk accepts no more bytes. Make room, then run it again.`);
    at += written;
  }
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const pattern = new RegExp(`^sluice-${uuid}-new-(.+)$`);

/**
 * The temporary name of a file that becomes `name`. Each `id`, a UUID, is used once, and no other program uses such
 * names, so leftovers of a killed process can be removed by name.
 *
 * @example temporaryName('checkpoint', '0b1f…') // 'sluice-0b1f…-new-checkpoint'
 */
export function temporaryName(name: string, id: string): string {
  return `sluice-${id}-new-${name}`;
}

/** The final name of an unfinished file; `undefined` for any other file. */
export function parseTemporaryName(name: string): string | undefined {
  return pattern.exec(name)?.[1];
}
