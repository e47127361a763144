import { CheckpointError } from '../errors.js';
import { platformCode, type FileSystem } from './fileSystem.js';

/**
 * Refuses what somebody else has put there, before it is replaced or removed: a folder for state may hold other people's files too. What
 * is damaged behind its mark was ours, and an empty file holds nothing that could be lost.
 *
 * @param mark what every file of this kind begins with.
 * @throws CheckpointError if the file is not ours; the file system's own error if it can't be looked at.
 */
export async function checkWrittenByUs(fileSystem: FileSystem, path: string, mark: string): Promise<void> {
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

/** Fewer where there are no more; `undefined` if there is no file. */
async function firstBytes(fileSystem: FileSystem, path: string, count: number): Promise<string | undefined> {
  const file = await fileSystem.open(path, 'readable').catch((error: unknown) => {
    if (platformCode(error) === 'ENOENT') return undefined;
    throw error;
  });
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
