import { explained, type WritableFile } from '@sluice/core/node';

export interface FileLine {
  /** Without its end. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Whether it has its end: the last one may lack it. */
  readonly isEnded: boolean;
}

const bytesPerRead = 256 * 1024;
const lineFeed = 10;

/** The lines of a file, a piece of it read at a time. Only a line feed ends one. */
export async function* linesOf(file: WritableFile, path: string): AsyncGenerator<FileLine, void, undefined> {
  const piece = new Uint8Array(bytesPerRead);
  let rest: Buffer[] = [];
  let start = 0;
  for (let at = 0; ;) {
    const read = await explained(file.read(piece, at), path, 'read');
    if (read === 0) break;
    const found = piece.subarray(0, read);
    let from = 0;
    for (let to = found.indexOf(lineFeed); to !== -1; to = found.indexOf(lineFeed, from)) {
      const end = at + to + 1;
      yield { bytes: Buffer.concat([...rest, found.subarray(from, to)]), start, end, isEnded: true };
      rest = [];
      start = end;
      from = to + 1;
    }
    // A copy, since the next piece overwrites this one.
    if (from < read) rest.push(Buffer.from(found.subarray(from)));
    at += read;
  }
  const bytes = Buffer.concat(rest);
  if (bytes.length > 0) yield { bytes, start, end: start + bytes.length, isEnded: false };
}
