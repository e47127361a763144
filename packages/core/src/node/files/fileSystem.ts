import { constants, fstatSync } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, rmdir, stat, statfs, unlink } from 'node:fs/promises';
import { platformCode } from '../../values.js';

/** A file that is open for reading and writing. */
export interface WritableFile {
  /** Writes some of `bytes` at `position`; returns how many, maybe fewer than given. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** Reads some bytes from `position` on; returns how many, 0 at the end of the file. */
  read(bytes: Uint8Array, position: number): Promise<number>;
  /** Removes what follows the first `size` bytes. */
  truncate(size: number): Promise<void>;
  /** Resolves when all writes are on the disk. */
  sync(): Promise<void>;
  /** Its length in bytes, durable or not. */
  size(): Promise<number>;
  /** Tells this file from any other, whatever its name is now. */
  identity(): Promise<string>;
  /** Changes with the file's bytes, as precisely as the file system's clock. */
  version(): Promise<string>;
  /** Closes it without a sync. */
  close(): Promise<void>;
}

/** What a path names. */
export type PathKind = 'absent' | 'file' | 'folder' | 'special';

/** Who may do what with a file. */
export interface FileRights {
  /** Permission bits, e.g. 0o640. */
  readonly mode: number;
  /** Kept where that is possible. Default: those of whoever made it. */
  readonly owner?: { readonly user: number; readonly group: number };
}

/** The file system of a path. */
export interface Volume {
  /** Equal for paths on the same file system. */
  readonly id: string;
  /**
   * A `disk` and `memory` are of this machine alone; `memory` is lost with its power. A `network` may report writes that
   * are not durable. `other`: nothing is known of it.
   */
  readonly kind: 'disk' | 'memory' | 'network' | 'other';
}

/** All disk operations of sinks and state. Tests can replace it. */
export interface FileSystem {
  /**
   * `new` and `private` create a file, which must not exist; only its owner may read a private one. `existing` and
   * `readable` open one, which need not be writable if `readable`. Fails with `ELOOP` for a link, and with `EFTYPE` for
   * anything but a regular file.
   */
  open(path: string, mode: 'new' | 'private' | 'existing' | 'readable'): Promise<WritableFile>;
  /** The identity of the file that has this name; `undefined` if none has. */
  identity(path: string): Promise<string | undefined>;
  /** Whether this process's user owns the file, and so may change it at any time; `true` if there is none. */
  isOurs(path: string): Promise<boolean>;
  /** Those of a file; `undefined` if there is none, or the system has none. Default: unknown. */
  readonly rights?: (path: string) => Promise<FileRights | undefined>;
  /** Changes them as far as this process may. Default: they stay. */
  readonly setRights?: (path: string, rights: FileRights) => Promise<void>;
  /** The file system that holds a path. */
  volume(path: string): Promise<Volume>;
  /** Follows links: a link to a folder is a folder. */
  kind(path: string): Promise<PathKind>;
  /** The file to which a link leads, or the path itself: of what is not a link, or leads nowhere. Default: no links. */
  readonly follow?: (path: string) => Promise<string>;
  /** Replaces what has the other name, atomically. */
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a second name; fails with `EEXIST` if it is taken. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file, if it exists. */
  unlink(path: string): Promise<void>;
  /** Makes a folder that only its owner can open. Resolves to `false` if it existed. */
  makeFolder(path: string): Promise<boolean>;
  /** Fails with `ENOTEMPTY` unless it is empty. */
  removeFolder(path: string): Promise<void>;
  /** The names in a folder. */
  list(path: string): Promise<readonly string[]>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
}

/** Flags unknown to a system, e.g. Windows, count as 0. O_NONBLOCK: a FIFO would wait for its other end forever. */
const openFlags = {
  new: constants.O_CREAT | constants.O_EXCL | constants.O_RDWR,
  private: constants.O_CREAT | constants.O_EXCL | constants.O_RDWR,
  existing: constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  readable: constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
} as const;

/** The machine's own file system. */
export const nodeFileSystem: FileSystem = {
  async open(path, mode) {
    const handle = await open(path, openFlags[mode], mode === 'private' ? 0o600 : 0o666);
    // A file that this call created is a regular one, so it needs no check, which each commit would pay for.
    const isMade = mode === 'new' || mode === 'private';
    if (!isMade && !(await handle.stat()).isFile()) {
      await handle.close();
      throw Object.assign(new Error(`EFTYPE: ${path} is not a regular file`), { code: 'EFTYPE' });
    }
    return {
      write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
      read: async (bytes, position) => (await handle.read(bytes, 0, bytes.length, position)).bytesRead,
      truncate: (size) => handle.truncate(size),
      sync: () => handle.datasync(),
      // Before each write. The system has it in memory, so the answer comes sooner than another thread would begin. A
      // handle that is closed has no descriptor to ask for.
      size: async () => (handle.fd < 0 ? await handle.stat() : fstatSync(handle.fd)).size,
      identity: async () => identify(await handle.stat({ bigint: true })),
      version: async () => {
        const { size, mtimeNs, ctimeNs } = await handle.stat({ bigint: true });
        return `${size}:${mtimeNs}:${ctimeNs}`;
      },
      close: () => handle.close(),
    };
  },
  async identity(path) {
    const found = await unlessAbsent(lstat(path, { bigint: true }));
    return found && identify(found);
  },
  async isOurs(path) {
    const user = process.geteuid?.();
    if (user === undefined) return true;
    const found = await unlessAbsent(lstat(path));
    return !found || found.uid === user;
  },
  async rights(path) {
    const found = await unlessAbsent(stat(path));
    if (!found?.isFile() || process.platform === 'win32') return undefined;
    return { mode: found.mode & 0o777, owner: { user: found.uid, group: found.gid } };
  },
  async setRights(path, { mode, owner }) {
    // Of the file that has the name now, whatever becomes of the name.
    const handle = await open(path, openFlags.readable);
    try {
      const { uid, gid } = await handle.stat();
      const { user, group } = owner ?? { user: uid, group: gid };
      if (user !== uid || group !== gid)
        await handle
          .chown(user, group)
          .catch(() => handle.chown(uid, group))
          .catch(() => undefined);
      // After it, which takes bits away. Some file systems have no modes.
      await handle.chmod(mode).catch(() => undefined);
    } finally {
      await handle.close();
    }
  },
  async volume(path) {
    const [{ dev }, { type }] = await Promise.all([stat(path, { bigint: true }), statfs(path)]);
    return { id: String(dev), kind: volumeKinds.get(type) ?? 'other' };
  },
  async kind(path) {
    for (;;) {
      try {
        const found = await stat(path);
        return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'special';
      } catch (error) {
        if (platformCode(error) !== 'ENOENT') throw error;
        const name = await lstat(path).catch(() => undefined);
        if (!name) return 'absent';
        // A link without a target exists too. Anything else appeared just now, and is checked again.
        if (name.isSymbolicLink()) return 'special';
      }
    }
  },
  async follow(path) {
    // What can't be inspected is no link to follow: whoever opens it says why.
    const found = await lstat(path).catch(() => undefined);
    return found?.isSymbolicLink() ? ((await unlessAbsent(realpath(path))) ?? path) : path;
  },
  rename,
  link,
  unlink: (path) => unlessAbsent(unlink(path)),
  async makeFolder(path) {
    for (;;) {
      try {
        await mkdir(path, 0o700);
        return true;
      } catch (error) {
        if (platformCode(error) !== 'EEXIST') throw error;
        const existing = await unlessAbsent(stat(path));
        if (existing?.isDirectory()) return false;
        // Otherwise a folder was just removed, so try again.
        if (existing || (await lstat(path).catch(() => undefined))) throw error;
      }
    }
  },
  removeFolder: (path) => rmdir(path),
  list: (path) => readdir(path),
  async syncFolder(path) {
    // Windows can sync only files.
    if (process.platform === 'win32') return;
    const handle = await open(path, constants.O_RDONLY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

function identify({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

/** `undefined` if the path of a call does not exist. */
export async function unlessAbsent<R>(call: Promise<R>): Promise<R | undefined> {
  try {
    return await call;
  } catch (error) {
    if (platformCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const are = (kind: Volume['kind'], ...numbers: number[]) => numbers.map((number) => [number, kind] as const);

/** Numbers of statfs(2): see linux/magic.h. Those of Windows say nothing. */
const volumeKinds: ReadonlyMap<number, Volume['kind']> = new Map(
  process.platform === 'darwin'
    ? are('disk', 26) // APFS
    : process.platform === 'linux'
      ? [
          ...are(
            'disk',
            0xef53, // ext2, ext3, ext4
            0x58465342, // XFS
            0x9123683e, // Btrfs
            0x2fc12fc1, // ZFS
            0xf2f52010, // F2FS
            0xca451a4e, // bcachefs
            0x52654973, // ReiserFS
            0x3153464a, // JFS
            0x3434, // NILFS
            0x7366746e, // NTFS
            0x794c7630, // overlayfs: what a container writes is on one of the others, and no other machine can have it
          ),
          ...are(
            'memory',
            0x01021994, // tmpfs
            0x858458f6, // ramfs
          ),
          // On another machine, or in a program: a sync may not make anything durable, and a lock may lock nobody out.
          ...are(
            'network',
            0x6969, // NFS
            0x517b, // SMB
            0xfe534d42, // SMB 2
            0xff534d42, // CIFS
            0x01021997, // 9p
            0x5346414f, // AFS
            0x00c36400, // Ceph
            0x0bd00bd0, // Lustre
            0x73757245, // Coda
            0x786f4256, // VirtualBox shared folders
            0x65735546, // FUSE: sshfs and its like, and the shared folders of Docker Desktop
            0x47504653, // GPFS
          ),
        ]
      : [],
);
