import { stat } from 'node:fs/promises';
import type { Json } from '@sluice/core';

/** The file that rows go into before the target is in place, against what the checkpoint says of it. */
export interface PartFileState {
  readonly path: string;
  /** Absent where the file is not there. */
  readonly bytes?: number;
  /** Up to here the rows are kept. */
  readonly keptBytes: number;
  /** `longer`: what lies behind is cut off. `shorter`, `missing`: damaged. `in-place`: it has the target's name already. */
  readonly fit: 'exact' | 'longer' | 'shorter' | 'missing' | 'in-place';
}

/** How a target's `.part` fits to the place of a checkpoint; `undefined` if the place says nothing of a file. Its content is not read. */
export async function partFileState(
  target: string,
  { place, isSealed }: { readonly place?: Json; readonly isSealed?: true },
): Promise<PartFileState | undefined> {
  const found = await keptFileState(`${target}.part`, place);
  if (found?.fit !== 'missing' || isSealed !== true) return found;
  const isInPlace = (await sizeOf(target)) === found.keptBytes;
  return isInPlace ? { ...found, fit: 'in-place' } : found;
}

/** How a file that rows go into right away fits to the place of a checkpoint; `undefined` if the place says nothing of a file. */
export async function keptFileState(path: string, place: Json | undefined): Promise<PartFileState | undefined> {
  const keptBytes = bytesOf(place);
  if (keptBytes === undefined) return undefined;
  const bytes = await sizeOf(path);
  if (bytes === undefined) return { path, keptBytes, fit: 'missing' };
  return { path, bytes, keptBytes, fit: bytes === keptBytes ? 'exact' : bytes > keptBytes ? 'longer' : 'shorter' };
}

function bytesOf(place: unknown): number | undefined {
  if (typeof place !== 'object' || place === null || !('bytes' in place)) return undefined;
  return typeof place.bytes === 'number' ? place.bytes : undefined;
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}
