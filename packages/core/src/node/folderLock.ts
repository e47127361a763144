import { dirname, join } from 'node:path';
import { sleep, type Clock } from '../clock.js';
import { LockError, SinkError } from '../errors.js';
import { secondWatchError, type Release, type StateUse } from '../rows/sink/lockQueue.js';
import { platformCode } from '../values.js';
import type { Claims, Liveness } from './claims.js';
import { withPath } from './files/diskFault.js';
import { unlessAbsent, type FileSystem } from './files/fileSystem.js';
import { settleAll } from './files/settleAll.js';
import { temporaryName } from './files/wholeFile.js';

interface FolderLockOptions {
  /** The other use does not conflict. */
  readonly use: StateUse;
  readonly fileSystem: FileSystem;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Takes the lock from a holder of unknown state, e.g. on another machine. Never from one that is alive. */
  readonly breakLock: boolean;
  readonly signal: AbortSignal;
}

/** A process that holds a folder, or tries to. */
export interface LockHolder {
  /** Its number, and the first 24 characters of its host, as it sees them; `undefined` if its claim does not say. */
  readonly process: { readonly pid: number; readonly host: string } | undefined;
  readonly liveness: Liveness;
}

interface Claim extends LockHolder {
  readonly name: string;
  /** It belongs to this copy of the library, in this thread. */
  readonly isOwn: boolean;
}

const prefixOf = (use: StateUse): string => `lock-${use}`;
/** How often, and with how many ms between, the first of several contenders checks whether the others withdrew. */
const maxChecks = 40;
const checkEvery = 10;

/**
 * Locks a folder, which it creates if needed, against other processes, and against other threads and copies of the
 * library in this one. For others of this copy it waits; a watch waits only for one that is closing.
 *
 * Claim, then check: each contender makes a claim under its own name, and only then looks for others. Of two contenders,
 * the second one to claim sees the first, so they never both win. Nobody reuses the name of a dead claim, so it can be
 * removed without a race. If contenders see each other, the one whose name sorts first stays.
 *
 * @throws LockError if another process or copy holds it, one whose state is unknown, or another watch of this process.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<Release> {
  const { fileSystem, clock, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    const own = await claim(folder, options);
    const withdraw = async (): Promise<void> => {
      const held = options.claims.own.get(own)?.held;
      await fileSystem.unlink(join(folder, own)).catch(() => undefined);
      // A name that stays does not count: its claim is dead.
      await held?.release();
      // Until then it is known as that of this copy: one that is alive, and not known, is another copy's.
      options.claims.own.delete(own);
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
  options: Pick<FolderLockOptions, 'fileSystem' | 'claims' | 'use'>,
): Promise<LockHolder | undefined> {
  const found = await listClaims(folder, options);
  return found.find(({ liveness }) => liveness !== 'dead');
}

async function claim(folder: string, { fileSystem, claims, newId, use, signal }: FolderLockOptions): Promise<string> {
  const own = `${prefixOf(use)}-${newId()}-${claims.self}`;
  claims.own.set(own, { signal });
  for (let attempt = 1; ; attempt += 1) {
    await makeFolder(folder, fileSystem);
    const fresh = join(folder, temporaryName(prefixOf(use), newId()));
    const making = claims.make(fresh, fileSystem);
    try {
      const [held] = await settleAll([
        making,
        // Also for an existing folder: its creator may have been killed before the name was durable.
        withPath(fileSystem.syncFolder(dirname(folder)), folder, 'created'),
      ]);
      await fileSystem.rename(fresh, join(folder, own));
      // Now this claim is the newest: any claimant that did not see it has an older claim, which this one will see.
      claims.own.delete(own);
      claims.own.set(own, { signal, held });
      return own;
    } catch (error) {
      await making.then(({ release }) => release()).catch(() => undefined);
      // The previous holder may have removed the folder, or this unfinished file as that of a dead process.
      if (platformCode(error) === 'ENOENT' && attempt < maxChecks) continue;
      claims.own.delete(own);
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
    const rival = others.find(({ isOwn }) => !isOwn);
    if (rival && (rival.name < own || check === maxChecks)) throw lockedError(folder, rival, options);
    if (!rival && isClaimedBefore(own, others, folder, options)) return false;
    await sleep(options.clock, checkEvery, options.signal);
  }
}

/** @throws LockError if the older claim is that of a watch which is not closing. */
function isClaimedBefore(
  own: string,
  others: readonly Claim[],
  folder: string,
  { claims, use }: FolderLockOptions,
): boolean {
  const names = new Set(others.map(({ name }) => name));
  for (const [name, { signal }] of claims.own) {
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
    else if (liveness === 'unknown') throw lockedError(folder, found, options);
    else living.push(found);
  }
  return living;
}

async function listClaims(
  folder: string,
  { fileSystem, claims, use }: Pick<FolderLockOptions, 'fileSystem' | 'claims' | 'use'>,
): Promise<Claim[]> {
  const names = (await withPath(unlessAbsent(fileSystem.list(folder)), folder, 'inspected')) ?? [];
  const found: Claim[] = [];
  for (const name of names.filter((each) => each.startsWith(`${prefixOf(use)}-`)).sort()) {
    // Asked first: it may be released meanwhile.
    const isOwn = claims.own.has(name);
    const liveness = await claims.judge(join(folder, name), fileSystem);
    if (liveness === undefined) continue;
    // A dead one is in a copy of its folder.
    const known = isOwn && liveness === 'unknown' ? 'alive' : liveness;
    found.push({ name, process: parseProcess(name), liveness: known, isOwn });
  }
  return found;
}

const namePattern = /^lock-[a-z]+-[0-9a-f-]{36}-(\d+)-(.+)$/;

function parseProcess(name: string): LockHolder['process'] {
  const [, pid, host] = namePattern.exec(name) ?? [];
  return host === undefined ? undefined : { pid: Number(pid), host };
}

function lockedError(
  folder: string,
  { name, process, liveness }: Claim,
  { claims: { self }, breakLock }: Pick<FolderLockOptions, 'claims' | 'breakLock'>,
): LockError {
  const who = process ? `process ${process.pid} on ${process.host}` : `a process that left no readable name (${name})`;
  const details = { folder, pid: process?.pid, host: process?.host };
  if (liveness === 'unknown')
    return new LockError(`${folder} is locked by ${who}, and it is unknown whether that process still runs.`, details, [
      { kind: 'allow', option: 'breakLock' },
      { kind: 'set', option: 'state' },
    ]);
  const isNamesake = process !== undefined && self === `${process.pid}-${process.host}`;
  const which = isNamesake
    ? ' That is the name of this process, too: it is another of its threads, another copy of Sluice in it, e.g. from before a hot reload, or another container.'
    : '';
  const unbroken = breakLock ? ' It is alive, so its lock is not broken.' : '';
  return new LockError(
    `${folder} is in use by ${who}.${which}${unbroken} Wait until it is done, or stop it: nothing was changed.`,
    details,
  );
}
