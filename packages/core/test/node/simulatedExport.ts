import { gunzipSync } from 'node:zlib';
import { exportTo, type ExportOptions, type ExportReport } from '../../src/index.js';
import { fileSink, fileState, type FileTarget } from '../../src/node/index.js';
import { partitionsOf, type OnFetch } from './partitionRows.js';
import type { SimulatedDisk } from './simulatedDisk.js';
import { textFormat } from './textRows.js';
import type { Liveness, Processes } from '../../src/node/processIdentity.js';

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
  const state = fileState(stateFolder, { fileSystem: disk, processes: newProcess() });
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
export function newProcess(): Processes {
  const startedAt = crypto.randomUUID();
  const identity = { host: 'here', machine: '', boot: '', space: '', pid: 1, startedAt };
  return {
    claims: new Map(),
    hasOpen: () => Promise.resolve(false),
    self: () => Promise.resolve(identity),
    livenessOf: (other) => Promise.resolve<Liveness>(other.startedAt === startedAt ? 'self' : 'dead'),
  };
}
