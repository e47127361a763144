import { gunzipSync } from 'node:zlib';
import { exportTo, type ExportOptions, type ExportReport } from '../../src/index.js';
import { fileSink, fileState, type FileTarget } from '../../src/node/index.js';
import { partitionsOf, type OnFetch } from './partitionRows.js';
import type { SimulatedDisk } from './simulatedDisk.js';
import { textFormat } from './textRows.js';
import type { Claims } from '../../src/node/claims.js';
import { readWhole } from '../../src/node/files/readFile.js';
import { writeWhole } from '../../src/node/files/wholeFile.js';

/** What is exported, and how. */
export interface Scenario
  extends Pick<ExportOptions, 'concurrency' | 'commitEvery' | 'onExpired'>, Pick<FileTarget, 'ifExists' | 'gzip'> {
  readonly partitions: readonly (readonly number[])[];
  /** Default: beside the target. */
  readonly stateFolder?: string;
}

/** Where simulated exports write. */
export const target = '/data/rows';

/** Runs an export on a simulated disk, as a process of its own: whatever was there before it is dead. */
export function runOn(disk: SimulatedDisk, scenario: Scenario, onFetch?: OnFetch): Promise<ExportReport> {
  const { partitions, ifExists = 'fail', gzip = false, stateFolder = `${target}.sluice`, ...options } = scenario;
  const state = fileState(stateFolder, { fileSystem: disk, claims: newProcess() });
  const sink = fileSink(textFormat, { path: target, fileSystem: disk, ifExists, gzip });
  return exportTo(partitionsOf(partitions, onFetch), sink, { commitEvery: 1, ...options, state }).run();
}

/** The text in the target; `undefined` if there is none. */
export function textOn(disk: SimulatedDisk): string | undefined {
  const bytes = disk.bytes(target);
  if (!bytes) return undefined;
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes).toString() : Buffer.from(bytes).toString();
}

/** A process that nobody has seen before: all others are dead. */
export function newProcess(): Claims {
  const held = new Set<string>();
  return simulatedClaims(held, (text) => held.has(text));
}

/** Claims as files of a simulated disk. @param held has the texts of those that the process holds. */
export function simulatedClaims(held: Set<string>, isHeld: (text: string) => boolean): Claims {
  return {
    self: '1-here',
    own: new Map(),
    async make(path, fileSystem) {
      held.add(path);
      await writeWhole(fileSystem, path, [Buffer.from(path)]);
      return { endsForAll: true, release: () => Promise.resolve(void held.delete(path)) };
    },
    async judge(path, fileSystem) {
      const text = await readWhole(fileSystem, path);
      return text && (isHeld(text.toString()) ? 'alive' : 'dead');
    },
  };
}
