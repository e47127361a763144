import type { Client } from '@sluice/core';
import type { Dashboard } from '@sluice/dashboard';
import { loadOptional } from '../config/importModule.js';
import type { Environment } from '../environment/environment.js';
import type { OptionsOf } from '../options/commands.js';

export type DashboardOption = OptionsOf<'dashboard'>;

/** @throws UsageError if the package is not installed */
export function loadDashboard() {
  return loadOptional(() => import('@sluice/dashboard'), '@sluice/dashboard', '--dashboard');
}

/** The options of the page; `undefined` without `--dashboard`. */
export function pageOptions({ dashboard }: DashboardOption): { readonly port?: number } | undefined {
  if (dashboard === undefined) return undefined;
  return dashboard === true ? {} : { port: dashboard };
}

/** Adds the page of `--dashboard` to a client, and prints its address. @throws ConfigError if the port can't be used */
export async function addDashboard(client: Client, options: DashboardOption, environment: Environment): Promise<void> {
  const chosen = pageOptions(options);
  if (!chosen) return;
  const { dashboard } = await loadDashboard();
  const shown = client.use(dashboard(chosen));
  await announce(shown.dashboard, environment);
}

/** Prints the address, also with --quiet: without it nobody can look. */
export async function announce({ url }: Dashboard, { stderr }: Environment): Promise<void> {
  stderr.print(`Dashboard: ${await url}\n`);
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
    ['show', 'showCluster', 'end'].every((name) => typeof Reflect.get(value, name) === 'function')
  );
}

/** A command line without `--dashboard`, which shows the same in a terminal. */
export function withoutDashboard(args: readonly string[]): string[] {
  return args.filter(
    (arg, at) => !/^--dashboard(?:=|$)/.test(arg) && !(args[at - 1] === '--dashboard' && /^\d+$/.test(arg)),
  );
}
