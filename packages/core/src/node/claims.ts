import { constants } from 'node:fs';
import { lstat, open, readFile, readlink, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { newId } from '../identifiers.js';
import { isRecord, parseJson, platformCode } from '../values.js';
import { withPath } from './files/diskFault.js';
import { nodeFileSystem, unlessAbsent, type FileSystem } from './files/fileSystem.js';
import { readWhole } from './files/readFile.js';
import { temporaryName, writeWhole } from './files/wholeFile.js';
import { closeServer, listenAt, tryConnect, withSocketPath } from './localSocket.js';

/** Whether the process that made a claim holds it. `unknown`: nothing here can tell. */
export type Liveness = 'alive' | 'dead' | 'unknown';

/** A claim that this process holds. */
export interface HeldClaim {
  /** Whether all who see its folder know once its process has ended. */
  readonly endsForAll: boolean;
  /** From now on it is dead. Its name stays. */
  readonly release: () => Promise<void>;
}

/** A claim as its process knows it. */
export interface OwnClaim {
  /** Aborted once its holder is closing. */
  readonly signal: AbortSignal;
  /** Absent before the claim has its name. */
  readonly held?: HeldClaim;
}

/**
 * Claims on folders, which end with the process that made them, however it ends. Each is a name in a folder, which may be
 * renamed. Tests can replace them.
 */
export interface Claims {
  /** This process for people, as a part of a file's name: its number and host. */
  readonly self: string;
  /** The claims of this copy of the library in this thread, oldest first. */
  readonly own: Map<string, OwnClaim>;
  /** Makes a claim under a name that is free. */
  make(path: string, fileSystem: FileSystem): Promise<HeldClaim>;
  /** Judges a claim of any process; `undefined` if it is not there. */
  judge(path: string, fileSystem: FileSystem): Promise<Liveness | undefined>;
}

/**
 * The claims of this machine's kernel.
 *
 * On a local file system of Linux a claim is a socket at which its process listens. Whoever sees the folder, in whichever
 * container, reaches the process through it, even one that is stopped; and nobody once it has ended. On macOS, where the
 * full queue of a process that is stopped refuses connections, it is an empty file that its process has locked. Elsewhere,
 * and where neither can be made, it is a file that names a socket of this machine, so only processes here can judge it.
 */
export const nodeClaims: Claims = {
  // A path of a socket is short.
  self: `${process.pid}-${hostname()
    .replace(/[^\w.-]/g, '_')
    .slice(0, 24)}`,
  own: new Map(),
  async make(path, fileSystem) {
    const make = process.platform === 'darwin' ? makeLocked : makeSocket;
    const made = (await isLocal(path, fileSystem)) ? await make(path) : undefined;
    return made ?? makeFile(path, fileSystem);
  },
  judge: (path, fileSystem) => withPath(unlessAbsent(judge(path, fileSystem)), path, 'inspected'),
};

/**
 * Whether locks in a folder end with their process, however it ends, for all who see the folder. Tries it, and leaves
 * nothing there. Otherwise `breakLock` takes what a process left that ended elsewhere.
 *
 * @example await locksEndWithProcess('/data') // false on NFS
 * @throws SinkError if the folder can't be written
 */
export async function locksEndWithProcess(folder: string, fileSystem: FileSystem = nodeFileSystem): Promise<boolean> {
  const path = join(folder, temporaryName('lock', newId()));
  const { endsForAll, release } = await withPath(nodeClaims.make(path, fileSystem), folder, 'written');
  await release();
  await fileSystem.unlink(path);
  return endsForAll;
}

async function judge(path: string, fileSystem: FileSystem): Promise<Liveness | undefined> {
  if (!(await lstat(path)).isSocket()) return (await judgeLocked(path, fileSystem)) ?? judgeFile(path, fileSystem);
  if (!(await isLocal(path, fileSystem))) return 'unknown';
  const answer = await withSocketPath(path, tryConnect).catch((error: unknown) => platformCode(error) ?? '');
  return answer === 'ENOENT' ? undefined : livenessOf(answer);
}

/** `EAGAIN` is a full queue: of a process that is stopped. Any other error, e.g. `EACCES`, leaves it its claim. */
function livenessOf(answer: string): Liveness {
  return answer === 'ECONNREFUSED' ? 'dead' : 'alive';
}

async function isLocal(path: string, fileSystem: FileSystem): Promise<boolean> {
  const { kind } = await fileSystem.volume(dirname(path));
  return kind === 'disk' || kind === 'memory';
}

/** `undefined` where no socket can be made, or reached. @throws `ENOENT` if its folder or its name was removed just now */
async function makeSocket(path: string): Promise<HeldClaim | undefined> {
  try {
    return await withSocketPath(path, async (short) => {
      const server = await listenAt(short);
      const answer = await tryConnect(short);
      if (answer === 'accepted') return { endsForAll: true, release: () => closeServer(server) };
      // Node removes it.
      await closeServer(server);
      throwIfRemoved(answer, path);
      return undefined;
    });
  } catch (error) {
    throwIfRemoved(platformCode(error), path);
    return undefined;
  }
}

/**
 * Whoever locks the folder removes names like that of a claim that is being made, since their processes may be dead. The
 * claim is made again then: one of another kind would outlive its process for others.
 *
 * @throws `ENOENT`
 */
function throwIfRemoved(code: number | string | undefined, path: string): void {
  if (code === 'ENOENT') throw Object.assign(new Error(`ENOENT: ${path} was removed`), { code });
}

/** What open(2) of macOS takes besides: it locks the file until that is closed, or fails with `EAGAIN`. */
const openLocks = { shared: 0x10, exclusive: 0x20 } as const;

/** `undefined` where a lock can't be had, or keeps nobody out. @throws `ENOENT` as for a socket */
async function makeLocked(path: string): Promise<HeldClaim | undefined> {
  const { O_CREAT, O_EXCL, O_RDWR, O_NONBLOCK } = constants;
  try {
    const file = await open(path, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK | openLocks.exclusive, 0o600);
    const answer = await tryLock(path);
    if (answer === 'EAGAIN') return { endsForAll: true, release: () => file.close() };
    await file.close();
    throwIfRemoved(answer, path);
  } catch (error) {
    throwIfRemoved(platformCode(error), path);
  }
  await unlink(path).catch(() => undefined);
  return undefined;
}

/** `undefined` for a claim of another kind. */
async function judgeLocked(path: string, fileSystem: FileSystem): Promise<Liveness | undefined> {
  if (process.platform !== 'darwin' || !(await isLocal(path, fileSystem))) return undefined;
  const found = await tryLock(path);
  if (found === 'EAGAIN') return 'alive';
  return found === 0 ? 'dead' : undefined;
}

/** The size of a file that nobody has locked; else the code of the error. */
async function tryLock(path: string): Promise<number | string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | openLocks.shared);
    return await file
      .stat()
      .finally(() => file.close())
      .then(({ size }) => size);
  } catch (error) {
    return platformCode(error);
  }
}

/** What a claim that is a file says. */
interface FileClaim {
  /** Where `socket` is reached; `null`: nowhere. */
  readonly place: string | null;
  readonly socket: string;
}

async function makeFile(path: string, fileSystem: FileSystem): Promise<HeldClaim> {
  const socket = basename(path);
  const place = await findPlace();
  const server = place === null ? undefined : await listenAt(nameSocket(socket)).catch(() => undefined);
  const release = async (): Promise<void> => server && closeServer(server);
  const claim: FileClaim = { place: server ? place : null, socket };
  try {
    // Synced, so that a power cut leaves no empty claim.
    await writeWhole(fileSystem, path, [Buffer.from(JSON.stringify(claim))]);
    return { endsForAll: false, release };
  } catch (error) {
    await release();
    throw error;
  }
}

async function judgeFile(path: string, fileSystem: FileSystem): Promise<Liveness | undefined> {
  const bytes = await readWhole(fileSystem, path);
  if (!bytes) return undefined;
  const claim = parseJson(bytes.toString());
  if (!isFileClaim(claim) || claim.place === null || claim.place !== (await findPlace())) return 'unknown';
  const answer = await tryConnect(nameSocket(claim.socket));
  // A pipe of Windows ends with its name.
  return answer === 'ENOENT' ? 'dead' : livenessOf(answer);
}

function isFileClaim(value: unknown): value is FileClaim {
  if (!isRecord(value) || typeof value['socket'] !== 'string') return false;
  return typeof value['place'] === 'string' || value['place'] === null;
}

/** A socket without a file: an abstract one of Linux, a named pipe of Windows. */
function nameSocket(name: string): string {
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `\0${name}`;
}

/** What the names of such sockets belong to: a start of a machine and a network namespace, or a host of Windows. */
async function findPlace(): Promise<string | null> {
  if (process.platform === 'win32') return hostname();
  try {
    const [boot, network] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readlink('/proc/self/ns/net'),
    ]);
    return `${hostname()} ${boot.trim()} ${network}`;
  } catch {
    return null;
  }
}
