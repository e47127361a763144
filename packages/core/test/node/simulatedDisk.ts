import type { FileSystem, WritableFile } from '../../src/node/index.js';
import type { DiskCall } from './faultyFileSystem.js';
import { diskError, DiskCalls, type FaultAt, type SimulatedCall } from './simulatedDisk/diskCalls.js';
import { DiskTree } from './simulatedDisk/diskTree.js';
import { fingerprintOf } from './simulatedDisk/fingerprintOf.js';
import { FileInode, FolderInode, type Inode } from './simulatedDisk/inode.js';
import { survivors, type RestartMode } from './simulatedDisk/survivors.js';
import type { Volume } from '../../src/node/files/fileSystem.js';

/** A disk in memory that tells what was written from what is durable, so that a power cut can be played at any call. */
export interface SimulatedDisk extends FileSystem {
  /**
   * The disk as the next start would find it if the machine stopped now, or as it was when it did stop. Each answer is a disk of its
   * own, and this one goes on: so a hook can ask at each call of a single run.
   */
  restart(mode: RestartMode, faultAt?: FaultAt): SimulatedDisk;
  /** Whether the machine stopped. From then on each call, also to an open file, fails with `ECUT` and does nothing. */
  readonly isStopped: boolean;
  /** All calls since the disk was mounted, without those after it stopped. */
  readonly calls: readonly SimulatedCall[];
  count(name: DiskCall): number;

  // What follows is for the test itself: it is no call, meets no faults, and works when the machine has stopped.

  /** What was written to a file; `undefined` if there is none. */
  bytes(path: string): Uint8Array | undefined;
  text(path: string): string | undefined;
  /** Everything on the disk, in order. Folders end with a slash. */
  paths(): string[];
  /** All that it is, as a text, but for who has what open: what is done to a disk has the same outcome on each that has the same one. */
  fingerprint(): string;
  /** Writes a file, and the folders above it, as if it had been there for ever. */
  put(path: string, content: string | Uint8Array): void;
  putFolder(path: string): void;
  /** Puts a folder, and what is in it, on another volume. */
  mount(path: string, volume: Volume): void;
  /** Gives a file or folder to another user of the machine. */
  giveAway(path: string): void;
}

/** An empty disk. Its paths are absolute, and there is only the root. */
export function simulatedDisk(faultAt: FaultAt = () => undefined): SimulatedDisk {
  return mounted(new DiskTree(), faultAt);
}

function mounted(tree: DiskTree, faultAt: FaultAt): SimulatedDisk {
  const calls = new DiskCalls(faultAt);
  const at = <R>(name: DiskCall, path: string, work: () => R): Promise<R> => calls.make({ name, path }, work);
  return {
    open: (path, mode) =>
      at('open', path, () =>
        opened(calls, path, mode === 'new' || mode === 'private' ? tree.openNew(path) : tree.openExisting(path)),
      ),
    identity: (path) =>
      at('identity', path, () => {
        const inode = tree.look(path);
        return inode && identityOf(inode);
      }),
    isOurs: (path) => at('isOurs', path, () => tree.look(path)?.isOurs ?? true),
    volume: (path) => at('volume', path, () => tree.volume(path)),
    kind: (path) => at('kind', path, () => tree.look(path)?.kind ?? 'absent'),
    rename: (from, to) => calls.make({ name: 'rename', path: from, to }, () => tree.rename(from, to)),
    link: (from, to) => calls.make({ name: 'link', path: from, to }, () => tree.link(from, to)),
    unlink: (path) => at('unlink', path, () => tree.unlink(path)),
    makeFolder: (path) => at('makeFolder', path, () => tree.makeFolder(path)),
    removeFolder: (path) => at('removeFolder', path, () => tree.removeFolder(path)),
    list: (path) => at('list', path, () => [...tree.folder(path).written.keys()].sort()),
    syncFolder: (path) =>
      at('syncFolder', path, () => {
        const inode = tree.find(path);
        if (inode.kind === 'file') inode.sync();
        else tree.journal.sync(inode);
      }),

    restart: (mode, nextFaultAt = () => undefined) => mounted(survivors(tree, mode), nextFaultAt),
    get isStopped() {
      return calls.isStopped;
    },
    calls: calls.made,
    count: (name) => calls.made.filter((call) => call.name === name).length,
    ...testAccess(tree),
  };
}

type TestAccess = Pick<
  SimulatedDisk,
  'bytes' | 'text' | 'paths' | 'fingerprint' | 'put' | 'putFolder' | 'mount' | 'giveAway'
>;

function testAccess(tree: DiskTree): TestAccess {
  const bytes = (path: string): Uint8Array | undefined => {
    const inode = tree.look(path);
    return inode?.kind === 'file' ? inode.written.slice() : undefined;
  };
  const putFolder = (path: string): FolderInode => {
    tree.put(path, (number) => new FolderInode(number));
    return tree.folder(path);
  };
  return {
    bytes,
    text: (path) => {
      const found = bytes(path);
      return found && Buffer.from(found).toString();
    },
    paths: () => pathsIn(tree.root, '/').sort(),
    fingerprint: () => fingerprintOf(tree),
    put: (path, content) => {
      tree.put(path, (number) => new FileInode(number));
      const file = tree.openExisting(path);
      file.change({ kind: 'truncate', size: 0 });
      file.change({ kind: 'write', at: 0, bytes: Uint8Array.from(Buffer.from(content)) });
      file.sync();
    },
    putFolder,
    mount: (path, volume) => {
      putFolder(path).volume = volume;
    },
    giveAway: (path) => {
      tree.find(path).isOurs = false;
    },
  };
}

function opened(calls: DiskCalls, path: string, file: FileInode): WritableFile {
  let isOpen = true;
  const at = <R>(name: keyof WritableFile, work: (maxBytes: number) => R, bytes = 0): Promise<R> =>
    calls.make({ name, path, bytes }, (maxBytes) => {
      if (!isOpen) throw diskError('EBADF', path);
      return work(maxBytes);
    });
  return {
    write: (bytes, position) =>
      at(
        'write',
        (maxBytes) => {
          // A copy, also of a buffer, whose own slice would be a view: the caller may use it again.
          file.change({ kind: 'write', at: position, bytes: Uint8Array.from(bytes.subarray(0, maxBytes)) });
          return maxBytes;
        },
        bytes.length,
      ),
    read: (bytes, position) =>
      at('read', () => {
        const found = file.written.subarray(position, position + bytes.length);
        bytes.set(found);
        return found.length;
      }),
    truncate: (size) => at('truncate', () => file.change({ kind: 'truncate', size })),
    sync: () => at('sync', () => file.sync()),
    size: () => at('size', () => file.written.length),
    identity: () => at('identity', () => identityOf(file)),
    version: () => at('version', () => String(file.version)),
    // To close twice is allowed, as it is in Node.
    close: () =>
      calls.make({ name: 'close', path }, () => {
        isOpen = false;
      }),
  };
}

function identityOf({ number }: Inode): string {
  return `1:${number}`;
}

function pathsIn(folder: FolderInode, path: string): string[] {
  return [...folder.written].flatMap(([name, inode]) =>
    inode.kind === 'file' ? [path + name] : [`${path}${name}/`, ...pathsIn(inode, `${path}${name}/`)],
  );
}
