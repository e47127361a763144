import { FolderInode, type FileInode, type Inode } from './inode.js';

/** What a copy takes over. */
export interface Original {
  file(inode: FileInode): FileInode;
  written(folder: FolderInode): ReadonlyMap<string, Inode>;
  durable(folder: FolderInode): ReadonlyMap<string, Inode>;
}

/** Copies inodes and all that they lead to. One that has several names is copied once, so that its copy has them too. */
export class TreeCopy {
  readonly #original: Original;
  readonly #files = new Map<FileInode, FileInode>();
  readonly #folders = new Map<FolderInode, FolderInode>();

  constructor(original: Original) {
    this.#original = original;
  }

  get highestNumber(): number {
    return Math.max(0, ...[...this.#files.keys(), ...this.#folders.keys()].map(({ number }) => number));
  }

  inode(inode: Inode): Inode {
    return inode.kind === 'file' ? this.#file(inode) : this.folder(inode);
  }

  folder(folder: FolderInode): FolderInode {
    const known = this.#folders.get(folder);
    if (known) return known;
    const copy = new FolderInode(folder.number);
    this.#folders.set(folder, copy);
    copy.isOurs = folder.isOurs;
    copy.volume = folder.volume;
    for (const [name, inode] of this.#original.written(folder)) copy.written.set(name, this.inode(inode));
    for (const [name, inode] of this.#original.durable(folder)) copy.durable.set(name, this.inode(inode));
    return copy;
  }

  #file(file: FileInode): FileInode {
    const copy = this.#files.get(file) ?? this.#original.file(file);
    this.#files.set(file, copy);
    copy.isOurs = file.isOurs;
    return copy;
  }
}
