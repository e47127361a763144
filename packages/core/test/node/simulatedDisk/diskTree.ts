import { parse, resolve, sep } from 'node:path';
import { diskError } from './diskCalls.js';
import { FileInode, FolderInode, type Inode } from './inode.js';
import { NameJournal, type Name } from './nameJournal.js';
import type { Volume } from '../../../src/node/files/fileSystem.js';

/** Where a path leads to. */
interface Spot {
  /** `undefined` for the root. */
  readonly at: Name | undefined;
  readonly inode: Inode | undefined;
  readonly volume: Volume;
}

const rootVolume: Volume = { id: 'root', kind: 'disk' };

/** Folders, files and their names, with the rules and error codes of Linux. */
export class DiskTree {
  readonly root: FolderInode;
  readonly journal: NameJournal;
  #nextInode: number;

  constructor(root = new FolderInode(1), journal = new NameJournal(), nextInode = 2) {
    this.root = root;
    this.journal = journal;
    this.#nextInode = nextInode;
  }

  get nextInode(): number {
    return this.#nextInode;
  }

  /** What a path names; `undefined` where its folder has no such name. */
  look(path: string): Inode | undefined {
    try {
      return this.#walk(path).inode;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  find(path: string): Inode {
    return this.#spot(path).inode;
  }

  folder(path: string): FolderInode {
    const inode = this.find(path);
    if (inode.kind === 'file') throw diskError('ENOTDIR', path);
    return inode;
  }

  volume(path: string): Volume {
    return this.#spot(path).volume;
  }

  openNew(path: string): FileInode {
    const inode = new FileInode(this.#nextInode);
    this.#add(path, inode);
    return inode;
  }

  openExisting(path: string): FileInode {
    const inode = this.find(path);
    if (inode.kind === 'folder') throw diskError('EISDIR', path);
    return inode;
  }

  makeFolder(path: string): boolean {
    if (this.#walk(path).inode?.kind === 'folder') return false;
    this.#add(path, new FolderInode(this.#nextInode));
    return true;
  }

  link(from: string, to: string): void {
    const source = this.#spot(from);
    const target = this.#walk(to);
    if (target.inode) throw diskError('EEXIST', to);
    if (source.volume.id !== target.volume.id) throw diskError('EXDEV', to);
    if (source.inode.kind === 'folder') throw diskError('EPERM', from);
    this.journal.make({ inode: source.inode, from: undefined, to: target.at, replaced: undefined });
  }

  unlink(path: string): void {
    if (!this.look(path)) return;
    const { at, inode } = this.#spot(path);
    if (inode.kind === 'folder') throw diskError('EISDIR', path);
    this.journal.make({ inode, from: at, to: undefined, replaced: undefined });
  }

  removeFolder(path: string): void {
    const { at } = this.#spot(path);
    const inode = this.folder(path);
    if (!at) throw diskError('EBUSY', path);
    if (inode.written.size > 0) throw diskError('ENOTEMPTY', path);
    this.journal.make({ inode, from: at, to: undefined, replaced: undefined });
  }

  rename(from: string, to: string): void {
    // Linux looks at both folders before it looks at either name.
    const source = this.#walk(from);
    const target = this.#walk(to);
    const { inode } = source;
    if (!source.at || !target.at) throw diskError('EBUSY', to);
    if (source.volume.id !== target.volume.id) throw diskError('EXDEV', to);
    if (!inode) throw diskError('ENOENT', from);
    if (inode === target.inode) return;
    if (isWithin(to, from)) throw diskError('EINVAL', to);
    if (isWithin(from, to)) throw diskError('ENOTEMPTY', to);
    if (target.inode && target.inode.kind !== inode.kind) {
      throw diskError(inode.kind === 'folder' ? 'ENOTDIR' : 'EISDIR', to);
    }
    if (target.inode?.kind === 'folder' && target.inode.written.size > 0) throw diskError('ENOTEMPTY', to);
    this.journal.make({ inode, from: source.at, to: target.at, replaced: target.inode });
  }

  /** Answers what a path names, made if it was missing. Its name and the folders above it are durable at once. */
  put(path: string, make: (number: number) => Inode): Inode {
    let inode: Inode = this.root;
    const names = namesOf(path);
    for (const [index, name] of names.entries()) {
      if (inode.kind === 'file') throw diskError('ENOTDIR', path);
      const known: Inode | undefined = inode.written.get(name);
      const next: Inode =
        known ?? (index === names.length - 1 ? make(this.#nextInode) : new FolderInode(this.#nextInode));
      if (!known) this.#nextInode += 1;
      inode.written.set(name, next);
      inode.durable.set(name, next);
      inode = next;
    }
    return inode;
  }

  #add(path: string, inode: Inode): void {
    const { at, inode: taken } = this.#walk(path);
    if (taken) throw diskError('EEXIST', path);
    this.#nextInode += 1;
    this.journal.make({ inode, from: undefined, to: at, replaced: undefined });
  }

  #spot(path: string): Spot & { readonly inode: Inode } {
    const { inode, ...spot } = this.#walk(path);
    if (!inode) throw diskError('ENOENT', path);
    return { ...spot, inode };
  }

  #walk(path: string): Spot {
    let spot: Spot = { at: undefined, inode: this.root, volume: this.root.volume ?? rootVolume };
    for (const name of namesOf(path)) {
      const { inode: folder, volume } = spot;
      if (!folder) throw diskError('ENOENT', path);
      if (folder.kind === 'file') throw diskError('ENOTDIR', path);
      const inode = folder.written.get(name);
      const mounted = inode?.kind === 'folder' ? inode.volume : undefined;
      spot = { at: { folder, name }, inode, volume: mounted ?? volume };
    }
    return spot;
  }
}

function isWithin(path: string, folder: string): boolean {
  const inner = namesOf(path);
  const outer = namesOf(folder);
  return inner.length > outer.length && outer.every((name, index) => inner[index] === name);
}

function namesOf(path: string): string[] {
  const whole = resolve(path);
  return whole
    .slice(parse(whole).root.length)
    .split(sep)
    .filter((name) => name !== '');
}
