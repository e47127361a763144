import type { Change, Client, PageSource } from '@sluice/core';
import type { Environment } from '../environment.js';
import type { Invocation } from '../invocation.js';
import { openClient, withClient, type ConnectionOptions } from '../settings/openClient.js';
import { afterWarning } from '../terminal/notesOf.js';
import { changeTargetOf } from './changeTargetOf.js';
import type { RowLook } from './rowLook.js';
import { watchChanges, type WatchChangesOptions, type Watching } from './watchChanges.js';
import { watchStateOf } from './watchState.js';

/** Options of every command that watches. */
export interface WatchCommandOptions extends WatchChangesOptions, ConnectionOptions {}

/** What is watched. */
export interface WatchedRows<Added, T> {
  /** Adds to a client what the rows come from. */
  readonly add: (client: Client) => Client & Added;
  readonly source: (client: Client & Added, watching: Watching) => PageSource<Change<T>>;
  readonly look: RowLook<T>;
  /** What people are told before anything is asked for. */
  readonly hint?: string | undefined;
}

/**
 * Watches, tells the changes to where the command line says, and answers the exit code.
 *
 * @throws UsageError if an option makes no sense; what the watch raises.
 */
export async function runWatch<Added, T extends object>(
  { add, source, look, hint }: WatchedRows<Added, T>,
  options: WatchCommandOptions,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const target = await changeTargetOf(options, look, environment, config);
  const state = watchStateOf(options, target, config, environment);
  return withClient(openClient(options, environment, config, add), environment, (client, notes) =>
    watchChanges(
      {
        ...{ client, look, target, state },
        notes: afterWarning(notes, { hint, warning: target.warning, isQuiet: options.quiet }, environment),
        source: (watching) => source(client, watching),
      },
      options,
      environment,
    ),
  );
}
