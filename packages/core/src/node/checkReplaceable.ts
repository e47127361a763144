import { CheckpointError } from '../errors.js';
import type { FileSystem } from './fileSystem.js';
import { readBytes, reading } from './readFile.js';

/**
 * Refuses to replace or remove a file of somebody else: the folder for state may contain such files. A damaged file
 * with our mark was ours, and an empty file has nothing to lose.
 *
 * @param mark the start of every file of this kind.
 * @throws CheckpointError if the file is not ours; SinkError if it can't be read.
 */
export async function checkReplaceable(fileSystem: FileSystem, path: string, mark: string): Promise<void> {
  const start = await reading(fileSystem, path, (file) => readBytes(file, path, 0, mark.length));
  if (start === undefined) return;
  if (!(await fileSystem.isOurs(path)))
    throw new CheckpointError(
      `${path} belongs to another user of this machine. Ask its owner, or keep the state in another folder: nothing was changed.`,
      { path },
    );
  const begin = start.toString('latin1');
  if (begin !== '' && begin !== mark)
    throw new CheckpointError(
      `${path} was not written by Sluice, or lost its first bytes. Move it away, or keep the state in another folder: nothing was changed.`,
      { path },
    );
}
