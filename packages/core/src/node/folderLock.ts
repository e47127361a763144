import { dirname, join } from 'node:path';
import { sleep, type Clock } from '../clock.js';
import { LockError, SinkError } from '../errors.js';
import { watchedAlready, type Release, type StateUse } from '../sink/lockQueue.js';

import { explained } from './appendFile.js';
import { platformCode, unlinkIfThere, type FileSystem } from './fileSystem.js';
import { isProcessIdentity, type Liveness, type ProcessIdentity, type Processes } from './processIdentity.js';
import { together } from './together.js';
import { readWhole, unfinishedName, writeWhole } from './wholeFile.js';

interface FolderLockOptions {
  /** Whoever locks it for something else is not in the way. */
  readonly use: StateUse;
  readonly fileSystem: FileSystem;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Takes the lock from a holder of whom nothing can be said, e.g. one on another machine. Never from one that runs here. */
  readonly breakLock: boolean;
  readonly signal: AbortSignal;
}

/** Who holds a folder, or wants to. */
export interface LockHolder {
  /** `undefined` if its file can't be read. */
  readonly process: ProcessIdentity | undefined;
  readonly liveness: Liveness;
}

interface Claim extends LockHolder {
  readonly name: string;
}

const prefixOf = (use: StateUse): string => `lock-${use}-`;
/** Looks, and ms between them, until the first of several contenders gives up waiting for the others to withdraw. */
const maxLooks = 40;
const lookEvery = 10;

/**
 * Locks a folder against other processes, and makes it where it is missing. Within one process it waits, a watch only for one that is
 * closing.
 *
 * Claim, then look: each contender puts down a complete file under a name of its own, and only then looks for others. Of two
 * contenders the one that claimed second sees the first, so never do both win. Since nobody else ever uses a dead one's name, its
 * file can be removed without a race. Of contenders that see each other, the one whose name sorts first stays.
 *
 * @throws LockError if another process holds it, one of whom nothing can be said, or another watch of this one.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<Release> {
  const { fileSystem, clock, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    const own = await claim(folder, options);
    const withdraw = async (): Promise<void> => {
      // A file that stays is nobody's any more: neither this process's, nor once that has ended.
      options.processes.claims.delete(own);
      await fileSystem.unlink(join(folder, own)).catch(() => undefined);
      await fileSystem.removeFolder(folder).catch(() => undefined);
    };
    try {
      if (await outlast(folder, own, options)) return withdraw;
    } catch (error) {
      await withdraw();
      throw error;
    }
    await withdraw();
    await sleep(clock, lookEvery, signal);
  }
}

/** Who holds a folder now, or tries to; nobody if `undefined`. */
export async function holderOf(
  folder: string,
  options: Pick<FolderLockOptions, 'fileSystem' | 'processes' | 'use'>,
): Promise<LockHolder | undefined> {
  const claims = await claimsIn(folder, options);
  return claims.find(({ liveness }) => liveness !== 'dead');
}

async function claim(
  folder: string,
  { fileSystem, processes, newId, use, signal }: FolderLockOptions,
): Promise<string> {
  const own = prefixOf(use) + newId();
  processes.claims.set(own, signal);
  const text = JSON.stringify(await processes.self());
  for (let attempt = 1; ; attempt += 1) {
    await makeFolder(folder, fileSystem);
    const fresh = join(folder, unfinishedName(own, newId()));
    try {
      await together([
        // Synced, so that a power cut leaves no claim that says nothing.
        writeWhole(fileSystem, fresh, text),
        // Also where it was there already: whoever made it may have been killed before its name was durable.
        explained(fileSystem.syncFolder(dirname(folder)), folder, 'created'),
      ]);
      await fileSystem.rename(fresh, join(folder, own));
      // Now it is the newest: whoever has looked without seeing it is older, and will be seen.
      processes.claims.delete(own);
      processes.claims.set(own, signal);
      return own;
    } catch (error) {
      // The holder before may have taken the folder with it, or cleared away what it took for a dead one's.
      if (platformCode(error) === 'ENOENT' && attempt < maxLooks) continue;
      processes.claims.delete(own);
      await fileSystem.unlink(fresh).catch(() => undefined);
      await fileSystem.removeFolder(folder).catch(() => undefined);
      return explained(Promise.reject<string>(error), folder, 'locked');
    }
  }
}

async function makeFolder(folder: string, fileSystem: FileSystem): Promise<void> {
  const parent = dirname(folder);
  if ((await explained(fileSystem.kind(parent), parent, 'looked at')) === 'absent')
    throw new SinkError(`The folder ${parent} is not there. Create it, or give another path.`);
  try {
    await fileSystem.makeFolder(folder);
  } catch (error) {
    if (platformCode(error) === 'EEXIST')
      throw new SinkError(`${folder} is no folder, and its name is needed for the state. Move it away.`);
    await explained(Promise.reject<boolean>(error), folder, 'created');
  }
}

/** Waits until nobody else is there. Answers `false` if this process has an older claim that is worth waiting for. */
async function outlast(folder: string, own: string, options: FolderLockOptions): Promise<boolean> {
  for (let look = 1; ; look += 1) {
    const others = (await livingClaims(folder, options)).filter(({ name }) => name !== own);
    if (others.length === 0) return true;
    const rival = others.find(({ liveness }) => liveness !== 'self');
    if (rival && (rival.name < own || look === maxLooks)) throw refusal(folder, rival);
    if (!rival && isClaimedBefore(own, others, folder, options)) return false;
    await sleep(options.clock, lookEvery, options.signal);
  }
}

/** @throws LockError if it is a watch's, and that is not closing. */
function isClaimedBefore(
  own: string,
  others: readonly Claim[],
  folder: string,
  { processes: { claims }, use }: FolderLockOptions,
): boolean {
  const names = new Set(others.map(({ name }) => name));
  for (const [name, signal] of claims) {
    if (name === own) return false;
    if (!names.has(name)) continue;
    if (use === 'watch' && !signal.aborted) throw watchedAlready(folder);
    return true;
  }
  return false;
}

/** Claims that count, in the order of their names; those of the dead are removed. */
async function livingClaims(folder: string, options: FolderLockOptions): Promise<Claim[]> {
  const claims = await claimsIn(folder, options);
  const living: Claim[] = [];
  for (const found of claims) {
    const { name, liveness } = found;
    if (liveness === 'dead' || (liveness === 'unknown' && options.breakLock))
      await explained(unlinkIfThere(options.fileSystem, join(folder, name)), folder, 'unlocked');
    else if (liveness === 'unknown') throw refusal(folder, found);
    else living.push(found);
  }
  return living;
}

async function claimsIn(
  folder: string,
  { fileSystem, processes, use }: Pick<FolderLockOptions, 'fileSystem' | 'processes' | 'use'>,
): Promise<Claim[]> {
  const names = await explained(listed(fileSystem, folder), folder, 'looked at');
  const claims: Claim[] = [];
  for (const name of names.filter((each) => each.startsWith(prefixOf(use))).sort()) {
    const bytes = await readWhole(fileSystem, join(folder, name));
    if (!bytes) continue;
    const process = decodeIdentity(bytes);
    const liveness = process ? await processes.livenessOf(process) : 'unknown';
    claims.push({ name, process, liveness: liveness === 'self' && !processes.claims.has(name) ? 'dead' : liveness });
  }
  return claims;
}

function decodeIdentity(bytes: Buffer): ProcessIdentity | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isProcessIdentity(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function listed(fileSystem: FileSystem, folder: string): Promise<readonly string[]> {
  return fileSystem.list(folder).catch((error: unknown) => {
    if (platformCode(error) === 'ENOENT') return [];
    throw error;
  });
}

function refusal(folder: string, { name, process, liveness }: Claim): LockError {
  const who = process ? `process ${process.pid} on ${process.host}` : `a process that left no readable name (${name})`;
  const details = { folder, pid: process?.pid, host: process?.host };
  return liveness === 'unknown'
    ? new LockError(`${folder} is locked by ${who}, and whether that still runs can't be told from here.`, details, [
        { kind: 'allow', option: 'breakLock' },
      ])
    : new LockError(`${folder} is in use by ${who}. Wait until it is done, or stop it: nothing was changed.`, details);
}
