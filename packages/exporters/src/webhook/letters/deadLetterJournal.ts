import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError } from '@sluice/core';
import { withPath, readLines, withFile, type FilePosition, type FileSystem } from '@sluice/core/node';
import { LineFile } from './lineFile.js';

/** The folder next to a dead letter file. It contains the lock of exports and replays, and the journal. */
export function deadLetterFolder(path: string): string {
  return `${path}.sluice`;
}

/**
 * Records the digests of the letters that the endpoint has accepted. The letters themselves are never changed.
 *
 * A damaged or lost line matches no letter, so the worst outcome is that a letter is sent again.
 */
export class DeadLetterJournal {
  readonly #lines: LineFile;
  readonly #digests: Set<string>;

  private constructor(lines: LineFile, digests: Set<string>) {
    this.#lines = lines;
    this.#digests = digests;
  }

  /** Requires the lock. The lines of a killed replay are durable when it resolves. */
  static async open(fileSystem: FileSystem, folder: string): Promise<DeadLetterJournal> {
    const { path, digests, position } = await read(fileSystem, folder);
    return new DeadLetterJournal(await LineFile.open(fileSystem, path, position, true), digests);
  }

  /** Needs no lock and changes nothing, even during a replay. */
  static async read(fileSystem: FileSystem, folder: string): Promise<ReadonlySet<string>> {
    return (await read(fileSystem, folder)).digests;
  }

  has(digest: string): boolean {
    return this.#digests.has(digest);
  }

  /** Durable when it resolves. */
  async add(digest: string): Promise<void> {
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

async function read(fileSystem: FileSystem, folder: string) {
  const path = join(folder, 'replayed');
  const digests = new Set<string>();
  let position: FilePosition = { bytes: 0, crc32: 0 };
  // Another user could add digests, so that letters are never sent.
  if (!(await withPath(fileSystem.isOurs(path), path, 'inspected')))
    throw new CheckpointError(
      `${path} belongs to another user of this machine. Ask its owner, or move it away to send all letters again: nothing was changed.`,
      { path },
    );
  await withFile(fileSystem, path, async (file) => {
    for await (const { bytes, end, isEnded } of readLines(file, path)) {
      if (!isEnded) break;
      digests.add(bytes.toString('latin1'));
      position = { bytes: end, crc32: crc32('\n', crc32(bytes, position.crc32)) };
    }
  });
  return { path, digests, position };
}
