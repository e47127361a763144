import { DiskTree } from './diskTree.js';
import { changed, FileInode, type FileChange, type FolderInode, type Inode } from './inode.js';
import { applyNames, NameJournal, type Name, type NameChange } from './nameJournal.js';
import { Random } from '../../../../../test/kit/random.js';
import { TreeCopy } from './treeCopy.js';

/**
 * What is on the disk when the program is started again:
 *
 * - `killed`: only the process was gone. All is there, and what was not durable is still not.
 * - `all`: the power was cut, but everything had got to the disk.
 * - `dropped`: the power was cut, and only what was durable is left.
 * - `names`: of what was not durable, the names are left, but no bytes: a file that was renamed into place is empty.
 * - `bytes`: the bytes are left, but no names: a new file is gone, however well it was synced.
 * - `seed`: the power was cut, and of what was not durable each piece has its own, pseudo-random fate.
 */
export type RestartMode = 'killed' | 'all' | 'dropped' | 'names' | 'bytes' | { readonly seed: number };

/** A copy of what survives. The disk itself is left as it was. */
export function survivors(disk: DiskTree, mode: RestartMode): DiskTree {
  return mode === 'killed' ? copied(disk) : leftBy(disk, fateOf(mode));
}

/** What becomes of that which was not durable. */
interface Fate {
  keepsName(change: NameChange): boolean;
  bytesOf(file: FileInode): Uint8Array;
}

function fateOf(mode: Exclude<RestartMode, 'killed'>): Fate {
  if (typeof mode === 'object') return randomFate(mode.seed);
  return {
    keepsName: () => mode === 'all' || mode === 'names',
    bytesOf: ({ written, durable }) => (mode === 'all' || mode === 'bytes' ? written : durable),
  };
}

/** The odds are themselves random, so that cuts which take nearly all or nearly nothing occur too. */
function randomFate(seed: number): Fate {
  const random = new Random(seed);
  const nameOdds = random.next();
  const byteOdds = random.next();
  return {
    keepsName: () => random.chance(nameOdds),
    bytesOf: ({ durable, unsynced }) =>
      unsynced.reduce((bytes, change) => {
        if (random.chance(byteOdds)) return changed(bytes, change);
        return random.chance(0.5) ? torn(bytes, change, random) : bytes;
      }, durable),
  };
}

const sectorBytes = 512;

/** A change that got to the disk in part. */
function torn(bytes: Uint8Array, change: FileChange, random: Random): Uint8Array {
  const size = random.int(bytes.length, changed(bytes, change).length);
  if (change.kind === 'truncate') return changed(bytes, { kind: 'truncate', size });
  const { at, bytes: given } = change;
  if (random.chance(0.5)) return changed(bytes, { ...change, bytes: given.subarray(0, random.int(0, given.length)) });
  const odds = random.next();
  const result = changed(bytes, { kind: 'truncate', size });
  const end = Math.min(at + given.length, size);
  for (let from = at, to; from < end; from = to) {
    to = Math.min((Math.floor(from / sectorBytes) + 1) * sectorBytes, end);
    if (random.chance(odds)) result.set(given.subarray(from - at, to - at), from);
  }
  return result;
}

/** What the root leads to is durable in the copy; the rest is gone. */
function leftBy({ root, journal }: DiskTree, { keepsName, bytesOf }: Fate): DiskTree {
  const left = new Map<FolderInode, Map<string, Inode>>();
  const namesOf = (folder: FolderInode): Map<string, Inode> => {
    const names = left.get(folder) ?? new Map(folder.durable);
    left.set(folder, names);
    return names;
  };
  for (const change of journal.unsynced) if (keepsName(change)) applyNames(change, namesOf);
  const file = (each: FileInode): FileInode => new FileInode(each.number, bytesOf(each));
  const copy = new TreeCopy({ file, written: namesOf, durable: namesOf });
  const copiedRoot = copy.folder(root);
  // The numbers of what is gone are given to others, as a real disk does.
  return new DiskTree(copiedRoot, new NameJournal(), copy.highestNumber + 1);
}

function copied({ root, journal, nextInode }: DiskTree): DiskTree {
  const copy = new TreeCopy({
    file: ({ number, durable, unsynced }) => new FileInode(number, durable, unsynced),
    written: (folder) => folder.written,
    durable: (folder) => folder.durable,
  });
  const name = (each: Name | undefined): Name | undefined => each && { ...each, folder: copy.folder(each.folder) };
  const unsynced = journal.unsynced.map(({ inode, from, to, replaced }) => ({
    inode: copy.inode(inode),
    from: name(from),
    to: name(to),
    replaced: replaced && copy.inode(replaced),
  }));
  return new DiskTree(copy.folder(root), new NameJournal(unsynced), nextInode);
}
