import type { Volume } from '../../../src/node/files/fileSystem.js';

/** What a name leads to. */
export type Inode = FileInode | FolderInode;

/** A write or a truncation. */
export type FileChange =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number };

/** A file has what was written, and what is sure to be there after a power cut. The unsynced changes lead from one to the other. */
export class FileInode {
  readonly kind = 'file';
  readonly number: number;
  isOurs = true;
  /** How many changes there were since the disk was mounted. */
  version = 0;
  #durable: Uint8Array;
  #written: Uint8Array;
  #unsynced: readonly FileChange[];

  constructor(number: number, durable: Uint8Array = new Uint8Array(), unsynced: readonly FileChange[] = []) {
    this.number = number;
    this.#durable = durable;
    this.#written = unsynced.reduce(changed, durable);
    this.#unsynced = unsynced;
  }

  /** Never changed in place, so that those who hold it need no copy. */
  get written(): Uint8Array {
    return this.#written;
  }

  get durable(): Uint8Array {
    return this.#durable;
  }

  get unsynced(): readonly FileChange[] {
    return this.#unsynced;
  }

  change(change: FileChange): void {
    this.version += 1;
    this.#written = changed(this.#written, change);
    this.#unsynced = [...this.#unsynced, change];
  }

  sync(): void {
    this.#durable = this.#written;
    this.#unsynced = [];
  }
}

/** A folder has the names that were given, and those that are sure to be there after a power cut. The journal leads from one to the other. */
export class FolderInode {
  readonly kind = 'folder';
  readonly number: number;
  readonly written = new Map<string, Inode>();
  readonly durable = new Map<string, Inode>();
  isOurs = true;
  /** Where another volume is mounted. */
  volume: Volume | undefined;

  constructor(number: number) {
    this.number = number;
  }
}

/** The bytes of a file after a change. What lies between the old end and a write, or a new end, is zeros. */
export function changed(bytes: Uint8Array, change: FileChange): Uint8Array {
  if (change.kind === 'truncate') return resized(bytes, change.size);
  // To write nothing behind the end does not move the end.
  if (change.bytes.length === 0) return bytes;
  const result = resized(bytes, Math.max(bytes.length, change.at + change.bytes.length));
  result.set(change.bytes, change.at);
  return result;
}

function resized(bytes: Uint8Array, size: number): Uint8Array {
  const result = new Uint8Array(size);
  result.set(bytes.subarray(0, size));
  return result;
}
