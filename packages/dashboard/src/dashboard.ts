import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  ConfigError,
  definePlugin,
  systemClock,
  type ClientEvent,
  type Clock,
  type Hooks,
  type Plugin,
} from '@sluice/core';
import { checkOptions, type HookName } from '@sluice/core/kit';
import { DashboardServer } from './dashboardServer.js';
import { RunState } from './runState.js';
import type { About, ClusterView, Ending, Past } from './snapshot.js';

/** Options of {@link dashboard}. */
export interface DashboardOptions {
  /** The port on 127.0.0.1. Default: any that is free. */
  readonly port?: number;
  /**
   * The secret in the page's address: 16 or more letters, digits, `-` and `_`. With it and a port, the address stays the
   * same when the program starts again. Default: a new one for each start.
   */
  readonly token?: string;
  /** What is running, shown on top. Default: `A Sluice client`. */
  readonly title?: string;
}

/** A page that shows what happens, until it is closed. */
export interface Dashboard {
  /**
   * The page's address, with a token in its fragment: whoever has it can see the page. Rejects with a ConfigError if the
   * port can't be used.
   */
  readonly url: Promise<string>;
  /** Says what is running. Texts are shown as they are, so they must not hold a secret. */
  show(about: Partial<About>): void;
  /** Shows a run on several machines instead of a client. */
  showCluster(cluster: ClusterView): void;
  /** Shows how the rows of a watch were before it started, e.g. as a history has them. Without effect once it has started. */
  showPast(past: Past): void;
  /** Says how the run ended. Without it, the events of the client tell. The page is told when the dashboard closes. */
  end(ending: Ending): void;
}

/** A dashboard that is not a client's. */
export interface OpenDashboard extends Dashboard {
  /** Tells the pages that the run ended, and closes. */
  close(): Promise<void>;
}

/**
 * Serves a local page that shows what a client does: rows, the rate limit and what waits for it, retries, the slowest
 * requests, commits, and the rows of a watch by status. Only this machine can reach it, and only with its token.
 *
 * The page gets a last message when the client closes. The server keeps no process alive.
 *
 * @example
 * const client = createClient({ apiKey }).use(dashboard()).use(streams({ baseUrl }));
 * console.log(await client.dashboard.url);
 *
 * @throws ConfigError if the port or the token is not one.
 */
export function dashboard(options: DashboardOptions = {}): Plugin<'dashboard', Dashboard> {
  checkOptions('dashboard()', options, { port: true, token: true, title: true });
  checkAddress(options);
  let page: OpenDashboard | undefined;
  let fold: ((event: ClientEvent) => void) | undefined;
  return definePlugin({
    name: 'dashboard',
    setup({ clock }): Dashboard {
      const opened = open(options, clock);
      page = opened.page;
      fold = (event) => opened.state.fold(event, clock.now());
      return page;
    },
    hooks: createHooks((event) => fold?.(event)),
    dispose: () => page?.close(),
  });
}

/**
 * The same page without a client, for what a program knows by other means.
 *
 * @throws ConfigError if the port or the token is not one.
 */
export function openDashboard(options: DashboardOptions = {}, clock: Clock = systemClock): OpenDashboard {
  checkOptions('openDashboard()', options, { port: true, token: true, title: true });
  checkAddress(options);
  return open(options, clock).page;
}

function open(
  { port = 0, token = randomBytes(24).toString('base64url'), title = 'A Sluice client' }: DashboardOptions,
  clock: Clock,
): { readonly state: RunState; readonly page: OpenDashboard } {
  const state = new RunState({ kind: 'client', title }, clock.now());
  const server = new DashboardServer({
    port,
    token,
    folder: pageFolder(),
    snapshot: (span) => state.snapshot(clock.now(), span),
  });
  const url = server.listen();
  // Whoever asks for the address learns of it.
  url.catch(() => undefined);
  let closed: Promise<void> | undefined;
  const page: OpenDashboard = {
    url,
    show: (about) => state.show(about),
    showCluster: (cluster) => state.showCluster(cluster, clock.now()),
    showPast: (past) => state.showPast(past),
    end: (ending) => state.end(ending, clock.now()),
    close() {
      state.end(state.outcome, clock.now());
      return (closed ??= server.close());
    },
  };
  return { state, page };
}

/** The built page, also for whoever runs the sources. */
function pageFolder(): string {
  const require = createRequire(import.meta.url);
  return join(dirname(require.resolve('@sluice/dashboard/package.json')), 'dist', 'page');
}

const hookNames: readonly HookName[] = [
  ...(['request', 'attempt', 'response', 'retry', 'paused', 'settled', 'limiter', 'page'] as const),
  ...(['commit', 'change', 'due', 'sink', 'delivery', 'outage', 'error', 'warning', 'info', 'plugin-fault'] as const),
];

function createHooks(hook: (event: ClientEvent) => void): Hooks {
  return Object.fromEntries(hookNames.map((name) => [name, hook]));
}

function checkAddress({ port = 0, token }: DashboardOptions): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new ConfigError(`The dashboard's port is ${port}: it must be an integer from 0 to 65535.`, {
      option: 'port',
    });
  if (token !== undefined && !/^[\w-]{16,}$/.test(token))
    throw new ConfigError("The dashboard's token must have 16 or more letters, digits, - and _, and nothing else.", {
      option: 'token',
    });
}
