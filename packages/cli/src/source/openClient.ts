import { aptos } from '@sluice/aptos';
import { type Client, type ClientOptions, createClient, type RetryOptions, SluiceError } from '@sluice/core';
import { type ApiKey, apisOf } from '@sluice/core/define';
import type { Limiter, Timeouts } from '@sluice/core/kit';
import { streams } from '@sluice/streams';
import { type Observable, startWith } from 'rxjs';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { explainInFlags } from '../options/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import { errorSentence } from '../options/formatError.js';
import {
  type ApiName,
  apiNames,
  apis,
  requireBaseUrl,
  type BaseUrls,
  findBaseUrl,
  isApiName,
} from '../input/baseUrl.js';
import { isReadable } from '../input/readInput.js';
import { authVariables, findApiKey, keyOption, missingKey } from '../input/secretVariables.js';
import type { OptionsOf } from '../options/commands.js';
import type { GroupOptions } from '../options/options.js';
import { type Notice, followNotices } from '../progress/notices.js';
import { limitPlace } from './limitPlace.js';
import { addDashboard, type DashboardOption } from './dashboardPage.js';
import { endInLongPause } from './longPause.js';
import { visibleText } from '../terminal/text.js';

/** Options of every command that sends requests to an API. */
export type ConnectionOptions = GroupOptions<'connection'> & DashboardOption;

/** @param apiKey `false` to send none. */
export function clientOptions(
  options: ConnectionOptions,
  apiKey: ApiKey | false,
  { variables }: Environment,
): ClientOptions {
  const { rate, timeout, retryFor } = options;
  return {
    apiKey,
    variables,
    rateLimit: rate,
    timeouts: timeout === undefined ? undefined : timeoutsFor(timeout, retryFor),
    retry: chooseRetries(options),
  };
}

/** How requests are retried, as far as options say it. */
export function chooseRetries({
  retryFor,
  maxRetryAfter,
}: OptionsOf<'retryFor' | 'maxRetryAfter'>): Partial<RetryOptions> {
  return {
    ...(retryFor !== undefined && { for: retryFor }),
    ...(maxRetryAfter !== undefined && { maxRetryAfter }),
  };
}

interface OpenClient<C extends Client> {
  readonly client: C;
  readonly notices: Observable<Notice>;
}

/**
 * Creates a client with the options of a command line and the plugins of its configuration. The caller closes it. The
 * built-in APIs require a key; those of plugins are used without one if there is none.
 *
 * @param add adds the API of the command.
 * @param limiter instead of a rate; the client closes it.
 */
export async function openClient<Added>(
  options: ConnectionOptions,
  environment: Environment,
  config: Pick<Config, 'plugins' | 'limits' | 'file'>,
  add: (client: Client) => Client & Added,
  limiter?: Limiter,
): Promise<OpenClient<Client & Added>> {
  const { plugins } = config;
  const found = await findApiKey(options.apiKeyFile, environment);
  const isKeyRead = isReadable(options.apiKeyFile);
  let key = found?.key ?? '';
  if (isKeyRead) await refuseKey(key);
  const client = createClient({
    ...clientOptions(options, isKeyRead ? () => key : (found?.key ?? false), environment),
    limiter,
    limits: limitPlace(config, environment),
  });
  if (isKeyRead)
    environment.secretFiles.add(keyOption, async () => {
      const { key: again = '' } = (await findApiKey(options.apiKeyFile, environment)) ?? {};
      await refuseKey(again);
      key = again;
      client.renewSecrets();
    });
  else if (plugins.length > 0)
    environment.secretFiles.add('the credentials of plugins', () => {
      client.renewSecrets();
      return Promise.resolve();
    });
  // Subscribes before plugins are added, since they may emit warnings.
  const notices = followNotices(client);
  try {
    const added = add(client);
    addRequired(client, plugins, options, environment);
    if (!found && apiNames.some((name) => name in client)) throw missingKey();
    for (const plugin of plugins) client.use(plugin);
    for (const api of apisOf(client).values())
      for (const name of authVariables(api.describe()))
        environment.secrets.add(environment.variables[name]?.trim() ?? '');
    await addDashboard(client, options, environment);
    const warnings = Array.from(environment.warnings, (message): Notice => ({ level: 'warning', message }));
    return { client: added, notices: notices.pipe(startWith(...warnings)) };
  } catch (error) {
    // An error of closing must not hide this one.
    await client.close().catch(() => undefined);
    throw baseUrlError(error, options);
  }
}

/** @throws ConfigError if a key can't be sent. */
async function refuseKey(apiKey: string): Promise<void> {
  await createClient({ apiKey }).close();
}

/** Adds to the library's error about a base URL the option or variable that set it. Other errors stay as they are. */
export function baseUrlError(error: unknown, options: BaseUrls): unknown {
  if (!SluiceError.is(error, 'config') || error.details['option'] !== 'baseUrl') return error;
  const api = String(error.details['plugin']);
  if (!isApiName(api)) return error;
  const { name, option, variable } = apis[api];
  const from = options[`${api}Url`] === undefined ? variable : option;
  // Its advice names no flag.
  return new UsageError(explainInFlags(error, () => false, `base URL of the ${name} (${from})`));
}

/** Adds the built-in APIs that plugins require. @throws UsageError if the base URL of one is not set. */
export function addRequired(
  client: Client,
  plugins: Config['plugins'],
  options: BaseUrls,
  { variables }: Environment,
): void {
  for (const name of apiNames)
    if (isRequired(name, plugins) && !(name in client)) addApi(client, name, requireBaseUrl(name, options, variables));
}

/** Whether a plugin requires a built-in API. */
export function isRequired(name: ApiName, plugins: Config['plugins']): boolean {
  return plugins.some(({ requires = [] }) => requires.includes(name));
}

/** Adds the built-in APIs whose base URL is set. */
export function withKnownApis(options: BaseUrls, { variables }: Environment): (client: Client) => Client {
  return (client) => {
    for (const name of apiNames) {
      const baseUrl = findBaseUrl(name, options, variables);
      if (baseUrl !== undefined) addApi(client, name, baseUrl);
    }
    return client;
  };
}

/** Adds an API, if it is a built-in one. @throws UsageError if its base URL is not set. */
export function withApi(api: string, options: BaseUrls, { variables }: Environment): (client: Client) => Client {
  if (!isApiName(api)) return (client) => client;
  const baseUrl = requireBaseUrl(api, options, variables);
  return (client) => addApi(client, api, baseUrl);
}

function addApi(client: Client, name: ApiName, baseUrl: string): Client {
  return name === 'streams' ? client.use(streams({ baseUrl })) : client.use(aptos({ baseUrl }));
}

/** Runs `work` with a client and closes the client, which disposes its plugins, even if `work` failed. */
export async function withClient<C extends Client, R>(
  opening: Promise<OpenClient<C>>,
  environment: Environment,
  work: (client: C, notices: OpenClient<C>['notices']) => Promise<R>,
): Promise<R> {
  const { stderr } = environment;
  const { client, notices } = await opening;
  const endChecks = endInLongPause(client, environment);
  let result: R;
  try {
    result = await work(client, notices).finally(endChecks);
  } catch (error) {
    // An error of closing must not hide this one.
    await client.close().catch((closeError: unknown) => {
      stderr.print(`sluice: ${visibleText(errorSentence(closeError, () => false))}\n`);
    });
    throw error;
  }
  await client.close();
  return result;
}

const maxConnect = 10_000;
/** The total timeout, which includes retries and back-offs, as a multiple of the response timeout. */
const totalPerResponse = 6;
/** The minimum of the total timeout: a short response timeout must leave time for back-offs. */
const minTotal = 60_000;
/** The total timeout exceeds the time for retries by at least this. */
const beyondRetries = 120_000;

/**
 * All timeouts in ms, derived from the one for a response.
 *
 * @param retryFor how long to retry, in ms, if given.
 * @example timeoutsFor(30_000) // { connect: 10_000, response: 30_000, total: 180_000 }, the library's own
 */
export function timeoutsFor(response: number, retryFor = -beyondRetries): Timeouts {
  return {
    connect: Math.min(maxConnect, response),
    response,
    total: Math.max(minTotal, totalPerResponse * response, retryFor + beyondRetries),
  };
}

/** A base URL that never resolves (RFC 6761). */
const unreachable = 'https://api.invalid';

/**
 * Runs `work` with a client of all plugins and the built-in APIs, to look at what they provide. The key and the
 * built-in APIs' base URLs are placeholders. Closes the client afterwards.
 */
export async function withPlugins<R>(
  { plugins }: Pick<Config, 'plugins'>,
  environment: Environment,
  work: (client: Client) => Promise<R>,
): Promise<R> {
  const client = createClient({ apiKey: 'no-key-is-asked-for' });
  return withClient(Promise.resolve({ client, notices: followNotices(client) }), environment, async (open) => {
    for (const name of apiNames) addApi(open, name, unreachable);
    for (const plugin of plugins) open.use(plugin);
    return await work(open);
  });
}
