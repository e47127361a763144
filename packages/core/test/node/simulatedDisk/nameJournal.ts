import type { FolderInode, Inode } from './inode.js';

/** A name in a folder, whether it is taken or not. */
export interface Name {
  readonly folder: FolderInode;
  readonly name: string;
}

/** An inode gets a name, loses one, or changes one for another, which happens at once. */
export interface NameChange {
  readonly inode: Inode;
  readonly from: Name | undefined;
  readonly to: Name | undefined;
  /** What had the name `to`, where there is a `from`: a rename replaces it. */
  readonly replaced: Inode | undefined;
}

/** The names that a folder has, in some state of the disk. */
export type NamesOf = (folder: FolderInode) => Map<string, Inode>;

/** The changes of names that no synced folder has made durable yet, in the order in which they were made. */
export class NameJournal {
  #unsynced: readonly NameChange[];

  constructor(unsynced: readonly NameChange[] = []) {
    this.#unsynced = unsynced;
  }

  get unsynced(): readonly NameChange[] {
    return this.#unsynced;
  }

  make(change: NameChange): void {
    applyNames(change, ({ written }) => written);
    this.#unsynced = [...this.#unsynced, change];
  }

  /**
   * Makes the names in a folder durable. A rename out of another folder is one step, so it is made durable in whole, and with it what was
   * done in that folder before; the same goes for a folder that was emptied and removed.
   */
  sync(folder: FolderInode): void {
    const folders = new Set([folder]);
    const due = this.#unsynced
      .toReversed()
      .filter((change) => {
        const touched = foldersOf(change);
        if (!touched.some((each) => folders.has(each))) return false;
        for (const each of touched) folders.add(each);
        return true;
      })
      .reverse();
    for (const change of due) applyNames(change, ({ durable }) => durable);
    this.#unsynced = this.#unsynced.filter((change) => !due.includes(change));
  }
}

/** Makes a change, or nothing at all where it is impossible, because one that it relied on was lost. */
export function applyNames({ inode, from, to, replaced }: NameChange, namesOf: NamesOf): void {
  if (from && namesOf(from.folder).get(from.name) !== inode) return;
  const ended = to ? namesOf(to.folder).get(to.name) : inode;
  if (ended && isFull(ended, namesOf)) return;
  // What found its name free replaces nothing, or what was to be moved out of its way before would be lost.
  if (to && ended && ended.kind !== replaced?.kind) return;
  if (from) namesOf(from.folder).delete(from.name);
  if (to) namesOf(to.folder).set(to.name, inode);
}

function isFull(inode: Inode, namesOf: NamesOf): boolean {
  return inode.kind === 'folder' && namesOf(inode).size > 0;
}

function foldersOf({ inode, from, to, replaced }: NameChange): FolderInode[] {
  const gone = to ? replaced : inode;
  return [from?.folder, to?.folder, gone].filter((each) => each?.kind === 'folder');
}
