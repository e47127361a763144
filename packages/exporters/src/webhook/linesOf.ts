import { explained, type WritableFile } from '@sluice/core/node';

export interface FileLine {
  /** Without the line end. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Whether it has a line end; the last one may not. */
  readonly isEnded: boolean;
}

const bytesPerRead = 256 * 1024;
const lineFeed = 10;

/** The lines of a file, read in chunks. Only a line feed ends a line. */
export async function* linesOf(file: WritableFile, path: string): AsyncGenerator<FileLine, void, undefined> {
  const chunk = new Uint8Array(bytesPerRead);
  let rest: Buffer[] = [];
  let start = 0;
  for (let at = 0; ;) {
    const read = await explained(file.read(chunk, at), path, 'read');
    if (read === 0) break;
    const found = chunk.subarray(0, read);
    let from = 0;
    for (let to = found.indexOf(lineFeed); to !== -1; to = found.indexOf(lineFeed, from)) {
      const end = at + to + 1;
      yield { bytes: Buffer.concat([...rest, found.subarray(from, to)]), start, end, isEnded: true };
      rest = [];
      start = end;
      from = to + 1;
    }
    // A copy, because the next read overwrites the chunk.
    if (from < read) rest.push(Buffer.from(found.subarray(from)));
    at += read;
  }
  const bytes = Buffer.concat(rest);
  if (bytes.length > 0) yield { bytes, start, end: start + bytes.length, isEnded: false };
}
