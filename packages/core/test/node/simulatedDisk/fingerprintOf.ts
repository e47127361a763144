import type { DiskTree } from './diskTree.js';
import type { Inode } from './inode.js';
import type { Name } from './nameJournal.js';

const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;

/**
 * All that a disk is: names, numbers, bytes, and what of it is durable. UUIDs are told from one another only: they are drawn anew in each
 * run, for claims, whose owners are dead when the disk is started again.
 */
export function fingerprintOf({ root, journal, nextInode }: DiskTree): string {
  const inodes = new Map<Inode, number>();
  const idOf = (inode: Inode): number => {
    const id = inodes.get(inode) ?? inodes.size;
    inodes.set(inode, id);
    return id;
  };
  const nameOf = (each: Name | undefined): unknown => each && [idOf(each.folder), each.name];
  const namesIn = (names: ReadonlyMap<string, Inode>): unknown =>
    [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inode]) => [name, idOf(inode)]);
  idOf(root);
  const unsynced = journal.unsynced.map(({ inode, from, to, replaced }) => [
    idOf(inode),
    nameOf(from),
    nameOf(to),
    replaced && idOf(replaced),
  ]);
  const told: unknown[] = [nextInode, unsynced];
  // What a folder leads to is added to them meanwhile, and so comes behind it.
  for (const inode of inodes.keys()) {
    const { kind, number, isOurs } = inode;
    const own =
      inode.kind === 'folder'
        ? [inode.volume, namesIn(inode.written), namesIn(inode.durable)]
        : [
            textOf(inode.durable),
            inode.unsynced.map((change) =>
              change.kind === 'write' ? [change.at, textOf(change.bytes)] : ['truncate', change.size],
            ),
          ];
    told.push([kind, number, isOurs, ...own]);
  }
  const aliases = new Map<string, string>();
  return JSON.stringify(told).replace(uuid, (each) => {
    const alias = aliases.get(each) ?? `uuid ${String(aliases.size)}`;
    aliases.set(each, alias);
    return alias;
  });
}

/** A character for each byte. */
function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
