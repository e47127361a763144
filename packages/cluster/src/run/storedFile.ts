import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { ConfigError, SluiceError } from '@sluice/core';
import {
  readPieces,
  readWhole,
  unlessAbsent,
  withFile,
  withPath,
  writeWhole,
  type FileSystem,
} from '@sluice/core/node';

/** Reads a record, which is plain JSON; `undefined` if there is none. @throws SinkError, ConfigError if it is damaged. */
export async function readRecord(fileSystem: FileSystem, path: string): Promise<unknown> {
  const bytes = await readWhole(fileSystem, path);
  try {
    return bytes && JSON.parse(bytes.toString());
  } catch {
    throw damageError(path);
  }
}

/** An error about a record that is not what was written. */
export function damageError(path: string): ConfigError {
  const isDone = /^\d+\.json$/.test(basename(path)) && basename(dirname(dirname(path))) === 'done';
  const instead = isDone
    ? 'remove it and submit the run again: workers fetch that partition again'
    : 'submit to another folder';
  const what = isDone ? 'is damaged, or of another partition or run' : 'is damaged';
  return new ConfigError(`${path} ${what}: it is not what Sluice wrote there. Restore it, or ${instead}.`, { path });
}

/**
 * Gives a complete, durable file a name that nobody has: link(2) is exclusive, and a reader sees the file or none.
 *
 * @param temporary its unique path until then
 * @returns whether the name was free
 */
export async function publish(fileSystem: FileSystem, temporary: string, path: string, text: string): Promise<boolean> {
  await writeDurably(fileSystem, temporary, text);
  try {
    const isFree = await linkIfFree(fileSystem, temporary, path);
    if (isFree) await withPath(fileSystem.syncFolder(dirname(path)), path, 'written');
    return isFree;
  } finally {
    await fileSystem.unlink(temporary).catch(() => undefined);
  }
}

/** Creates a file, which must not exist, with durable bytes. Its name is not durable yet. */
export async function writeDurably(fileSystem: FileSystem, path: string, text: string): Promise<void> {
  // Whoever may read the folder can ask how far a run is.
  await withPath(writeWhole(fileSystem, path, [Buffer.from(text)], path, 'new'), path, 'created');
}

/** Gives a file a second name; returns whether that was free. */
export async function linkIfFree(fileSystem: FileSystem, from: string, to: string): Promise<boolean> {
  try {
    await withPath(fileSystem.link(from, to), to, 'written');
    return true;
  } catch (error) {
    if (!failedWith(error, 'EEXIST')) throw error;
    // A network may repeat a link whose response was lost: it was ours if both names are of the same file.
    const mine = await withPath(fileSystem.identity(from), from, 'inspected');
    const theirs = await withPath(fileSystem.identity(to), to, 'inspected');
    return mine !== undefined && mine === theirs;
  }
}

/** The names in a folder; none if there is no folder. */
export async function listNames(fileSystem: FileSystem, path: string): Promise<readonly string[]> {
  return (await withPath(unlessAbsent(fileSystem.list(path)), path, 'inspected')) ?? [];
}

/** Makes a folder with a durable name, unless it exists. */
export async function makeFolder(fileSystem: FileSystem, path: string): Promise<void> {
  await withPath(fileSystem.makeFolder(path), path, 'created');
  // Also where somebody else made it, who may not have come to this yet.
  await withPath(fileSystem.syncFolder(dirname(path)), path, 'created');
}

/** Whether the first bytes of a file have a SHA-256, and so many lines. */
export async function isPrefix(
  fileSystem: FileSystem,
  path: string,
  { bytes, sha256, rows }: { readonly bytes: number; readonly sha256: string; readonly rows: number },
): Promise<boolean> {
  const hash = createHash('sha256');
  let seen = 0;
  let lines = 0;
  await withFile(fileSystem, path, async (file) => {
    for await (const piece of readPieces(file, path, bytes)) {
      hash.update(piece);
      seen += piece.length;
      for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) lines += 1;
    }
  });
  return seen === bytes && lines === rows && hash.digest('hex') === sha256;
}

/** Whether the operating system has refused a call with this code. */
export function failedWith(error: unknown, code: string): boolean {
  return SluiceError.is(error, 'sink') && error.details['platformCode'] === code;
}

/** A folder of up to 1,000 entries: file systems slow down with a million names in one. */
export function shardName(partition: number): string {
  return String(Math.floor(partition / partitionsPerShard));
}

/** Partitions whose files share a folder. */
export const partitionsPerShard = 1_000;

/** The path of a segment: the rows that one claim wrote for one partition. */
export function segmentPath(folder: string, partition: number, claim: string): string {
  return join(folder, 'rows', shardName(partition), `${partition}-${claim}.jsonl`);
}

/** The path of the record that a partition is done. */
export function donePath(folder: string, partition: number): string {
  return join(folder, 'done', shardName(partition), `${partition}.json`);
}
