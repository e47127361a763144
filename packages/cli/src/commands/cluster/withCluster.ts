import type { Cluster, ProgressHints, Run, RunTarget } from '@sluice/cluster';
import { isAbsolute, resolve } from 'node:path';
import { loadOptional } from '../../config/importModule.js';
import type { Environment } from '../../environment/environment.js';
import { UsageError } from '../../errors/errors.js';
import { findRedisUrl } from '../../input/secretVariables.js';
import { type GroupOptions, runTableOptions } from '../../options/options.js';
import { flagAbout } from '../../options/commands.js';
import { pickFor } from '../../options/option.js';
import { addPassword } from '../../input/postgresUrl.js';
import { tableName } from '../../target/tableTarget.js';

export type RedisOptions = GroupOptions<'redis'>;

/** @throws UsageError if the package is not installed */
function loadCluster() {
  return loadOptional(() => import('@sluice/cluster'), '@sluice/cluster', 'several machines');
}

export type ClusterLibrary = Awaited<ReturnType<typeof loadCluster>>;

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

/** Opens a run by its name in Redis, or by where its rows are, for as long as `work` takes. */
export async function withNamedRun<R>(
  named: string,
  options: RedisOptions,
  environment: Environment,
  work: (run: NamedRun, opened: OpenedCluster) => Promise<R>,
): Promise<R> {
  return withCluster(options, environment, async (opened) => {
    const isPlace = isPath(named) || tableName(named) !== undefined;
    const target = isPlace ? named : (await opened.cluster.find(named)).target;
    const place = await targetAt(target, opened.library, environment);
    const run = await place.open();
    try {
      return await work({ run, target: place.address, name: run.header.name }, opened);
    } finally {
      await run.close?.();
    }
  });
}

/** Names of runs have no slashes. */
function isPath(named: string): boolean {
  return isAbsolute(named) || /[/\\]/.test(named) || named === '.' || named === '..';
}

/** How rows go into a target. */
type RunTargetOptions = Omit<GroupOptions<'run'>, 'to' | 'name'>;

/** The target of a run, as `--to` names it and as Redis has it: a folder, or a table of PostgreSQL. */
export async function targetAt(
  to: string,
  { segments }: ClusterLibrary,
  environment: Environment,
  options: RunTargetOptions = {},
  hints?: ProgressHints,
): Promise<RunTarget> {
  const { trustFilesystem: trustFileSystem = false, requireTotal } = options;
  const table = tableName(to);
  if (!table) {
    const flag = flagAbout('table', options);
    if (flag !== undefined) throw new UsageError(`${flag} is for a table; --to ${to} is a folder.`);
    return segments(resolve(environment.folder, to), { trustFileSystem, hints });
  }
  if (table.kind !== 'postgres')
    throw new UsageError('SQLite is a file of one machine. Give a folder, and merge it into SQLite at the end.');
  const { keyColumns: key, ...others } = pickFor(runTableOptions, options);
  const { postgresRun } = await import('@sluice/cluster/postgres');
  return postgresRun({
    ...addPassword(table.url, environment),
    table: table.table,
    ...others,
    key,
    // It is on by default. Of a folder, the merge has it.
    ...(requireTotal === false && { requireTotal }),
  });
}
