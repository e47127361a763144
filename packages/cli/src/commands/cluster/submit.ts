import { basename, resolve } from 'node:path';
import type { Client, Json, PageSource } from '@sluice/core';
import type { Invocation } from '../../config/config.js';
import type { Environment } from '../../environment/environment.js';
import { exitCodes, UsageError } from '../../errors/errors.js';
import { defaultOwnersPerRequest, findOwners } from '../../input/owners.js';
import type { CommandOptions } from '../../options/commands.js';
import type { GroupOptions } from '../../options/options.js';
import { asJson } from '../../source/decodeRecords.js';
import { findSource, sourceName } from '../../source/findSource.js';
import { type ConnectionOptions, openClient, withApi, withClient } from '../../source/openClient.js';
import { readParams, withParams } from '../../source/params.js';
import { formatCount } from '../../terminal/format.js';
import { tableName } from '../../target/tableTarget.js';
import { targetAt, withCluster } from './withCluster.js';

/** Options of every command that submits a run. */
type SubmitOptions = GroupOptions<'run' | 'redis'> & ConnectionOptions;

/** What to export. */
interface SubmittedRows {
  /** `API.SOURCE`. */
  readonly source: string;
  readonly open: (client: Client) => (params: never) => PageSource<unknown>;
  readonly params: (client: Client) => Iterable<Json>;
}

/** Partitions in one piece of a plan. */
const maxPartitions = 1_000;

/** `sluice cluster submit nfts export`: lets several machines export the NFTs of wallets. */
export async function submitNfts(
  options: CommandOptions<'cluster submit nfts export'>,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { pageSize, ownersPerRequest = defaultOwnersPerRequest, includeCollections, excludeCollections } = options;
  // The same wallet twice would be exported twice, if the two were in different pieces.
  const owners = [...new Set(await findOwners(options, environment))];
  const others = { pageSize, ownersPerRequest, includeCollections, excludeCollections };
  const source = 'aptos.nfts';
  const rows: SubmittedRows = {
    source,
    open: (client) => opener(client, source, invocation),
    params: () => piecesOf(owners, maxPartitions * ownersPerRequest, others),
  };
  return submit(rows, options, environment, invocation);
}

/** `sluice cluster submit export API.SOURCE`: lets several machines export the rows of any source. */
export async function submitSource(
  options: CommandOptions<'cluster submit export'> & { readonly source: string },
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { source, param = [], pageSize } = options;
  const rows: SubmittedRows = {
    source,
    open: (client) => opener(client, source, invocation),
    params: (client) => {
      const found = findSource(client, source, invocation.config);
      const params = readParams(param, found.describe(), ['pageSize']);
      void withParams(found, params, (valid) => found({ ...valid, pageSize }));
      return [asJson({ ...params, pageSize })];
    },
  };
  return submit(rows, options, environment, invocation);
}

function opener(client: Client, source: string, { config }: Invocation): (params: never) => PageSource<unknown> {
  const found = findSource(client, source, config);
  return (params: Readonly<Record<string, unknown>>) => found(params);
}

async function submit(
  { source, open, params }: SubmittedRows,
  options: SubmitOptions,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const { to } = options;
  if (to === undefined)
    throw new UsageError('Where to? Give --to DIR, a folder that all machines see, or --to postgres://….');
  const name = options.name ?? nameOf(to, environment);
  const { stderr, stdout, command } = environment;
  return withCluster(options, environment, ({ cluster, library }) => {
    const opening = openClient(options, environment, config, withApi(sourceName(source), options, environment));
    return withClient(opening, environment, async (client) => {
      const run = await cluster.submit({
        name,
        source,
        open: open(client),
        params: params(client),
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
function nameOf(to: string, { folder }: Pick<Environment, 'folder'>): string {
  return (tableName(to)?.table ?? basename(resolve(folder, to))).replaceAll(/[^\w.-]/g, '-');
}

function* piecesOf(owners: readonly string[], size: number, others: Readonly<Record<string, unknown>>) {
  for (let at = 0; at < owners.length; at += size)
    yield asJson({ ownerAddresses: owners.slice(at, at + size), ...others });
}
