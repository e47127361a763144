import { exportTo, type ExportOptions, type ExportReport, type Source } from '../../src/index.js';
import { fileSink, fileState } from '../../src/node/index.js';
import { newProcess } from '../node/simulatedExport.js';
import { simulatedDisk, type SimulatedDisk } from '../node/simulatedDisk.js';
import { issueLines, type Issue } from './parentsApi.js';

const path = '/data/issues';

export function emptyDisk(...hook: Parameters<typeof simulatedDisk>): SimulatedDisk {
  const disk = simulatedDisk(...hook);
  disk.putFolder('/data');
  return disk;
}

/** Exports issues on a simulated disk, as a process of its own: whatever was there before it is dead. */
export function exportOn(
  disk: SimulatedDisk,
  source: Source<Issue>,
  { signal, ...options }: ExportOptions & { readonly signal?: AbortSignal } = {},
): Promise<ExportReport> {
  const state = fileState(`${path}.sluice`, { fileSystem: disk, claims: newProcess() });
  const sink = fileSink(issueLines, { path, fileSystem: disk });
  return exportTo(source, sink, { commitEvery: 1, ...options, state }).run(signal && { signal });
}

export const exportedOn = (disk: SimulatedDisk): string[] | undefined => disk.text(path)?.split('\n').slice(0, -1);

/** The records of the parents, as they are on the disk. */
export function loggedOn(disk: SimulatedDisk): string {
  return disk.text(`${path}.sluice/partitions.log`) ?? '';
}
