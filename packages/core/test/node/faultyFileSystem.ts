import { nodeFileSystem, type FileSystem, type WritableFile } from '../../src/node/index.js';

/** A call that a sink makes to the disk. */
export type DiskCall = keyof FileSystem | keyof WritableFile;

/** What goes wrong with a call: it fails with a code of the operating system's, `before` it has done anything or `after` all was done. */
export interface DiskFault {
  readonly code: string;
  readonly when?: 'before' | 'after';
}

/** The machine's own file system, with faults. `fault` is asked at each call, `n` counts all of them from 1. */
export function faultyFileSystem(fault: (call: DiskCall, n: number) => DiskFault | undefined): FileSystem {
  let n = 0;
  const guarded = async <R>(
    call: DiskCall,
    work: () => Promise<R>,
    letGo: (result: R) => Promise<void> = () => Promise.resolve(),
  ): Promise<R> => {
    const { code, when = 'before' } = fault(call, (n += 1)) ?? {};
    // A file is closed whatever its system says about it.
    if (code !== undefined && when === 'before' && call !== 'close') throw systemError(code);
    const result = await work();
    if (code === undefined) return result;
    await letGo(result);
    throw systemError(code);
  };
  return {
    open: async (path, mode) => {
      const file = await guarded(
        'open',
        () => nodeFileSystem.open(path, mode),
        (opened) => opened.close(),
      );
      return {
        write: (bytes, position) => guarded('write', () => file.write(bytes, position)),
        read: (bytes, position) => guarded('read', () => file.read(bytes, position)),
        truncate: (size) => guarded('truncate', () => file.truncate(size)),
        sync: () => guarded('sync', () => file.sync()),
        size: () => guarded('size', () => file.size()),
        identity: () => guarded('identity', () => file.identity()),
        version: () => guarded('version', () => file.version()),
        close: () => guarded('close', () => file.close()),
      };
    },
    identity: (path) => guarded('identity', () => nodeFileSystem.identity(path)),
    rights: (path) => guarded('rights', () => nodeFileSystem.rights?.(path) ?? Promise.resolve(undefined)),
    setRights: (path, rights) => guarded('setRights', async () => nodeFileSystem.setRights?.(path, rights)),
    isOurs: (path) => guarded('isOurs', () => nodeFileSystem.isOurs(path)),
    volume: (path) => guarded('volume', () => nodeFileSystem.volume(path)),
    kind: (path) => guarded('kind', () => nodeFileSystem.kind(path)),
    rename: (from, to) => guarded('rename', () => nodeFileSystem.rename(from, to)),
    link: (from, to) => guarded('link', () => nodeFileSystem.link(from, to)),
    unlink: (path) => guarded('unlink', () => nodeFileSystem.unlink(path)),
    makeFolder: (path) => guarded('makeFolder', () => nodeFileSystem.makeFolder(path)),
    removeFolder: (path) => guarded('removeFolder', () => nodeFileSystem.removeFolder(path)),
    list: (path) => guarded('list', () => nodeFileSystem.list(path)),
    syncFolder: (path) => guarded('syncFolder', () => nodeFileSystem.syncFolder(path)),
  };
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: as the test wants it`), { code });
}
