import { basename, dirname } from 'node:path';
import type { Phase } from './phases.js';

/** The progress of a run, as its sink sees it. */
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

/** The role of a file. `folder` is the one that contains the target, `state` the one next to it. */
export type FileRole = 'target' | 'part' | 'folder' | 'state' | 'lock' | 'checkpoint' | 'segment';

/** A call that may change the disk. */
export interface Operation {
  readonly stage: Stage;
  readonly call: string;
  readonly file: FileRole;
}

/** The role of a path in an export to `target`. */
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
