import { realpath, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname } from 'node:path';

/** The permission of everybody else to read a file, and to reach what is in a folder. */
const others = { read: 0o004, reach: 0o001 };

/**
 * Whether other users of this computer can read a file: its mode says so, and they can reach it through each folder above. A group's
 * rights are not counted, since a service is often given its secrets through one.
 *
 * Windows knows no such modes: there it is `false`. Rejects like `stat`.
 */
export async function isReadableByOthers(path: string): Promise<boolean> {
  if (platform() === 'win32') return false;
  const file = await realpath(path);
  if (((await stat(file)).mode & others.read) === 0) return false;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & others.reach) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
