import { dirname, join } from 'node:path';
import { sleep, type Clock } from '../clock.js';
import { LockError, SinkError } from '../errors.js';
import { secondWatchError, type Release, type StateUse } from '../rows/sink/lockQueue.js';
import { parseJson, platformCode } from '../values.js';
import { withPath } from './files/diskFault.js';
import { unlessAbsent, type FileSystem, type WritableFile } from './files/fileSystem.js';
import { isProcessIdentity, type Liveness, type ProcessIdentity, type Processes } from './processIdentity.js';
import { settleAll } from './files/settleAll.js';
import { readWhole } from './files/readFile.js';
import { temporaryName, writeWhole } from './files/wholeFile.js';

interface FolderLockOptions {
  /** The other use does not conflict. */
  readonly use: StateUse;
  readonly fileSystem: FileSystem;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Takes the lock from a holder of unknown state, e.g. on another machine. Never from one that runs here. */
  readonly breakLock: boolean;
  readonly signal: AbortSignal;
}

/** A process that holds a folder, or tries to. */
export interface LockHolder {
  /** `undefined` if its claim can't be read. */
  readonly process: ProcessIdentity | undefined;
  readonly liveness: Liveness;
}

interface Claim extends LockHolder {
  readonly name: string;
  /** It belongs to another copy of the library in this process, or to another thread. */
  readonly isOfOtherCopy: boolean;
}

const prefixOf = (use: StateUse): string => `lock-${use}-`;
/** How often, and with how many ms between, the first of several contenders checks whether the others withdrew. */
const maxChecks = 40;
const checkEvery = 10;

/**
 * Locks a folder, which it creates if needed, against other processes, and against other threads and copies of the
 * library in this one. For others of this copy it waits; a watch waits only for one that is closing.
 *
 * Claim, then check: each contender writes a complete file under its own name, and only then looks for others. Of two
 * contenders, the second one to claim sees the first, so they never both win. Nobody reuses the name of a dead process,
 * so its file can be removed without a race. If contenders see each other, the one whose name sorts first stays. A holder
 * keeps its file open, which tells other threads of its process that it lives.
 *
 * @throws LockError if another process or copy holds it, one whose state is unknown, or another watch of this process.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<Release> {
  const { fileSystem, clock, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    const own = await claim(folder, options);
    const withdraw = async (): Promise<void> => {
      const file = options.processes.claims.get(own)?.file;
      // A file that stays does not count: here since it is closed, elsewhere once this process has ended.
      options.processes.claims.delete(own);
      await fileSystem.unlink(join(folder, own)).catch(() => undefined);
      await file?.close().catch(() => undefined);
      await fileSystem.removeFolder(folder).catch(() => undefined);
    };
    try {
      if (await waitForOthers(folder, own, options)) return withdraw;
    } catch (error) {
      await withdraw();
      throw error;
    }
    await withdraw();
    await sleep(clock, checkEvery, signal);
  }
}

/** The current holder or contender, if any. */
export async function findHolder(
  folder: string,
  options: Pick<FolderLockOptions, 'fileSystem' | 'processes' | 'use'>,
): Promise<LockHolder | undefined> {
  const claims = await listClaims(folder, options);
  return claims.find(({ liveness }) => liveness !== 'dead');
}

async function claim(
  folder: string,
  { fileSystem, processes, newId, use, signal }: FolderLockOptions,
): Promise<string> {
  const own = prefixOf(use) + newId();
  processes.claims.set(own, { signal });
  const text = Buffer.from(JSON.stringify(await processes.self()));
  for (let attempt = 1; ; attempt += 1) {
    await makeFolder(folder, fileSystem);
    const fresh = join(folder, temporaryName(own, newId()));
    let file: WritableFile | undefined;
    try {
      await settleAll([
        // Synced, so that a power cut leaves no empty claim.
        writeWhole(fileSystem, fresh, [text]),
        // Also for an existing folder: its creator may have been killed before the name was durable.
        withPath(fileSystem.syncFolder(dirname(folder)), folder, 'created'),
      ]);
      file = await fileSystem.open(fresh, 'readable');
      await fileSystem.rename(fresh, join(folder, own));
      // Now this claim is the newest: any claimant that did not see it has an older claim, which this one will see.
      processes.claims.delete(own);
      processes.claims.set(own, { signal, file });
      return own;
    } catch (error) {
      await file?.close().catch(() => undefined);
      // The previous holder may have removed the folder, or this unfinished file as that of a dead process.
      if (platformCode(error) === 'ENOENT' && attempt < maxChecks) continue;
      processes.claims.delete(own);
      await fileSystem.unlink(fresh).catch(() => undefined);
      await fileSystem.removeFolder(folder).catch(() => undefined);
      return withPath(Promise.reject<string>(error), folder, 'locked');
    }
  }
}

async function makeFolder(folder: string, fileSystem: FileSystem): Promise<void> {
  const parent = dirname(folder);
  if ((await withPath(fileSystem.kind(parent), parent, 'inspected')) === 'absent')
    throw new SinkError(`The folder ${parent} does not exist. Create it, or give another path.`);
  try {
    await fileSystem.makeFolder(folder);
  } catch (error) {
    if (platformCode(error) !== 'EEXIST') await withPath(Promise.reject<boolean>(error), folder, 'created');
    // It fails in the same way while another process removes the empty folder.
    const kind = await withPath(fileSystem.kind(folder), folder, 'inspected');
    if (kind === 'absent') return makeFolder(folder, fileSystem);
    if (kind !== 'folder')
      throw new SinkError(`${folder} is not a folder, and its name is needed for the state. Move it away.`);
  }
}

/** Waits until there are no others. Resolves to `false` if this process has an older claim to wait for. */
async function waitForOthers(folder: string, own: string, options: FolderLockOptions): Promise<boolean> {
  for (let check = 1; ; check += 1) {
    const others = (await listLiving(folder, options)).filter(({ name }) => name !== own);
    if (others.length === 0) return true;
    const rival = others.find(({ liveness }) => liveness !== 'self');
    if (rival && (rival.name < own || check === maxChecks)) throw lockedError(folder, rival);
    if (!rival && isClaimedBefore(own, others, folder, options)) return false;
    await sleep(options.clock, checkEvery, options.signal);
  }
}

/** @throws LockError if the older claim is that of a watch which is not closing. */
function isClaimedBefore(
  own: string,
  others: readonly Claim[],
  folder: string,
  { processes: { claims }, use }: FolderLockOptions,
): boolean {
  const names = new Set(others.map(({ name }) => name));
  for (const [name, { signal }] of claims) {
    if (name === own) return false;
    if (!names.has(name)) continue;
    if (use === 'watch' && !signal.aborted) throw secondWatchError(folder);
    return true;
  }
  return false;
}

/** The claims of living processes, sorted by name. Removes those of dead ones. */
async function listLiving(folder: string, options: FolderLockOptions): Promise<Claim[]> {
  const claims = await listClaims(folder, options);
  const living: Claim[] = [];
  for (const found of claims) {
    const { name, liveness } = found;
    if (liveness === 'dead' || (liveness === 'unknown' && options.breakLock))
      await withPath(options.fileSystem.unlink(join(folder, name)), folder, 'unlocked');
    else if (liveness === 'unknown') throw lockedError(folder, found);
    else living.push(found);
  }
  return living;
}

async function listClaims(
  folder: string,
  { fileSystem, processes, use }: Pick<FolderLockOptions, 'fileSystem' | 'processes' | 'use'>,
): Promise<Claim[]> {
  const names = (await withPath(unlessAbsent(fileSystem.list(folder)), folder, 'inspected')) ?? [];
  const claims: Claim[] = [];
  for (const name of names.filter((each) => each.startsWith(prefixOf(use))).sort()) {
    const path = join(folder, name);
    const bytes = await readWhole(fileSystem, path);
    if (!bytes) continue;
    const process = decodeIdentity(bytes);
    const liveness = process ? await processes.livenessOf(process) : 'unknown';
    const isOfOtherCopy = liveness === 'self' && !processes.claims.has(name);
    if (!isOfOtherCopy) claims.push({ name, process, liveness, isOfOtherCopy });
    else {
      const identity = await withPath(fileSystem.identity(path), folder, 'inspected');
      const isAlive = identity !== undefined && (await processes.hasOpen(identity));
      claims.push({ name, process, liveness: isAlive ? 'alive' : 'dead', isOfOtherCopy });
    }
  }
  return claims;
}

function decodeIdentity(bytes: Buffer): ProcessIdentity | undefined {
  const value = parseJson(bytes.toString());
  return isProcessIdentity(value) ? value : undefined;
}

function lockedError(folder: string, { name, process, liveness, isOfOtherCopy }: Claim): LockError {
  const who = process ? `process ${process.pid} on ${process.host}` : `a process that left no readable name (${name})`;
  const details = { folder, pid: process?.pid, host: process?.host };
  if (isOfOtherCopy)
    return new LockError(
      `${folder} is in use by this process: by another thread, or by another copy of Sluice, e.g. from before a hot reload. Wait until it is done, or stop it. If nobody can stop it any more, restart the process: nothing was changed.`,
      details,
    );
  return liveness === 'unknown'
    ? new LockError(`${folder} is locked by ${who}, and it is unknown whether that process still runs.`, details, [
        { kind: 'allow', option: 'breakLock' },
      ])
    : new LockError(`${folder} is in use by ${who}. Wait until it is done, or stop it: nothing was changed.`, details);
}
