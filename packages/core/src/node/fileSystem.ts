import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, rename, rmdir, stat, statfs, unlink } from 'node:fs/promises';

/** A file that is open for writing, and for reading what was written. */
export interface WritableFile {
  /** Writes some of `bytes` at `position`; answers how many, which may be fewer than given. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** Fills some of `bytes` from `position` on; answers how many, 0 at the end of the file. */
  read(bytes: Uint8Array, position: number): Promise<number>;
  /** Cuts off what lies behind `size` bytes. */
  truncate(size: number): Promise<void>;
  /** Resolves when what was written is on the disk. */
  sync(): Promise<void>;
  /** Bytes in it, durable or not. */
  size(): Promise<number>;
  /** What tells this file from any other, whatever its name is by now. */
  identity(): Promise<string>;
  /** Changes when somebody changes its bytes, as far as the system's clock for files can tell two moments apart. */
  version(): Promise<string>;
  /** Lets go of it. Makes nothing durable. */
  close(): Promise<void>;
}

/** What kind of thing a path names. */
export type PathKind = 'absent' | 'file' | 'folder' | 'special';

/** What a path lies on. */
export interface Volume {
  /** Equal for two paths on the same file system. */
  readonly id: string;
  /** `memory` is gone with the machine's power. A `network` may say that it has written what it has not. */
  readonly kind: 'disk' | 'memory' | 'network';
}

/** All that sinks and state do to a disk, in one place, so that a test can stand between them and it. */
export interface FileSystem {
  /**
   * `new`: the file must not be there yet. `private`: neither must it, and nobody else may read it. `existing`: it must be there.
   * `readable`: it must, and need not be writable. A link is not followed: it fails with `ELOOP`; and what is no regular file with
   * `EFTYPE`.
   */
  open(path: string, mode: 'new' | 'private' | 'existing' | 'readable'): Promise<WritableFile>;
  /** The identity of the file that has this name now; `undefined` if none has. */
  identity(path: string): Promise<string | undefined>;
  /** Whether this process's user owns what has this name, and so may change it without asking; also where nothing has it. */
  isOurs(path: string): Promise<boolean>;
  /** The file system that holds a folder or file. */
  volume(path: string): Promise<Volume>;
  /** Follows links: a link to a folder is a folder. */
  kind(path: string): Promise<PathKind>;
  /** Replaces what has the other name, all of it or nothing. */
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a second name; fails with `EEXIST` where the name is taken. */
  link(from: string, to: string): Promise<void>;
  /** Fails with `ENOENT` where nothing has the name. */
  unlink(path: string): Promise<void>;
  /** Makes a folder that its owner alone may look into. Answers whether it did; `false` if it was there. */
  makeFolder(path: string): Promise<boolean>;
  /** Fails with `ENOTEMPTY` where something is left in it. */
  removeFolder(path: string): Promise<void>;
  /** The names in a folder. */
  list(path: string): Promise<readonly string[]>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
}

/** Flags that a system lacks, as Windows some of these, count as 0. Without O_NONBLOCK a FIFO would wait for its other end for ever. */
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
    // What this call has made is a regular file, and each commit makes one.
    const isMade = mode === 'new' || mode === 'private';
    if (!isMade && !(await handle.stat()).isFile()) {
      await handle.close();
      throw Object.assign(new Error(`EFTYPE: ${path} is no regular file`), { code: 'EFTYPE' });
    }
    return {
      write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
      read: async (bytes, position) => (await handle.read(bytes, 0, bytes.length, position)).bytesRead,
      truncate: (size) => handle.truncate(size),
      sync: () => handle.datasync(),
      size: async () => (await handle.stat()).size,
      identity: async () => identityOf(await handle.stat({ bigint: true })),
      version: async () => {
        const { size, mtimeNs, ctimeNs } = await handle.stat({ bigint: true });
        return `${size}:${mtimeNs}:${ctimeNs}`;
      },
      close: () => handle.close(),
    };
  },
  async identity(path) {
    try {
      return identityOf(await lstat(path, { bigint: true }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  },
  async isOurs(path) {
    const user = process.geteuid?.();
    if (user === undefined) return true;
    try {
      return (await lstat(path)).uid === user;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  },
  async volume(path) {
    const [{ dev }, { type }] = await Promise.all([stat(path, { bigint: true }), statfs(path)]);
    const kind = networkKinds.has(type) ? 'network' : memoryKinds.has(type) ? 'memory' : 'disk';
    return { id: String(dev), kind };
  },
  async kind(path) {
    for (;;) {
      try {
        const found = await stat(path);
        return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'special';
      } catch (error) {
        if (!isNotFound(error)) throw error;
        const name = await lstat(path).catch(() => undefined);
        if (!name) return 'absent';
        // A link that leads nowhere is there all the same. Anything else was made since, and can be looked at now.
        if (name.isSymbolicLink()) return 'special';
      }
    }
  },
  rename,
  link,
  unlink,
  async makeFolder(path) {
    for (;;) {
      try {
        await mkdir(path, 0o700);
        return true;
      } catch (error) {
        if (platformCode(error) !== 'EEXIST') throw error;
        const there = await stat(path).catch((reason: unknown) => {
          if (isNotFound(reason)) return undefined;
          throw reason;
        });
        if (there?.isDirectory()) return false;
        // It is a link that leads nowhere, or a folder that somebody has just taken away.
        if (there || (await lstat(path).catch(() => undefined))) throw error;
      }
    }
  },
  removeFolder: (path) => rmdir(path),
  list: (path) => readdir(path),
  async syncFolder(path) {
    // Windows has no such thing: it knows only files that are synced.
    if (process.platform === 'win32') return;
    const handle = await open(path, constants.O_RDONLY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

function isNotFound(error: unknown): boolean {
  return platformCode(error) === 'ENOENT';
}

/** Removes a name, unless somebody did already. */
export async function unlinkIfThere(fileSystem: FileSystem, path: string): Promise<void> {
  await fileSystem.unlink(path).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** The operating system's word for a fault, e.g. `ENOSPC`. */
export function platformCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * File systems by the number that statfs(2) gives on Linux (linux/magic.h, and statfs(2)'s own list). Elsewhere the numbers mean other
 * things, so there nothing is found.
 */
type Kinds = ReadonlySet<number>;

const onLinux = (...kinds: number[]): Kinds => new Set(process.platform === 'linux' ? kinds : []);

/** What lies on another machine, or behind a program: a sync may answer before anything is durable, and a lock may hold nobody off. */
const networkKinds: Kinds = onLinux(
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
);

/** What is gone when the machine stops. */
const memoryKinds: Kinds = onLinux(
  0x01021994, // tmpfs
  0x858458f6, // ramfs
);
