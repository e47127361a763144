import { basename, resolve } from 'node:path';
import type { Json } from '@sluice/core';
import type { ApiSource } from '@sluice/core/define';
import type { Invocation, Run } from '../../config/config.js';
import type { Environment } from '../../environment/environment.js';
import { exitCodes, UsageError } from '../../errors/errors.js';
import type { GroupOptions } from '../../options/options.js';
import { asJson } from '../../source/decodeRecords.js';
import { findSource, parseApi } from '../../source/findSource.js';
import { type ConnectionOptions, openClient, withApi, withClient } from '../../source/openClient.js';
import { readGivenParams, withParams } from '../../source/params.js';
import { formatCount } from '../../terminal/format.js';
import { tableName } from '../../target/tableTarget.js';
import { findWallets } from '../nfts.js';
import { targetAt, withCluster } from './withCluster.js';

/** Partitions in one piece of a plan. */
const maxPartitions = 1_000;
/** That of the library. */
const defaultOwnersPerRequest = 10;

/** `sluice cluster submit nfts export`: lets several machines export the NFTs of wallets. */
export const submitNfts: Run<'cluster submit nfts export'> = async (options, environment, invocation) => {
  const { pageSize, ownersPerRequest = defaultOwnersPerRequest } = options;
  const { given, params, owners: all } = await findWallets(options, environment);
  const others = { ...params, ownersPerRequest };
  // The same wallet twice would be exported twice, if the two were in different pieces.
  const owners = [...new Set(all)];
  const planned = (found: ApiSource) => {
    withParams(found, given, ['pageSize'], (checked) => void found({ ...checked, pageSize }), others);
    return splitOwners(owners, maxPartitions * ownersPerRequest, { ...others, pageSize });
  };
  return submit('aptos.nfts', planned, options, environment, invocation);
};

/** `sluice cluster submit export API.SOURCE`: lets several machines export the rows of any source. */
export const submitSource: Run<'cluster submit export'> = async (options, environment, invocation) => {
  const { source, pageSize } = options;
  const given = await readGivenParams(options.param, environment);
  const planned = (found: ApiSource) =>
    withParams(found, given, ['pageSize'], (params) => {
      void found({ ...params, pageSize });
      return [asJson({ ...params, pageSize })];
    });
  return submit(source, planned, options, environment, invocation);
};

/** @param paramsFor the parameters of each piece of the plan. */
async function submit(
  source: string,
  paramsFor: (found: ApiSource) => Iterable<Json>,
  options: GroupOptions<'run' | 'redis'> & ConnectionOptions,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const { to } = options;
  if (to === undefined)
    throw new UsageError('Where to? Give --to DIR, a folder that all machines see, or --to postgres://….');
  const name = options.name ?? nameRun(to, environment);
  const { stderr, stdout, command } = environment;
  return withCluster(options, environment, ({ cluster, library }) => {
    const opening = openClient(options, environment, config, withApi(parseApi(source), options, environment));
    return withClient(opening, environment, async (client) => {
      const found = findSource(client, source, config);
      const run = await cluster.submit({
        name,
        source,
        open: found,
        params: paramsFor(found),
        to: await targetAt(to, library, environment, options),
      });
      await stdout.write(`${name}\n`);
      stderr.print(
        `${formatCount(run.partitions, 'partition')} to ${run.target}. Workers on any machine: ${command} cluster work\nHow far it is: ${command} cluster status ${name}\n`,
      );
      return exitCodes.done;
    });
  });
}

/** The name of a run that has none: that of its folder or table. */
function nameRun(to: string, { folder }: Environment): string {
  return (tableName(to)?.table ?? basename(resolve(folder, to))).replaceAll(/[^\w.-]/g, '-');
}

function* splitOwners(owners: readonly string[], size: number, others: Readonly<Record<string, unknown>>) {
  for (let at = 0; at < owners.length; at += size)
    yield asJson({ ownerAddresses: owners.slice(at, at + size), ...others });
}
