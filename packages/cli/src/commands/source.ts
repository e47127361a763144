import type { Change, Client, Due, ExportOptions, Source, WatchOptions } from '@sluice/core';
import type { PageSource } from '@sluice/core/kit';
import type { Invocation, Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import { redactValues } from '../errors/redact.js';
import { checkConcurrency, type ExportedRows, runExport } from '../export/runExport.js';
import { standardOutput } from '../options/rowFormats.js';
import type { CommandOptions } from '../options/commands.js';
import { asRecordChanges, asRecords } from '../source/decodeRecords.js';
import { explainApi, findDescribed, knownApis, listSecrets } from '../source/describe.js';
import { findSource, createRowKey, sourceLines, parseApi } from '../source/findSource.js';
import { withApi } from '../source/openClient.js';
import { type GivenParam, type Params, readGivenParams, withParams } from '../source/params.js';
import { listNames } from '../target/namedTarget.js';
import { tableName } from '../target/tableTarget.js';
import type { RowView } from '../watch/rowView.js';
import type { WatchedRows } from '../watch/watchChanges.js';

/** What a command for one source knows of it. */
export interface KnownSource extends Pick<ExportedRows, 'parts' | 'wallets'> {
  /** Its parameters, in place of `--param`. */
  readonly given?: readonly GivenParam[];
  /** Those that have options of their own. */
  readonly params?: Params;
  /** Of a watch. */
  readonly view?: RowView<Record<string, unknown>>;
  /** Selects the changes of a watch. Default: all. */
  readonly changes?: (
    watch: (options?: Pick<WatchOptions<unknown>, 'project'>) => Source<Change<unknown> | Due<unknown>>,
  ) => PageSource<Change<unknown> | Due<unknown>>;
}

/** `sluice export API.SOURCE`: exports the rows of any source, including those of plugins. */
export async function exportSource(
  options: CommandOptions<'export'>,
  environment: Environment,
  invocation: Invocation,
  { given, params: others, ...known }: KnownSource = {},
): Promise<number> {
  const { config } = invocation;
  const { source, pageSize, maxRows, concurrency } = options;
  checkConcurrency(options);
  const incremental = chooseIncrement(options);
  const read = given ?? (await readGivenParams(options.param, environment));
  const rows = {
    ...known,
    add: withApi(parseApi(source), options, environment),
    source: (client: Client) => {
      const found = findSource(client, source, config);
      const make = (params: object) => found({ ...params, pageSize, maxRows });
      const rows = withParams(found, read, ['pageSize', 'maxRows'], make, others);
      if (incremental) checkIncrement(rows, options);
      return asRecords(rows);
    },
    concurrency,
    maxRows,
    incremental,
  };
  return runExport(rows, options, environment, invocation);
}

/** The increments of a command line. @throws UsageError if its options do not go together. */
function chooseIncrement(options: CommandOptions<'export'>): ExportOptions['incremental'] {
  const { incremental = false, since, until, full = false, state, to, maxRows } = options;
  const bound = since !== undefined ? '--since' : until !== undefined ? '--until' : undefined;
  if (!incremental) {
    if (bound !== undefined || full) throw new UsageError(`${bound ?? '--full'} needs --incremental.`);
    return undefined;
  }
  if (bound !== undefined && full)
    throw new UsageError(
      `${bound} and --full exclude each other: give ${bound === '--since' ? 'a start' : 'an end'}, or export all rows.`,
    );
  if (maxRows !== undefined)
    throw new UsageError('--incremental goes without --max-rows: the rows beyond it would be missed for good.');
  if (to === standardOutput)
    throw new UsageError(
      "--incremental needs a target that can be resumed, i.e. a file, a webhook or a plugin's sink: what was missed on stdout would not come again.",
    );
  // A table keeps how far it came itself, and a range of rows leaves no mark.
  const needsState = (to === undefined || !tableName(to)) && (since === undefined || until === undefined);
  if (state === undefined && needsState)
    throw new UsageError('--incremental needs --state DIR: there it keeps how far the last export came.');
  return { from: since, until, full };
}

/** @throws UsageError if a source has no increments, or cannot start or end at these values. */
function checkIncrement(
  { info: { name, increment } }: Source<unknown>,
  { since, until }: Pick<CommandOptions<'export'>, 'since' | 'until'>,
): void {
  if (!increment)
    throw new UsageError(
      `${name} can't be exported with --incremental: its API is not described as one that can be asked for what is new (paging: bySince). To see what changed since the last run: sluice watch ${name} --polls 1 --state DIR`,
    );
  const [from, end] = Object.entries({ since, until }).map(([option, text]) => {
    const value = text === undefined ? undefined : increment.read(text);
    if (text === undefined || value !== undefined) return value;
    throw new UsageError(`--${option} is ${JSON.stringify(text.slice(0, 100))}, and must be ${increment.wanted}.`);
  });
  if (from !== undefined && end !== undefined && increment.compare(from, end) >= 0)
    throw new UsageError('--since must be before --until: there are no rows between them.');
}

/** `sluice watch API.SOURCE`: reports every change of any source, including those of plugins. */
export async function watchSource(
  options: CommandOptions<'watch'>,
  environment: Environment,
  invocation: Invocation,
  { given, params: others, wallets, view, changes = (watch) => watch() }: KnownSource = {},
): Promise<number> {
  // Loaded on demand: an export does not need these.
  const { recordView } = await import('../watch/rowView.js');
  const { runWatch } = await import('../watch/watchChanges.js');
  const { config } = invocation;
  const { source, key, pageSize, concurrency } = options;
  const read = given ?? (await readGivenParams(options.param, environment));
  // Set when the source is found.
  let shown: readonly string[] = [];
  const rows: WatchedRows = {
    wallets,
    add: withApi(parseApi(source), options, environment),
    source: (client, watching, rulesFor) => {
      const found = findSource(client, source, config);
      const { columns, hasKey } = found.describe();
      if (!hasKey && key === undefined)
        throw new UsageError(`Nothing tells the rows of ${source} apart: give --key COLUMN, or several: --key a,b.`);
      shown = key ? [...new Set([...key, ...columns])] : columns;
      const rowKey = key && createRowKey(key, columns);
      const watchOptions = { ...watching, key: rowKey, concurrency, rules: rulesFor(columns) };
      const make = (params: object) =>
        changes((more) => found.watch({ ...params, pageSize }, { ...watchOptions, ...more }));
      return asRecordChanges(withParams(found, read, ['pageSize'], make, others));
    },
    view: view ?? recordView(() => shown, environment.stdout.colors),
  };
  return runWatch(rows, options, environment, invocation);
}

/**
 * `sluice sources`: lists all sources, and the plugins' sinks and stores for `--to` and `--state`; or explains a source
 * or an API. No output contains a secret.
 */
export const sources: Run<'sources'> = async ({ format, name }, environment, { config }) => {
  const { stdout } = environment;
  refuseClosed(stdout);
  const known = await knownApis(config, environment);
  const write = (text: string): Promise<void> => stdout.write(redactValues(text, listSecrets(known.apis, environment)));
  if (name !== undefined) {
    const chosen = findDescribed(known, name, config);
    if (format === 'json') await write(`${JSON.stringify(chosen)}\n`);
    else await write(formatBlocks(explainApi(chosen, environment), environment));
    return exitCodes.done;
  }
  const named = { sinks: listNames('sinks', config.plugins), stores: listNames('stores', config.plugins) };
  if (format === 'json') {
    await write(`${JSON.stringify({ sources: known.sources, ...named })}\n`);
    return exitCodes.done;
  }
  const blocks = known.sources.map((source) => sourceLines(source));
  const sinks = named.sinks.map((sink) => `--to ${sink}:TARGET\n`).join('');
  const stores = named.stores.map((store) => `--state ${store}:TARGET\n`).join('');
  await write(`${formatBlocks(blocks, environment)}\n${sinks}${stores}`);
  return exitCodes.done;
};

/** Lines under headings, which are the first ones. */
function formatBlocks(blocks: readonly (readonly string[])[], { stdout }: Environment): string {
  const texts = blocks.map(([heading = '', ...lines]) =>
    [stdout.colors.bold(heading), ...lines].map((line) => `${line}\n`).join(''),
  );
  return texts.join('\n');
}
