import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError } from '@sluice/core';
import { explained, type FilePosition, type FileSystem } from '@sluice/core/node';
import { LineFile } from './lineFile.js';
import { linesOf } from './linesOf.js';

/** The folder beside a file of dead letters: it has the lock of those who write and replay, and the journal. */
export function deadLetterFolder(path: string): string {
  return `${path}.sluice`;
}

/**
 * Which letters the endpoint has taken by now, as lines of digests. The letters themselves are never touched.
 *
 * It can only ever fail to the safe side: a line that is torn, damaged, or of a file that is gone is like no letter's digest, and a
 * letter that is not in it is sent again.
 */
export class DeadLetterJournal {
  readonly #lines: LineFile;
  readonly #digests: Set<string>;

  private constructor(lines: LineFile, digests: Set<string>) {
    this.#lines = lines;
    this.#digests = digests;
  }

  /** For whoever holds the lock. What a killed replay wrote is durable when it resolves. */
  static async open(fileSystem: FileSystem, folder: string): Promise<DeadLetterJournal> {
    const { path, digests, place } = await read(fileSystem, folder);
    return new DeadLetterJournal(await LineFile.open(fileSystem, path, place, true), digests);
  }

  /** For anybody, also beside a replay: changes nothing. */
  static async read(fileSystem: FileSystem, folder: string): Promise<ReadonlySet<string>> {
    return (await read(fileSystem, folder)).digests;
  }

  has(digest: string): boolean {
    return this.#digests.has(digest);
  }

  /** Durable when it resolves. */
  async note(digest: string): Promise<void> {
    await this.#lines.append(digest);
    this.#digests.add(digest);
  }

  remove(): Promise<void> {
    return this.#lines.remove();
  }

  close(): Promise<void> {
    return this.#lines.close();
  }
}

async function read(
  fileSystem: FileSystem,
  folder: string,
): Promise<{ readonly path: string; readonly digests: Set<string>; readonly place: FilePosition }> {
  const path = join(folder, 'replayed');
  const digests = new Set<string>();
  let place: FilePosition = { bytes: 0, crc32: 0 };
  if ((await explained(fileSystem.kind(path), path, 'looked at')) === 'absent') return { path, digests, place };
  // Whoever else wrote it could keep letters from being sent.
  if (!(await explained(fileSystem.isOurs(path), path, 'looked at')))
    throw new CheckpointError(
      `${path} belongs to another user of this machine. Ask its owner, or move it away to send all letters again: nothing was changed.`,
      { path },
    );
  const file = await explained(fileSystem.open(path, 'readable'), path, 'opened');
  try {
    for await (const { bytes, end, isEnded } of linesOf(file, path)) {
      if (!isEnded) break;
      digests.add(bytes.toString('latin1'));
      place = { bytes: end, crc32: crc32('\n', crc32(bytes, place.crc32)) };
    }
  } finally {
    await file.close().catch(() => undefined);
  }
  return { path, digests, place };
}
