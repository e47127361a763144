import { resolve } from 'node:path';
import type { Change, Due } from '@sluice/core';
import { streamSink } from '@sluice/core/node';
import { jsonl, jsonlFormat } from '@sluice/exporters/jsonl';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { type Output, refuseClosed } from '../environment/output.js';
import { UsageError } from '../errors/errors.js';
import { standardOutput } from '../options/rowFormats.js';
import type { GroupOptions } from '../options/options.js';
import type { OptionsOf } from '../options/commands.js';
import type { ForwardOptions } from '../target/forwardTarget.js';
import { mirrorTarget } from '../target/tableTarget.js';
import { fileTarget, stdoutTarget, type Target } from '../target/target.js';
import { resolveTarget } from '../target/resolveTarget.js';
import { changeText, type LineOptions } from './changeText.js';
import type { RowView } from './rowView.js';

type ChangeTargetOptions = GroupOptions<'changeTarget'>;
type ChangeFormat = NonNullable<ChangeTargetOptions['format']>;

/** The file or stdout of a command line. @throws UsageError if an option does not apply to it. */
function fileOrStdout<T extends object>(
  options: ChangeTargetOptions,
  view: RowView<T>,
  { stdout, folder }: Environment,
): Target<Change<T> | Due<T>> {
  const { to, ifExists, columns } = options;
  if (columns)
    throw new UsageError('--columns goes with a table, e.g. --to FILE.sqlite#TABLE: a change has its rows as a whole.');
  const file = to === standardOutput ? undefined : to;
  if (file === undefined) {
    if (ifExists !== undefined) throw new UsageError('--if-exists needs a file: give --to FILE.');
    refuseClosed(stdout);
    const { format = 'text' } = options;
    const rows = format === 'text' ? changeText(view, lineOptions(stdout)) : jsonlFormat<Change<T> | Due<T>>();
    return stdoutTarget(format, streamSink(rows, stdout.stream));
  }
  checkFile(file, options.format);
  return fileTarget(file, 'jsonl', jsonl<Change<T> | Due<T>>({ path: resolve(folder, file), ifExists }));
}

/** Of a terminal its width, which may change; elsewhere lines have any length. */
export function lineOptions(stdout: Output): LineOptions {
  if (!stdout.isTerminal) return { colors: stdout.colors };
  return {
    colors: stdout.colors,
    isWrapped: true,
    get columns() {
      return stdout.columns;
    },
  };
}

function checkFile(file: string, format: ChangeFormat | undefined): void {
  if (format === 'text') throw new UsageError('--format text is for stdout: a file gets JSON Lines. Leave it out.');
  if (file.endsWith('.gz'))
    throw new UsageError(`--to ${file} would be compressed, and a watch has no end to its last block. Leave out .gz.`);
  if (format === undefined && !/\.(jsonl|ndjson)$/i.test(file))
    throw new UsageError(
      `--to ${file}: changes are written as JSON Lines. End the name in .jsonl, or give --format jsonl.`,
    );
}

/** The target of changes of a command line. @throws UsageError if an option does not apply to it. */
export function resolveChangeTarget<T extends object>(
  options: ChangeTargetOptions & ForwardOptions & OptionsOf<'only' | 'breakLock'>,
  view: RowView<T>,
  environment: Environment,
  config: Config,
): Promise<Target<Change<T> | Due<T>>> {
  // By default, a watch retries its target forever, like its API.
  const withDefaults = { retryFor: Infinity, ...options };
  return resolveTarget<Change<T> | Due<T>>(
    withDefaults,
    environment,
    config,
    () => fileOrStdout(options, view, environment),
    (to, named) => {
      if (options.only !== undefined && options.mode !== 'history')
        throw new UsageError(
          '--only leaves out changes, and a table that lacks them would not mirror the rows. It goes with --mode history.',
        );
      return mirrorTarget<T>(to, named, withDefaults, environment);
    },
  );
}
