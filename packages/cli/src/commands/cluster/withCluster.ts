import type { Cluster, Run, RunTarget } from '@sluice/cluster';
import { isAbsolute, resolve } from 'node:path';
import type { Environment } from '../../environment/environment.js';
import { UsageError } from '../../errors/errors.js';
import { findRedisUrl } from '../../input/secrets.js';
import type { GroupOptions } from '../../options/commandOptions.js';

/** What `@sluice/cluster` exports. It is loaded only for what several machines do, and needs to be there only then. */
export type ClusterLibrary = Awaited<ReturnType<typeof importCluster>>;

export type RedisOptions = GroupOptions<'redis'>;

function importCluster() {
  return import('@sluice/cluster');
}

/** @throws UsageError if the package is not installed */
async function loadCluster(): Promise<ClusterLibrary> {
  try {
    return await importCluster();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new UsageError('For several machines one more package is needed: npm install @sluice/cluster.');
  }
}

/** A Redis of the command line. */
export interface OpenedCluster {
  readonly cluster: Cluster;
  readonly library: ClusterLibrary;
  readonly url: string;
}

/** Runs `work` with a Redis, and ends the connection. */
export async function withCluster<R>(
  options: RedisOptions,
  environment: Environment,
  work: (opened: OpenedCluster) => Promise<R>,
): Promise<R> {
  const library = await loadCluster();
  const url = await findRedisUrl(options, environment);
  const cluster = library.openCluster({ url });
  try {
    return await work({ cluster, library, url });
  } finally {
    await cluster.close();
  }
}

/** A run that an argument names, opened where its rows are. */
export interface NamedRun {
  readonly run: Run;
  /** Its name in Redis. */
  readonly name: string;
  /** Where its rows are. */
  readonly target: string;
}

/** Opens a run by its name in Redis, or by its folder, which needs no Redis. */
export async function openRun(
  named: string,
  { cluster, library }: OpenedCluster,
  { folder }: Pick<Environment, 'folder'>,
): Promise<NamedRun> {
  const target = isPath(named) ? resolve(folder, named) : (await cluster.find(named)).target;
  const run = await targetAt(target, library).open();
  return { run, target, name: run.header.name };
}

/** Names of runs have no slashes. */
function isPath(named: string): boolean {
  return isAbsolute(named) || /[/\\]/.test(named) || named === '.' || named === '..';
}

/** The target of a run at an address. */
export function targetAt(address: string, { segments }: ClusterLibrary, trustFileSystem = false): RunTarget {
  return segments(address, { trustFileSystem });
}
