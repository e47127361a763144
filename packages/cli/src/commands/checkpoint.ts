import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemClock } from '@sluice/core';
import { loadConfig } from '../config/loadConfig.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes } from '../errors/errors.js';
import type { CommandOptions } from '../options/commandOptions.js';
import { withPlugins } from '../source/openClient.js';
import { namedStore } from '../target/namedSink.js';
import { hidePassword, namedTarget, refuseEmptyTarget, stateFolder, parseTarget } from '../target/namedTarget.js';
import { visibleText } from '../terminal/text.js';
import { reportLines, watchReportLines } from './checkpoint/lines.js';
import { type CheckpointReport, findState, readCheckpoint, readStoredCheckpoint } from './checkpoint/report.js';
import { readWatchState, type WatchReport } from './checkpoint/watchReport.js';
import { supervisePlugins } from './runConfigured.js';

/** `file`: a target, the folder of its state, the checkpoint itself, or a plugin's store. */
type CheckpointShowOptions = CommandOptions<'checkpoint show'> & { readonly file: string };

/** `sluice checkpoint show`: explains the state of an interrupted export or of a watch, without changing it. */
export async function checkpointShow(options: CheckpointShowOptions, environment: Environment): Promise<number> {
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
}

async function reportOn(
  options: CheckpointShowOptions,
  environment: Environment,
): Promise<WatchReport | CheckpointReport> {
  const path = resolve(environment.folder, options.file);
  const state = await findState(path);
  const named = (await isThere(state.folder)) ? undefined : parseTarget(options.file);
  if (!named) return (await readWatchState(state)) ?? (await readCheckpoint(state));
  const stored = await inStore(options, environment);
  if (stored) return stored;
  const ofSink = await findState(resolve(environment.folder, stateFolder(named)));
  return (await readWatchState(ofSink)) ?? (await readCheckpoint(ofSink));
}

/** Loads plugins, which only a checkpoint in a plugin's store needs. */
async function inStore(
  options: CheckpointShowOptions,
  environment: Environment,
): Promise<CheckpointReport | undefined> {
  const config = await loadConfig(options, environment);
  const store = namedTarget(options.file, 'stores', config);
  if (!store) return undefined;
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
