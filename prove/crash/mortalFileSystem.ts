import { nodeFileSystem, type FileSystem, type WritableFile } from '@sluice/core/node';
import type { Life } from './life.js';
import { fileRole } from './operation.js';

/** The machine's file system. This process dies at the operation that its `Life` names; reading does not count. */
export function mortalFileSystem(target: string, life: Life): FileSystem {
  const lived = async <R>(
    call: string,
    path: string,
    work: () => Promise<R>,
    halfOfIt?: () => Promise<unknown>,
  ): Promise<R> => {
    const file = fileRole(path, target);
    const moment = life.momentOf(call, file);
    if (moment === undefined) return work();
    const deed = moment === 'before' ? undefined : moment === 'half-way' && halfOfIt ? halfOfIt : work;
    // Nobody will see the result.
    await deed?.().catch(() => undefined);
    return life.die(`${deed === work ? 'after' : moment} ${call} of ${file}`);
  };
  return {
    ...nodeFileSystem,
    open: async (path, mode) =>
      mortalFile(await lived('open', path, () => nodeFileSystem.open(path, mode)), (call, work, halfOfIt) =>
        lived(call, path, work, halfOfIt),
      ),
    rename: (from, to) => lived('rename', from, () => nodeFileSystem.rename(from, to)),
    link: (from, to) => lived('link', from, () => nodeFileSystem.link(from, to)),
    unlink: (path) => lived('unlink', path, () => nodeFileSystem.unlink(path)),
    makeFolder: (path) => lived('makeFolder', path, () => nodeFileSystem.makeFolder(path)),
    removeFolder: (path) => lived('removeFolder', path, () => nodeFileSystem.removeFolder(path)),
    syncFolder: (path) => lived('syncFolder', path, () => nodeFileSystem.syncFolder(path)),
  };
}

function mortalFile(
  file: WritableFile,
  lived: <R>(call: string, work: () => Promise<R>, halfOfIt?: () => Promise<unknown>) => Promise<R>,
): WritableFile {
  return {
    ...file,
    write: (bytes, position) =>
      lived(
        'write',
        () => file.write(bytes, position),
        () => file.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), position),
      ),
    truncate: (size) => lived('truncate', () => file.truncate(size)),
    sync: () => lived('sync', () => file.sync()),
  };
}
