import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock } from '@sluice/core';
import type { Run } from '../config/config.js';
import { loadConfig } from '../config/loadConfig.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes } from '../errors/errors.js';
import type { CommandOptions } from '../options/commands.js';
import { withPlugins } from '../source/openClient.js';
import { matchNamed, stateFolder, parseTarget } from '../target/namedTarget.js';
import { findStore } from '../target/stateStore.js';
import { postgresUrl } from '../input/postgresUrl.js';
import { openTable, tableName } from '../target/tableTarget.js';
import { visibleText } from '../terminal/text.js';
import { reportLines } from './checkpoint/lines.js';
import { findState, reportFolder, reportStore, reportTable, type StateReport } from './checkpoint/stateReport.js';
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
  const lines = reportLines(report, systemClock.now());
  const { bold } = stdout.colors;
  await stdout.write(lines.map(([label, text]) => `${bold(label.padEnd(8))}  ${visibleText(text)}\n`).join(''));
  return exitCodes.done;
};

async function reportOn(options: CommandOptions<'checkpoint show'>, environment: Environment): Promise<StateReport> {
  const { file } = options;
  const state = await findState(resolve(environment.folder, file));
  if (existsSync(state.folder)) return reportFolder(state);
  const named = parseTarget(file);
  // Only a name may be that of a plugin.
  const config = named && (await loadConfig(options, environment));
  // The URL of a database names a table, or a state.
  const isTable = postgresUrl.test(file) && !/[?&]name=/.test(file);
  const store = config && !isTable ? findStore(file, config, environment) : undefined;
  if (config && store)
    return supervisePlugins(config, environment, (supervised) =>
      withPlugins(config, supervised, async (client) => reportStore(store.shown, await store.open(client))),
    );
  const table = config && matchNamed(file, 'sinks', config) ? undefined : tableName(file);
  if (table) {
    const shown = table.kind === 'sqlite' ? `${table.path}#${table.table}` : file;
    return reportTable(shown, (await openTable(table, environment)).sink({}).state);
  }
  return reportFolder(named ? await findState(resolve(environment.folder, stateFolder(named))) : state);
}
