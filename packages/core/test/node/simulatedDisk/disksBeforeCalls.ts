import type { SimulatedDisk } from '../simulatedDisk.js';

/**
 * The disk before each call of a run, and behind the last one, as a process that is killed there leaves it. What a power cut leaves is a
 * `restart` of it. One run yields all of them: a run of its own for each call would repeat all that comes before the call.
 *
 * @param onDisk Called when each of them is taken, to note what else the outcome depends on.
 */
export async function disksBeforeCalls(
  disk: SimulatedDisk,
  run: (disk: SimulatedDisk) => Promise<unknown>,
  onDisk: () => void = () => undefined,
): Promise<SimulatedDisk[]> {
  const disks: SimulatedDisk[] = [];
  const take = (): undefined => {
    disks.push(running.restart('killed'));
    onDisk();
  };
  const running: SimulatedDisk = disk.restart('killed', take);
  await run(running);
  take();
  return disks;
}
