import { CheckpointError } from '../errors.js';
import { unlessAbsent, type FileSystem } from './fileSystem.js';

/**
 * Refuses to replace or remove a file of somebody else: the folder for state may contain such files. A damaged file
 * with our mark was ours, and an empty file has nothing to lose.
 *
 * @param mark the start of every file of this kind.
 * @throws CheckpointError if the file is not ours; the file system's own error if it can't be read.
 */
export async function checkReplaceable(fileSystem: FileSystem, path: string, mark: string): Promise<void> {
  const begin = await firstBytes(fileSystem, path, mark.length);
  if (begin === undefined) return;
  if (!(await fileSystem.isOurs(path)))
    throw new CheckpointError(
      `${path} belongs to another user of this machine. Ask its owner, or keep the state in another folder: nothing was changed.`,
      { path },
    );
  if (begin !== '' && begin !== mark)
    throw new CheckpointError(
      `${path} was not written by Sluice, or lost its first bytes. Move it away, or keep the state in another folder: nothing was changed.`,
      { path },
    );
}

/** `undefined` if there is no file. */
async function firstBytes(fileSystem: FileSystem, path: string, count: number): Promise<string | undefined> {
  const file = await unlessAbsent(fileSystem.open(path, 'readable'));
  if (!file) return undefined;
  const bytes = Buffer.alloc(count);
  let at = 0;
  try {
    for (let read = -1; at < count && read !== 0; at += read) read = await file.read(bytes.subarray(at), at);
  } finally {
    await file.close();
  }
  return bytes.toString('latin1', 0, at);
}
