import type { PageSource } from '@sluice/core/kit';
import type { Run } from '../../config/config.js';
import { exitCodes, UsageError } from '../../errors/errors.js';
import { runExport } from '../../export/runExport.js';
import { formatCount, formatDuration, formatNumber } from '../../terminal/format.js';
import { tableName } from '../../target/tableTarget.js';
import { withCluster, withNamedRun } from './withCluster.js';

/** `sluice cluster merge RUN --to FILE`: writes the rows of a finished run, as one machine would have. */
export const clusterMerge: Run<'cluster merge'> = async ({ run: named, ...options }, environment, invocation) => {
  const source: PageSource<object> = await withNamedRun(named, options, environment, ({ target }, { library }) => {
    if (tableName(target)) throw new UsageError(`The rows of ${named} are in its table: there is nothing to merge.`);
    return library.sourceOfRun(target);
  });
  return runExport({ add: (client) => client, source: () => source }, options, environment, invocation);
};

/** `sluice cluster cancel RUN`: lets no worker commit any more. */
export const clusterCancel: Run<'cluster cancel'> = ({ run: named, ...options }, environment) => {
  return withNamedRun(named, options, environment, async ({ run, name }, { cluster }) => {
    await cluster.cancel(name, run);
    const { done, partitions } = await run.status();
    environment.stderr.print(
      `${name} is cancelled for good. ${formatNumber(done)} of ${formatCount(partitions, 'partition')} were done.\n`,
    );
    return exitCodes.done;
  });
};

/** `sluice cluster clean RUN`: removes what a run left behind, but not its rows. */
export const clusterClean: Run<'cluster clean'> = ({ run: named, ...options }, environment) => {
  return withNamedRun(named, options, environment, async ({ run, name }, { cluster }) => {
    const removed = await cluster.clean(name, run);
    environment.stderr.print(`Removed ${formatCount(removed, 'file')} that no record of ${name} names.\n`);
    return exitCodes.done;
  });
};

/** `sluice cluster limit NAME`: shows the limit that workers share, or changes it for all. */
export const clusterLimit: Run<'cluster limit'> = ({ name, set, format, ...options }, environment) => {
  if (set === false)
    throw new UsageError('A shared limit is a rate, like 25/s. Workers with --rate unlimited use none.');
  return withCluster(options, environment, async ({ cluster }) => {
    if (set) await cluster.changeLimit(name, set);
    const limit = await cluster.limit(name);
    if (!limit)
      throw new UsageError(
        `Redis knows no limit ${JSON.stringify(name)}. Give it one, e.g. --set 25/s, or start a worker.`,
      );
    const used = limit.windows.map(({ max, used: starts, per }) => {
      return `${formatNumber(starts)} of ${formatNumber(max)} used in the last ${formatDuration(per)}`;
    });
    await environment.stdout.write(
      format === 'json' ? `${JSON.stringify(limit)}\n` : `${name}: ${limit.limits}; ${used.join(', ')}\n`,
    );
    return exitCodes.done;
  });
};
