import { createHash } from 'node:crypto';
import { CheckpointError } from '../errors.js';

const version = 1;
/** What every record begins with, whatever its version. */
export const recordMark = 'sluice-state ';

/**
 * A record as the bytes of a file: a line with format, version and checksum, then JSON. So any damage shows, and a newer version can
 * be told from damage.
 *
 * @example 'sluice-state 1 sha256:5f2c…\n{"v":1,…}\n'
 */
export function encodeRecord(record: object): string {
  const json = `${JSON.stringify(record)}\n`;
  return `${recordMark}${version} sha256:${checksum(json)}\n${json}`;
}

/** Reads what `encodeRecord` wrote. @throws CheckpointError if it is something else, damaged, or of a newer version. */
export function decodeRecord(bytes: Buffer, path: string): unknown {
  const fault = (what: string): CheckpointError =>
    new CheckpointError(`${path} ${what} Start over with restart: nothing was changed.`, { path });
  if (bytes.length === 0) throw fault('is empty: it was not written by Sluice, or lost its bytes.');
  const end = bytes.indexOf('\n') + 1;
  const [, written, sum] =
    /^sluice-state (\d+)(?: sha256:([0-9a-f]{64}))?/.exec(bytes.toString('latin1', 0, end)) ?? [];
  // Not even a restart replaces what may be somebody else's.
  if (written === undefined)
    throw new CheckpointError(
      `${path} is no state of Sluice, or is damaged. Move it away, then start over with restart: nothing was changed.`,
      { path },
    );
  if (Number(written) > version)
    throw fault(
      `was written by a newer version of Sluice (format ${written}, this one knows ${version}). Use that one.`,
    );
  if (Number(written) !== version || checksum(bytes.subarray(end)) !== sum)
    throw fault('is damaged: its checksum does not fit.');
  return JSON.parse(bytes.toString('utf8', end));
}

function checksum(json: string | Buffer): string {
  return createHash('sha256').update(json).digest('hex');
}
