import { basename, dirname } from 'node:path';
import type { Phase } from './phases.js';

/** How far a run has come, as its sink is told. */
export type Stage =
  | 'beginning'
  | 'opening anew'
  | 'going on'
  | 'going on sealed'
  | 'moving'
  | 'flushing'
  | 'sealing'
  | 'closing'
  | 'closed';

/** What a file is for. `folder` is the one that the target lies in, `state` the one beside it. */
export type FileRole = 'target' | 'part' | 'folder' | 'state' | 'lock' | 'checkpoint' | 'segment';

/** A call to the disk that may change something on it. */
export interface Operation {
  readonly stage: Stage;
  readonly call: string;
  readonly file: FileRole;
}

/** What a path is for, in an export to `target`. */
export function fileRole(path: string, target: string): FileRole {
  if (path === target) return 'target';
  if (path === `${target}.part`) return 'part';
  if (path === dirname(target)) return 'folder';
  if (path === `${target}.sluice`) return 'state';
  const name = basename(path).replace(/^sluice-[0-9a-f-]{36}-new-/, '');
  if (name.startsWith('lock-')) return 'lock';
  return name === 'checkpoint' ? 'checkpoint' : 'segment';
}

/** The phase that an operation belongs to. */
export function phaseOf({ stage, call, file }: Operation): Phase {
  switch (stage) {
    case 'beginning':
    case 'opening anew':
      return 'setting up';
    case 'going on':
      return 'going on';
    case 'going on sealed':
      return 'putting in place';
    case 'moving':
      if (file === 'part') return 'writing rows';
      return file === 'checkpoint' || call === 'syncFolder' ? 'saving the checkpoint' : 'writing segments';
    case 'flushing':
      return 'syncing rows';
    case 'sealing':
      return 'sealing';
    case 'closing':
      return file === 'part' || file === 'folder' ? 'putting in place' : 'clearing away';
    case 'closed':
      return 'clearing away';
  }
}
