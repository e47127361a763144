import { type Client, SluiceError } from '@sluice/core';
import type { Dashboard, DashboardOptions } from '@sluice/dashboard';
import { loadOptional } from '../config/importModule.js';
import type { Environment } from '../environment/environment.js';
import { Failure } from '../errors/errors.js';
import type { OptionsOf } from '../options/commands.js';
import { visibleText } from '../terminal/text.js';
import { keptToken, tokenFile } from './dashboardToken.js';

export type DashboardOption = OptionsOf<'dashboard'> & Partial<OptionsOf<'progress'>>;

/** @throws UsageError if the package is not installed */
export function loadDashboard() {
  return loadOptional(() => import('@sluice/dashboard'), '@sluice/dashboard', '--dashboard');
}

/**
 * The options of the page. It has the user's own token where its address is kept, or is printed into a log, which must
 * not have the token.
 */
export async function pageOptions(
  { dashboard = true }: DashboardOption,
  { stderr, variables }: Pick<Environment, 'stderr' | 'variables'>,
): Promise<DashboardOptions> {
  const port = dashboard === true ? 0 : dashboard;
  return port === 0 && stderr.isTerminal ? {} : { port, token: await keptToken(tokenFile(variables)) };
}

/** Adds the page of `--dashboard` to a client, and prints its address. @throws Failure if the port can't be used */
export async function addDashboard(client: Client, options: DashboardOption, environment: Environment): Promise<void> {
  if (options.dashboard === undefined) return;
  const { dashboard } = await loadDashboard();
  const shown = client.use(dashboard(await pageOptions(options, environment)));
  await announce(shown.dashboard, options, environment);
}

/**
 * Prints the address, also with --quiet: without it nobody can look. In a log it is without the token.
 *
 * @throws Failure if the port can't be used. It may be free when a supervisor starts the command again, so it is no wrong usage.
 */
export async function announce(
  { url }: Dashboard,
  { progress }: DashboardOption,
  { stderr, variables }: Environment,
): Promise<void> {
  const address = await url.catch((error: unknown) => {
    throw SluiceError.is(error, 'config') ? new Failure(error.message) : error;
  });
  const inLog = address.replace(/#.*/, '#TOKEN');
  const file = visibleText(tokenFile(variables));
  if (stderr.isTerminal) stderr.print(`Dashboard: ${address}\n`);
  else if (progress === 'json')
    stderr.print(`${JSON.stringify({ event: 'dashboard', url: inLog, tokenFile: file })}\n`);
  else stderr.print(`Dashboard: ${inLog} (TOKEN is in ${file})\n`);
}

/** The page of a client, if there is one. */
export function findPage(client: Client): Dashboard | undefined {
  const page: unknown = Reflect.get(client, 'dashboard');
  return isDashboard(page) ? page : undefined;
}

/** A plugin of the user's may have the same name. */
function isDashboard(value: unknown): value is Dashboard {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['show', 'showCluster', 'showPast', 'end'].every((name) => typeof Reflect.get(value, name) === 'function')
  );
}

/** A command line without `--dashboard`. */
export function withoutDashboard(args: readonly string[]): string[] {
  return args.filter(
    (arg, at) => !/^--dashboard(?:=|$)/.test(arg) && !(args[at - 1] === '--dashboard' && /^\d+$/.test(arg)),
  );
}
