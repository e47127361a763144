import type { Invocation } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import { checkConcurrency, type ExportedRows, runExport } from '../export/runExport.js';
import type { CommandOptions } from '../options/commandOptions.js';
import { asRecordChanges, asRecords } from '../source/decodeRecords.js';
import { findSource, knownSources, rowKeyOf, sourceLines, sourceName } from '../source/findSource.js';
import { apisOf } from '../source/openClient.js';
import { withParams, readParams } from '../source/params.js';
import { namesOf } from '../target/namedTarget.js';
import type { WatchedRows } from '../watch/watchChanges.js';

/** `API.SOURCE`. */
interface SourceArgument {
  readonly source: string;
}

/** `sluice export API.SOURCE`: exports the rows of any source, including those of plugins. */
export async function exportSource(
  options: CommandOptions<'export'> & SourceArgument,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { config } = invocation;
  const { source, param = [], pageSize, maxRows, concurrency } = options;
  checkConcurrency(options);
  const rows: ExportedRows<unknown, object> = {
    add: apisOf(sourceName(source), options, environment),
    source: (client) => {
      const found = findSource(client, source, config);
      const params = readParams(param, found.describe(), ['pageSize', 'maxRows']);
      return asRecords(withParams(found, params, (valid) => found({ ...valid, pageSize, maxRows })));
    },
    ...{ concurrency, maxRows },
  };
  return runExport(rows, options, environment, invocation);
}

/** `sluice watch API.SOURCE`: reports every change of any source, including those of plugins. */
export async function watchSource(
  options: CommandOptions<'watch'> & SourceArgument,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  // Loaded on demand: an export does not need these.
  const { recordView } = await import('../watch/rowView.js');
  const { runWatch } = await import('../watch/watchChanges.js');
  const { config } = invocation;
  const { source, param = [], key, pageSize, concurrency } = options;
  // Set when the source is found.
  let shown: readonly string[] = [];
  const rows: WatchedRows<unknown, Record<string, unknown>> = {
    add: apisOf(sourceName(source), options, environment),
    source: (client, watching) => {
      const found = findSource(client, source, config);
      const { columns, hasKey, ...description } = found.describe();
      if (!hasKey && key === undefined)
        throw new UsageError(`Nothing tells the rows of ${source} apart: give --key COLUMN, or several: --key a,b.`);
      shown = key ? [...new Set([...key, ...columns])] : columns;
      const watchOptions = {
        ...watching,
        ...(key && { key: rowKeyOf(key, columns) }),
        ...(concurrency !== undefined && { concurrency }),
      };
      const params = readParams(param, description, ['pageSize']);
      return asRecordChanges(withParams(found, params, (valid) => found.watch({ ...valid, pageSize }, watchOptions)));
    },
    view: recordView(() => shown, environment.stdout.colors),
  };
  return runWatch(rows, options, environment, invocation);
}

/** `sluice sources`: lists all sources, and the plugins' sinks and stores for `--to` and `--state`. */
export async function sources(
  { format }: CommandOptions<'sources'>,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const { stdout } = environment;
  refuseClosed(stdout);
  const { bold } = stdout.colors;
  const known = await knownSources(config, environment);
  const named = { sinks: namesOf('sinks', config.plugins), stores: namesOf('stores', config.plugins) };
  if (format === 'json') {
    await stdout.write(`${JSON.stringify({ sources: known, ...named })}\n`);
    return exitCodes.done;
  }
  const described = known.map((source) => {
    const [name = '', ...lines] = sourceLines(source);
    return [bold(name), ...lines, ''].map((line) => `${line}\n`).join('');
  });
  await stdout.write(described.join('') + named.sinks.map((name) => `--to ${name}:TARGET\n`).join(''));
  await stdout.write(named.stores.map((name) => `--state ${name}:TARGET\n`).join(''));
  return exitCodes.done;
}
