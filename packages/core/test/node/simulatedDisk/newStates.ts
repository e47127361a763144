import type { SimulatedDisk } from '../simulatedDisk.js';

/**
 * Tells which disks are unlike all before. Most cuts leave what another one has left, and to try the same again would only say the same.
 * With what else decides the outcome, if anything does.
 */
export function newStates(): (disk: SimulatedDisk, ...besides: unknown[]) => boolean {
  const seen = new Set<string>();
  return (disk, ...besides) => {
    const before = seen.size;
    seen.add(disk.fingerprint() + JSON.stringify(besides));
    return seen.size > before;
  };
}
