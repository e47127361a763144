import type { Snapshot } from '../snapshot.js';

/** One line of the stream; `undefined` if it is not a snapshot. The server is of the same version, so fields are not checked. */
export function decodeSnapshot(line: string): Snapshot | undefined {
  const value: unknown = JSON.parse(line);
  return typeof value === 'object' && value !== null && 'about' in value && 'health' in value
    ? (value as Snapshot)
    : undefined;
}
