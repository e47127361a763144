import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemClock } from '@sluice/core';
import type { Config, Run } from '../config/config.js';
import { loadConfig } from '../config/loadConfig.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes } from '../errors/errors.js';
import type { CommandOptions } from '../options/commands.js';
import { withPlugins } from '../source/openClient.js';
import { namedStore } from '../target/namedSink.js';
import {
  hidePassword,
  type NamedTarget,
  namedTarget,
  refuseEmptyTarget,
  stateFolder,
  parseTarget,
} from '../target/namedTarget.js';
import { openTable, tableName, type TableName } from '../target/tableTarget.js';
import { visibleText } from '../terminal/text.js';
import { reportLines, watchReportLines } from './checkpoint/lines.js';
import {
  type CheckpointReport,
  findState,
  readCheckpoint,
  readStoredCheckpoint,
  reportOf,
  storedCheckpoint,
  type StateFolder,
} from './checkpoint/checkpointReport.js';
import { committedChanges, isWatch, readWatchState, type WatchReport } from './checkpoint/watchReport.js';
import { supervisePlugins } from './runConfigured.js';

/** `sluice checkpoint show`: explains the state of an interrupted export or of a watch, without changing it. */
export const checkpointShow: Run<'checkpoint show'> = async (options, environment) => {
  const { stdout } = environment;
  refuseClosed(stdout);
  const report = await reportOn(options, environment);
  if (options.format === 'json') {
    await stdout.write(`${JSON.stringify(report)}\n`);
    return exitCodes.done;
  }
  const now = systemClock.now();
  const lines = 'log' in report ? watchReportLines(report, now) : reportLines(report, now);
  const { bold } = stdout.colors;
  await stdout.write(lines.map(([label, text]) => `${bold(label.padEnd(8))}  ${visibleText(text)}\n`).join(''));
  return exitCodes.done;
};

async function reportOn(
  options: CommandOptions<'checkpoint show'>,
  environment: Environment,
): Promise<WatchReport | CheckpointReport> {
  const { file } = options;
  const state = await findState(resolve(environment.folder, file));
  if (await isThere(state.folder)) return inFolder(state);
  const named = parseTarget(file);
  // Only a name may be that of a plugin.
  const config = named && (await loadConfig(options, environment));
  const store = config && namedTarget(file, 'stores', config);
  if (store) return inStore(store, config, environment);
  const table = config && namedTarget(file, 'sinks', config) ? undefined : tableName(file);
  if (table) return inTable(file, table, environment);
  return inFolder(named ? await findState(resolve(environment.folder, stateFolder(named))) : state);
}

async function inFolder(state: StateFolder): Promise<WatchReport | CheckpointReport> {
  return (await readWatchState(state)) ?? (await readCheckpoint(state));
}

async function inTable(
  name: string,
  table: TableName,
  environment: Environment,
): Promise<WatchReport | CheckpointReport> {
  const { state } = await openTable(table, {}, environment);
  const checkpoint = await storedCheckpoint(name, state);
  const { isThere, holder } = await state.look();
  const watched = isWatch(checkpoint) ? committedChanges(checkpoint) : undefined;
  // An export creates it when it ends, and a watch with its first poll.
  const isMissing = !isThere && (watched ? watched.generation > 0 : checkpoint.finishedAt !== undefined);
  const seen = { ...(isMissing && { table: 'missing' as const }), ...(holder && { holder }) };
  if (!watched) return { ...reportOf(name, checkpoint, name), ...seen };
  return { log: { table: '_sluice' }, written: { target: name, ...watched }, ...seen };
}

function inStore(store: NamedTarget, config: Config, environment: Environment): Promise<CheckpointReport> {
  refuseEmptyTarget(store, 'stores');
  hidePassword(store, environment.secrets);
  return supervisePlugins(config, environment, (supervised) =>
    withPlugins(config, supervised, async (client) =>
      readStoredCheckpoint(store.shown, await namedStore(client, store, supervised)),
    ),
  );
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
